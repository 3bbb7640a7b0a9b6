package flcollect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/contextstore"
	"github.com/iotenablers/enablers/flcollect/internal/group"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// Errors of a [Server].
var (
	// ErrActive is returned where a job of that id is being trained with another
	// configuration.
	ErrActive = job.ErrActive
	// ErrUnknown is returned for a job that is not known.
	ErrUnknown = errors.New("flcollect: there is no such job")
	// ErrNoResult is returned for a job that has no model yet, or that is not
	// known.
	ErrNoResult = errors.New("flcollect: the job has no model")
	// ErrUndelivered is returned for a job that has ended several times while the
	// repository took none of its results.
	ErrUndelivered = job.ErrUndelivered
	// ErrNotRunning is returned before [Server.Run] has read what is stored, and
	// once it ends.
	ErrNotRunning = job.ErrNotRunning
)

// Server runs jobs. It is safe for concurrent use. Make one with [NewServer].
//
// The progress of a job is stored before it is reported, so a server that is killed at
// any instant goes on from the last finished round. While the storage fails, writes are
// repeated and [Status].Error says so. Documents and blobs belong to one server, or to
// several that have names: then a job is conducted by one of them at a time, every server
// answers for all jobs, and relays Flower clients to the server of their job.
type Server struct {
	config     Config
	log        *slog.Logger
	storage    persist.Store
	strategies strategies
	contexts   *contextstore.Store
	jobs       *registry
	lobby      *lobby
	health     *persist.Health
	counters   *counters

	begun    sync.Once
	ready    chan struct{}   // closed once Run has read what is stored
	ending   context.Context // ends with ErrNotRunning when Run is about to end
	end      context.CancelCauseFunc
	starting chan struct{}   // holds a token while a job is started
	running  sync.WaitGroup  // jobs
	life     context.Context // of everything that Run started; set before ready
	open     sync.Once       // closes ready
	service  *job.Service    // of the jobs
	group    *group.Group    // nil if the server is alone on its store
}

// NewServer returns a server. It starts nothing.
func NewServer(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, log: config.Logger, strategies: newStrategies(config),
		jobs: newRegistry(), health: persist.NewHealth(), counters: &counters{},
		ready: make(chan struct{}), starting: make(chan struct{}, 1),
	}
	s.ending, s.end = context.WithCancelCause(context.Background())
	s.storage = persist.Store{Documents: config.Documents, Blobs: config.Blobs, Trouble: func(err error) { s.failing("", err) }}
	s.contexts = contextstore.New(s.storage, s.log)
	s.lobby = newLobby(s.jobs, config, s.ending)
	s.service = s.newService()
	if config.Name != "" {
		s.joinGroup(nil)
	}
	return s, nil
}

// farewell is how long clients have to leave when the server ends.
const farewell = 5 * time.Second

// Run goes on with the stored jobs and runs those that are started, until the context
// ends. Then it disconnects the clients, to reconnect after [Config].Park; clients that
// train have a few seconds to finish. It returns once all that it started has ended. A
// server runs once. The listener of the clients, such as flower.Server.Serve, should end
// after Run, or they cannot be disconnected.
func (s *Server) Run(ctx context.Context) error {
	first := false
	s.begun.Do(func() { first = true })
	if !first {
		return errors.New("run training collector: it runs, or has run, already")
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	s.life = life
	if s.group != nil {
		s.group.Serve(ctx)
	} else if resumed, err := s.recall(ctx); err == nil {
		s.jobs.add(resumed...)
		for _, j := range resumed {
			member{s}.launch(j)
		}
		s.open.Do(func() { close(s.ready) })
		<-ctx.Done()
	}
	s.end(ErrNotRunning)
	s.lobby.drain(farewell + time.Second)
	end(ErrNotRunning)
	s.starting <- struct{}{} // from now on no job is started
	s.running.Wait()
	<-s.starting
	if s.group != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if err := s.group.Leave(ctx); err != nil {
			s.log.Warn("other servers go on with the jobs of this one once its lease has run out", "error", err)
		}
	}
	return nil
}

// Handle serves a Flower client; it is the function for flower.ServerConfig.Handle. The
// client belongs to one job for its session: to the one that Route names, or that its
// property "training_id" names where several are active, or else to the active one that
// lacks most clients, the oldest of several. While none exists it waits.
func (s *Server) Handle(ctx context.Context, session *flower.Session) error {
	return s.lobby.handle(ctx, session)
}

// recall reads what is stored, and returns the jobs that go on. It waits for a
// storage that does not answer.
func (s *Server) recall(ctx context.Context) ([]*job.Job, error) {
	var resumed []*job.Job
	err := s.storage.Insist(ctx, func() error {
		resumed = nil
		states, named, complete := map[report.State]int{}, map[string]bool{}, true
		var ended spentLedger
		for doc, err := range storage.All(ctx, s.config.Documents, job.Prefix) {
			if err != nil {
				return err
			}
			r, err := job.ReadRecord(doc.Key[len(job.Prefix):], doc.Data)
			if err != nil {
				s.log.Error("a stored job cannot be read and is left alone", "error", err)
				complete = false
				continue
			}
			for _, key := range r.Checkpoints() {
				named[key] = true
			}
			states[r.State]++
			if r.Active() {
				resumed = append(resumed, member{s}.newJob(r, doc.Revision, nil))
			} else {
				ended.add(r)
			}
		}
		s.jobs.reset(states, ended)
		if !complete {
			return nil // a record that could not be read may name a checkpoint
		}
		return s.storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool { return named[blob.Key] })
	})
	if err == nil {
		err = s.storage.Insist(ctx, func() error { return s.contexts.Sweep(ctx, nil) })
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(resumed, func(a, b *job.Job) int { return a.Created().Compare(b.Created()) })
	return resumed, nil
}

// await returns nil while the server runs, for which it waits.
func (s *Server) await(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-s.ending.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return context.Cause(s.ending)
}

// Ready returns nil if jobs can be started and their progress can be stored, and the
// reason if not.
func (s *Server) Ready() error {
	if err := s.health.Err(); err != nil {
		return err
	}
	select {
	case <-s.ready:
		if err := context.Cause(s.ending); err != nil {
			return err
		}
		if err := storage.Space(s.ending, s.config.Documents); err != nil {
			return err
		}
		return storage.Space(s.ending, s.config.Blobs)
	default:
		return ErrNotRunning
	}
}
