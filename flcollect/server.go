package flcollect

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// Errors of a [Server].
var (
	// ErrActive is returned where a job of that id is being trained with another
	// configuration.
	ErrActive = errors.New("flcollect: the job is being trained with another configuration")
	// ErrInvalid is returned for an id or a configuration that no job can have.
	ErrInvalid = errors.New("flcollect: invalid")
	// ErrNoResult is returned for a job that has no model yet, or that is not
	// known.
	ErrNoResult = errors.New("flcollect: the job has no model")
	// ErrNotRunning is returned before [Server.Run] has read what is stored, and
	// once it ends.
	ErrNotRunning = errors.New("flcollect: the server is not running")
)

// MaxID is the greatest length of a job's id in bytes.
const MaxID = 256

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
	// Orchestrator is told how trainings go. Nil means that nobody is.
	Orchestrator Orchestrator
	// Initial returns the parameters that a job begins with; where its error
	// matches [ErrNoModel], the repository is asked, and then a client. Nil has
	// none.
	Initial func(ctx context.Context, config Config) (strategy.Model, error)
	// Route returns the id of the job that a client is for, empty for no opinion.
	// A client for a job that is not active waits until it is. Nil takes the
	// first label of the host that the client called, if an active job has that
	// id. It is called concurrently.
	Route func(session *flower.Session) string
	// ClientTimeout is how long a job waits for enough clients, and for a
	// repository that does not answer, before it is interrupted. Zero means
	// 24 hours, as with Flower.
	ClientTimeout time.Duration
	// Park is after how long clients come back when the server stops, in whole
	// seconds. Zero means 5 seconds.
	Park time.Duration
	// Dir is the folder for files that a round needs. Empty means that of the
	// operating system.
	Dir string
	// Logger is told what happens. Nil is silent.
	Logger *slog.Logger
}

// Totals are the numbers of a [Server] for its metrics. What is counted, counts
// from the start of the process.
type Totals struct {
	// Clients are connected; Lobby of them wait for a job.
	Clients, Lobby int
	// Jobs is how many jobs there are, by their states.
	Jobs map[State]int
	// Undelivered is how many jobs have news or results that a neighbour has not
	// taken yet.
	Undelivered int
	// Rounds were finished, and took Seconds.
	Rounds  int64
	Seconds float64
	// Results of clients were taken, Failures were not; Quarantined of them were
	// refused for what they held.
	Results, Failures, Quarantined int64
	// Sent and Received are bytes of parameters.
	Sent, Received int64
}
