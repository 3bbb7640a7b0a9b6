package flcollect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

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
	// ErrUndelivered is returned for a job that has ended several times while the
	// repository took none of its results.
	ErrUndelivered = errors.New("flcollect: results are not delivered yet")
	// ErrNotRunning is returned before [Server.Run] has read what is stored, and
	// once it ends.
	ErrNotRunning = errors.New("flcollect: the server is not running")
)

// MaxID is the greatest length of a job's id in bytes.
const MaxID = 256

// Server runs jobs. It is safe for concurrent use. Make one with [NewServer].
//
// What a job has reached is stored before anybody is told, so a server that is
// killed at any instant goes on from the last finished round. While the storage
// fails, writes are repeated and [Status].Error says so. Documents and blobs are
// those of one server; two on the same would disturb each other.
type Server struct {
	options  Options
	log      *slog.Logger
	begun    sync.Once
	ready    chan struct{} // closed once Run has read what is stored
	parking  chan struct{} // closed when Run is about to end
	starting chan struct{} // holds a token while a job is started
	// converting holds a token for each update that is converted and added.
	converting chan struct{}
	group      sync.WaitGroup
	life       context.Context // of everything that Run started; set before ready

	mu        sync.Mutex
	jobs      map[string]*job // those with something to do
	states    map[State]int   // of all jobs
	sessions  int
	lobby     int
	left      chan struct{} // has a token when a session ended; for Run
	changed   chan struct{} // closed when a job is started
	unwritten map[string]error
	totals    Totals
	spent     spentLedger // of ended jobs that have nothing to do
}

// NewServer returns a server, or what is wrong with the options. It starts
// nothing.
func NewServer(options Options) (*Server, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{
		options: options, log: options.Logger,
		ready: make(chan struct{}), parking: make(chan struct{}), starting: make(chan struct{}, 1), left: make(chan struct{}, 1),
		converting: make(chan struct{}, runtime.NumCPU()),
		jobs:       map[string]*job{}, states: map[State]int{}, changed: make(chan struct{}), unwritten: map[string]error{},
	}, nil
}

// How long clients have to leave: when the server ends, and when their job has.
const (
	farewell  = 5 * time.Second
	dismissal = 15 * time.Second
)

// Run goes on with the stored jobs and runs what is started, until the context
// ends. Then it sends the clients away, to come back after [Options].Park; those
// that train have a few seconds to end it. It returns once all that it started has
// ended. A server runs once. What serves the clients, such as flower.Server.Serve,
// should end after Run, or they cannot be sent away.
func (s *Server) Run(ctx context.Context) error {
	first := false
	s.begun.Do(func() { first = true })
	if !first {
		return errors.New("run training collector: it runs, or has run, already")
	}
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	s.life = life
	resumed, err := s.recall(ctx)
	if err == nil {
		s.mu.Lock()
		for _, j := range resumed {
			s.launch(j)
		}
		s.mu.Unlock()
		close(s.ready)
		<-ctx.Done()
	}
	close(s.parking)
	s.drain()
	end(ErrNotRunning)
	s.starting <- struct{}{} // nobody starts a job any more
	s.group.Wait()
	<-s.starting
	return nil
}

// recall reads what is stored, and returns the jobs that go on. It waits for a
// storage that does not answer.
func (s *Server) recall(ctx context.Context) ([]*job, error) {
	var resumed []*job
	err := s.insist(ctx, "", func() error {
		resumed = nil
		states, named, whole := map[State]int{}, map[string]bool{}, true
		var ended spentLedger
		for doc, err := range storage.All(ctx, s.options.Documents, jobPrefix) {
			if err != nil {
				return err
			}
			r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
			if err != nil {
				s.log.Error("a stored job cannot be read and is left alone", "error", err)
				whole = false
				continue
			}
			for _, o := range append(r.Before, r.outcome) {
				if o.Checkpoint != nil {
					named[o.Checkpoint.Key] = true
				}
			}
			states[r.State]++
			if !r.State.Ended() || !r.settled() {
				resumed = append(resumed, s.newJob(r, doc.Revision, nil))
			} else {
				ended.add(r)
			}
		}
		s.mu.Lock() // for Totals, which may be asked already
		s.states, s.spent = states, ended
		s.mu.Unlock()
		if !whole {
			return nil // a checkpoint may be named by what could not be read
		}
		return s.collect(ctx, checkpointPrefix, named)
	})
	if err == nil {
		err = s.insist(ctx, "", func() error { return s.collectContexts(ctx) })
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(resumed, func(a, b *job) int { return a.created.Compare(b.created) })
	return resumed, nil
}

// collect deletes the blobs under a prefix that nothing names: a crash left them.
func (s *Server) collect(ctx context.Context, prefix string, named map[string]bool) error {
	for blob, err := range s.options.Blobs.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if named[blob.Key] {
			continue
		}
		if err := s.options.Blobs.Delete(ctx, blob.Key); err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}

// launch starts what a job has to do. The lock is held.
func (s *Server) launch(j *job) {
	s.jobs[j.id] = j
	s.spent.remove(j.id)
	s.group.Go(j.run)
	close(s.changed)
	s.changed = make(chan struct{})
}

// drain waits until the clients have left, for a bounded time.
func (s *Server) drain() {
	timer := time.NewTimer(farewell + time.Second)
	defer timer.Stop()
	for {
		s.mu.Lock()
		sessions := s.sessions
		s.mu.Unlock()
		if sessions == 0 {
			return
		}
		select {
		case <-s.left:
		case <-timer.C:
			return
		}
	}
}

// await returns nil while the server runs, for which it waits.
func (s *Server) await(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-s.parking:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.ends() {
		return ErrNotRunning
	}
	return nil
}

// ends reports whether the server is about to end.
func (s *Server) ends() bool {
	select {
	case <-s.parking:
		return true
	default:
		return false
	}
}

// Ready returns nil if jobs can be started and what they reach can be stored, and
// why not otherwise.
func (s *Server) Ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unwritten[""]; err != nil {
		return fmt.Errorf("read the stored jobs: %w", err)
	}
	if ids := slices.Sorted(maps.Keys(s.unwritten)); len(ids) > 0 {
		return fmt.Errorf("store job %q: %w", ids[0], s.unwritten[ids[0]])
	}
	select {
	case <-s.parking:
	case <-s.ready:
		if !s.ends() {
			return nil
		}
	default:
	}
	return ErrNotRunning
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
	// Rounds were finished, and took Seconds; Durations counts them by that.
	Rounds    int64
	Seconds   float64
	Durations Durations
	// Epsilons is what jobs with differential privacy gave away, by their ids: of
	// the current run of every active job, and of the last run of those that have
	// ended, the last [MaxEpsilons] of them. Epsilon is the greatest.
	Epsilons map[string]float64
	Epsilon  float64
	// Results of clients were taken, Failures were not; Quarantined of them were
	// refused for what they held.
	Results, Failures, Quarantined int64
	// Clipped is how many updates were shortened, Far how many lay beyond the bound
	// and were kept whole, and Converted how many had layers of another type than
	// the model. Suspensions is how many times a client was suspended.
	Clipped, Far, Converted, Suspensions int64
	// Sent and Received are bytes of parameters.
	Sent, Received int64
}

// Totals returns the numbers for metrics.
func (s *Server) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.totals
	t.Clients, t.Lobby, t.Jobs = s.sessions, s.lobby, maps.Clone(s.states)
	for _, j := range s.jobs {
		r := j.record()
		if !r.settled() {
			t.Undelivered++
		}
	}
	t.Epsilons = s.epsilonsLocked()
	for _, epsilon := range t.Epsilons {
		t.Epsilon = max(t.Epsilon, epsilon)
	}
	return t
}
