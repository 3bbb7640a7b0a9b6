package job

import (
	"context"
	"errors"
	"log/slog"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/contextstore"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/storage"

	"time"
)

// Errors of jobs.
var (
	// ErrActive is returned for a job that is active with another configuration.
	ErrActive     = errors.New("flcollect: the job is being trained with another configuration")
	ErrNotRunning = errors.New("flcollect: the server is not running")
	ErrNoModel    = errors.New("flcollect: the repository has no parameters of that model")
	ErrNoStrategy = errors.New("flcollect: no strategy of that name")
	// ErrUndelivered is returned for a job whose last results nothing has accepted.
	ErrUndelivered = errors.New("flcollect: results are not delivered yet")
	// ErrRefused is matched by the error of a delivery that will never be accepted.
	ErrRefused = errors.New("flcollect: refused")
)

// Service is what the jobs of a server have in common. Fields are required unless their
// comments say otherwise.
type Service struct {
	Documents storage.Documents
	Blobs     storage.Blobs
	Observer  Observer
	Counter   Counter
	Contexts  *contextstore.Store
	// Group are the servers on one store; nil if there is only this one.
	Group Group
	// Strategy returns the strategy of a configuration; guarded puts norm bounding around it.
	Strategy func(ctx context.Context, config jobconfig.Config, guarded bool) (strategy.Strategy, error)
	// Models are asked in their order for the model that a job begins with. An error that
	// matches [ErrNoModel] leads to the next one, and after the last to the clients.
	Models []func(ctx context.Context, config jobconfig.Config) (model strategy.Model, layers []string, err error)
	// Results stores the result of a run; nil without a repository.
	Results func(ctx context.Context, id string, result Outcome, run int64) error
	// Orchestrator receives the progress; nil without.
	Orchestrator Orchestrator
	// Upstream is the upper server; nil if jobs conduct their own rounds.
	Upstream func(job string, trainer flower.Trainer, joined func()) (*flower.Client, error)
	// Fleet has the SuperNodes; nil without.
	Fleet *supernode.Server

	// TrustClients suspends no client, and NoAudit keeps no audit log.
	TrustClients, NoAudit bool
	// ClientTimeout is how long a job waits for clients, and for a repository.
	ClientTimeout time.Duration
	// Dir is the folder for files that a round needs.
	Dir string
	// Tracer is nil for off.
	Tracer *tracing.Tracer
	// Converting holds a token for each update that is converted and added.
	Converting chan struct{}
	// Ending ends when the server is about to end.
	Ending context.Context
	Log    *slog.Logger
}

// Observer is the server of jobs, as far as it lists them.
type Observer interface {
	// Moved reports that a job has another state.
	Moved(from, to report.State)
	// Offered reports that a job accepts clients that it did not take before.
	Offered()
	// Finished reports a job that has nothing to do any more.
	Finished(j *Job)
	// Failing reports a failure of the storage, nil once it is over.
	Failing(id string, err error)
}

// Counter counts what the jobs of a server do.
type Counter interface {
	// RoundFinished counts a round, with the number of its refused updates.
	RoundFinished(round report.Round, seconds float64, refused int)
	// UpdatesJudged counts the updates of a round, and the clients that it has suspended.
	UpdatesJudged(updates report.Counts, suspended int)
}

// Group is what a job needs of the servers on one store.
type Group interface {
	// Drop deletes the entry of a job that has nothing to do.
	Drop(ctx context.Context, id string) error
	// Yield leaves a job to other servers.
	Yield(ctx context.Context, id string) error
}

// Orchestrator receives the progress of jobs.
type Orchestrator interface {
	// RoundDone reports that a round has ended.
	RoundDone(ctx context.Context, round report.RoundDone) error
	// EarlyEnd reports that a target was surpassed. By then the result is stored.
	EarlyEnd(ctx context.Context, end report.EarlyEnd) error
}
