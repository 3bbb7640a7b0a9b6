package flcollect

import (
	"context"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// Server runs jobs. It is safe for concurrent use. Make one with [NewServer].
type Server struct{ options Options }

// NewServer returns a server, or what is wrong with the options. It starts
// nothing.
func NewServer(options Options) (*Server, error) { return &Server{options}, nil }

// Run goes on with the stored jobs and runs what is started, until the context
// ends; then it sends the clients away for [Options].Park and returns once all
// it started has ended. It is called once.
func (s *Server) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Handle serves a client; it is what flower.ServerConfig.Handle calls.
func (s *Server) Handle(ctx context.Context, session *flower.Session) error { return ErrNotRunning }

// Start starts the training of a job. It is stored when Start returns nil. For a
// job that is active with the same configuration nothing happens, and with
// another one it is [ErrActive]; a job that has ended begins a new run. What is
// wrong with the strategy is a *[strategy.FieldError] or matches [ErrNoStrategy];
// with anything else of the configuration it matches [ErrInvalid].
func (s *Server) Start(ctx context.Context, id string, config Config) error { return ErrNotRunning }

// Stop interrupts all active jobs, without results, and ends the streams of
// their clients. It returns once that is stored.
func (s *Server) Stop(ctx context.Context) error { return ErrNotRunning }

// Status returns what a job has reached. A job that is not known is [Inactive],
// which is no error.
func (s *Server) Status(ctx context.Context, id string) (Status, error) {
	return Status{Job: id, State: Inactive}, nil
}

// Jobs returns, in the order of their ids, up to limit jobs whose ids begin with
// prefix and are greater than after; a limit of 0 or less means 1000. Next is what
// after is for the following page, and empty after the last.
func (s *Server) Jobs(ctx context.Context, prefix, after string, limit int) (jobs []Status, next string, err error) {
	return nil, "", nil
}

// Rounds returns up to limit finished rounds of the job's current run, in order,
// from the one after number after; a limit of 0 or less means 1000. A job that is
// not known has none.
func (s *Server) Rounds(ctx context.Context, id string, after, limit int) ([]Round, error) {
	return nil, nil
}

// Changed returns a channel that is closed when the job's status may have
// changed. Get the channel first and then the status, and nothing is missed.
func (s *Server) Changed(id string) <-chan struct{} { return nil }

// Result returns the last good model of a job, and how it came to be; or an
// error that matches [ErrNoResult].
func (s *Server) Result(ctx context.Context, id string) (Result, error) {
	return Result{}, ErrNoResult
}

// Ready returns nil if jobs can be started and can store what they reach, and
// why not otherwise.
func (s *Server) Ready() error { return ErrNotRunning }

// Totals returns the numbers for metrics.
func (s *Server) Totals() Totals { return Totals{} }
