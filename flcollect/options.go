package flcollect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// Options configures a [Server].
type Options struct {
	// Documents keeps the jobs and the records of their rounds. Required, and
	// used by no other server.
	Documents storage.Documents
	// Blobs keeps the models. Required, and used by no other server.
	Blobs storage.Blobs
	// Repository takes the results, and has models and strategies. Nil means
	// that results stay with the jobs, where [Server.Result] finds them.
	Repository Repository
	// Strategies are those of the program, by the names that jobs select them by.
	// Each function makes one with the parameters of a job, which are its own; it is
	// called concurrently, at the start of a job and when a job goes on after a
	// restart. Its error is final, and should be a *strategy.FieldError. A name has to be
	// none of the built-in strategies; it comes before the same one in the
	// repository. Nil has none.
	Strategies map[string]func(strategy.Conf) (strategy.Strategy, error)
	// Orchestrator is told how trainings go. Nil means that nobody is.
	Orchestrator Orchestrator
	// Initial returns the parameters that a job begins with, whose types are those of
	// all updates: what clients send in others is converted. Where its error
	// matches [ErrNoModel], the repository is asked, and then a client. Nil has
	// none. With homomorphic encryption only a client is asked: neither of the
	// others could encrypt.
	Initial func(ctx context.Context, config Config) (strategy.Model, error)
	// Route returns the id of the job that a client is for, empty for no opinion.
	// A client for a job that is not active waits until it is. Nil takes the
	// first label of the host that the client called, if an active job has that
	// id. It is called concurrently.
	Route func(session *flower.Session) string
	// Identify names a client that has no certificate, so that it is known again
	// after it has come back; empty is no opinion. Its reputation depends on the
	// name, so a client must not be able to choose that of another. It is called
	// concurrently. Nil has no opinion.
	Identify func(session *flower.Session) string
	// Clip has updates cut that lie further from the model than [DefaultNormFactor]
	// says, unless a job says otherwise. False only reports them: with a norm_bound
	// of its own, a job has them cut all the same.
	Clip bool
	// TrustClients has no update measured, unless a job asks for it, and no client
	// suspended. It does not go with Clip.
	TrustClients bool
	// NoAudit has no audit log kept, and so no update digested. There are reports
	// of the rounds all the same.
	NoAudit bool
	// ClientTimeout is how long a job waits for enough clients, and for a
	// repository that does not answer, before it is interrupted. Zero means
	// 24 hours, as with Flower.
	ClientTimeout time.Duration
	// Park is after how long clients come back when the server stops, in whole
	// seconds. Where there are more than a thousand, a second is added for each
	// thousand, and they come back at random in that time. Zero means 5 seconds.
	Park time.Duration
	// MaxContext is the greatest size of a public context in bytes. Zero means
	// 64 MiB. Two of them may be in memory at a time for each that is received.
	MaxContext int64
	// Dir is the folder for files that a round needs. Empty means that of the
	// operating system.
	Dir string
	// Logger is told what happens. Nil is silent.
	Logger *slog.Logger
}

// Defaults of [Options].
const (
	defaultClientTimeout = 24 * time.Hour
	defaultPark          = 5 * time.Second
	defaultMaxContext    = 64 << 20
	mostContext          = 1 << 32
)

// withDefaults returns the options without zeros, or what is wrong with them.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.Documents == nil {
		err = errors.Join(err, errors.New("configure training collector: Documents is required"))
	}
	if o.Blobs == nil {
		err = errors.Join(err, errors.New("configure training collector: Blobs is required"))
	}
	if o.Clip && o.TrustClients {
		err = errors.Join(err, errors.New("configure training collector: Clip and TrustClients exclude each other"))
	}
	err = errors.Join(err, checkStrategies(o.Strategies))
	o.Strategies = maps.Clone(o.Strategies)
	if o.ClientTimeout == 0 {
		o.ClientTimeout = defaultClientTimeout
	}
	if o.ClientTimeout < 0 {
		err = errors.Join(err, fmt.Errorf("configure training collector: ClientTimeout is %v, must not be negative", o.ClientTimeout))
	}
	if o.Park == 0 {
		o.Park = defaultPark
	}
	if o.Park < time.Second {
		err = errors.Join(err, fmt.Errorf("configure training collector: Park is %v, must be a second at least", o.Park))
	}
	if o.MaxContext == 0 {
		o.MaxContext = defaultMaxContext
	}
	if o.MaxContext < 0 || o.MaxContext > mostContext {
		err = errors.Join(err, fmt.Errorf("configure training collector: MaxContext is %d, must be 1 to %d", o.MaxContext, int64(mostContext)))
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, err
}
