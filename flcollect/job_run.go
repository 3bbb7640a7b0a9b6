package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// job is a job with something to do: training, or neighbours to tell of it.
type job struct {
	server   *Server
	id       string
	created  time.Time
	log      *slog.Logger
	strategy strategy.Strategy // nil until it is made; belongs to the training

	training context.Context // ends with the reason for which the job is stopped
	stop     context.CancelCauseFunc
	work     context.Context // of what the job does; ends when it is retired
	quit     context.CancelFunc
	life     context.Context // of what it stores
	ended    chan struct{}   // closed once the training has ended and that is stored
	done     chan struct{}   // closed once nothing is left to do
	over     chan struct{}   // closed when the clients are to leave
	abrupt   bool            // whether they are cut off; set before over is closed
	news     chan struct{}   // has a token when there may be something to tell
	telling  chan struct{}   // holds a token while neighbours are told
	moved    chan struct{}   // has a token when the pool has changed

	reputations *reputations

	// What follows belongs to the server's lock.
	open  bool // takes clients
	least int  // how many clients must be connected
	pool  []*client

	writing sync.Mutex // one change of the record at a time

	mu       sync.Mutex
	rec      record
	revision storage.Revision // changes with writing held only
	unsaved  bool             // the record has changes that are not stored
	fitted   int              // the last round whose fit was aggregated by this process
	troubles map[source]error
	changed  chan struct{} // nil while nobody asked
}

// source is where a trouble that may pass comes from.
type source string

const (
	ofStorage      source = "storage"
	ofModel        source = "model"
	ofStrategy     source = "strategy"
	ofRepository   source = "repository"
	ofOrchestrator source = "orchestrator"
)

// errStopped is the reason of a job that was stopped.
var errStopped = errors.New("stopped on request")

// newJob returns a job that begins or goes on as the record says.
func (s *Server) newJob(r record, revision storage.Revision, made strategy.Strategy) *job {
	j := &job{
		server: s, id: r.ID, created: r.Created, log: s.log.With("job", r.ID, "run", r.Run), strategy: made,
		ended: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
		news: make(chan struct{}, 1), telling: make(chan struct{}, 1), moved: make(chan struct{}, 1),
		reputations: newReputations(),
		open:        !r.State.Ended() && !r.trained(), least: 1, rec: r, fitted: r.Round, revision: revision, troubles: map[source]error{},
	}
	j.life = s.life
	j.work, j.quit = context.WithCancel(s.life)
	j.training, j.stop = context.WithCancelCause(j.work)
	if made != nil {
		j.least = made.Policy().MinAvailable
	}
	return j
}

// before reports whether a client is rather for this job than for another. The
// server's lock is held.
func (j *job) before(other *job) bool {
	lacks, others := j.least-len(j.pool), other.least-len(other.pool)
	if lacks != others {
		return lacks > others
	}
	if order := j.created.Compare(other.created); order != 0 {
		return order < 0
	}
	return j.id < other.id
}

// run does what a job has to do.
func (j *job) run() {
	defer close(j.done)
	defer j.quit()
	var others sync.WaitGroup
	others.Go(j.notify)
	others.Go(j.discard)
	if !j.record().State.Ended() {
		j.conduct()
	} else {
		close(j.ended)
	}
	poke(j.news)
	others.Wait()
	if j.life.Err() == nil {
		j.flush()
	}
	s := j.server
	s.mu.Lock()
	delete(s.jobs, j.id)
	delete(s.unwritten, j.id)
	s.spent.add(j.record())
	s.mu.Unlock()
	j.signal()
}

// conduct trains, stores how that ended, and sends the clients away.
func (j *job) conduct() {
	err := j.train(j.training)
	j.strategy = nil // and what it carries
	if j.life.Err() != nil || j.server.ends() {
		return // it goes on after the restart
	}
	j.close()
	change := func(r *record) { r.State = Finished }
	if err != nil {
		j.abrupt = errors.Is(err, errStopped)
		j.log.Warn("the training was interrupted", "error", err)
		change = func(r *record) { r.State, r.Error = Interrupted, short(err.Error(), maxReason) }
		if errors.Is(err, errFruitless) { // the model to begin with is no result
			if last := j.record().Checkpoint; last != nil {
				defer j.server.drop(j.life, j.log, last)
			}
			change = func(r *record) {
				r.State, r.Error, r.Checkpoint = Interrupted, short(err.Error(), 4*maxReason), nil
			}
		}
	} else {
		j.report()
	}
	end := func(r *record) {
		change(r)
		r.Ended = now()
	}
	err = j.save(end)
	if j.life.Err() != nil {
		return
	}
	if err != nil { // it goes on after a restart, if it can
		j.log.Error("the end of the training cannot be stored", "error", err)
		j.note(end)
	}
	close(j.ended)
	close(j.over)
	j.drain()
}

// close has the job take no more clients.
func (j *job) close() {
	j.server.mu.Lock()
	defer j.server.mu.Unlock()
	j.open = false
}

// drain waits until the clients have left, for a bounded time.
func (j *job) drain() {
	timer := time.NewTimer(dismissal + time.Second)
	defer timer.Stop()
	for j.clients() > 0 {
		select {
		case <-j.moved:
		case <-timer.C:
			return
		case <-j.work.Done(): // the next run does not wait for them
			return
		}
	}
}

func (j *job) clients() int {
	j.server.mu.Lock()
	defer j.server.mu.Unlock()
	return len(j.pool)
}

// record returns what the job has reached.
func (j *job) record() record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec
}

// save changes the record, and returns once that is stored.
func (j *job) save(change func(*record)) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	next := j.record()
	before := next.State
	change(&next)
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	var revision storage.Revision
	err = j.server.insist(j.life, j.id, func() (err error) {
		revision, err = j.server.update(j.life, jobKey(j.id), j.revision, data)
		return err
	})
	if err != nil {
		return fmt.Errorf("store job %q: %w", j.id, err)
	}
	if before != next.State {
		j.server.moveState(before, next.State)
	}
	j.mu.Lock()
	j.rec, j.revision, j.unsaved = next, revision, false
	j.mu.Unlock()
	j.signal()
	poke(j.news)
	return nil
}

// note changes the record, and has that stored with what is stored next: it is
// harmless if it is forgotten.
func (j *job) note(change func(*record)) {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	change(&j.rec)
	j.unsaved = true
	j.mu.Unlock()
	j.signal()
}

// noteFit shows that the fit of a round was aggregated. It is not stored: the
// round counts once all of it is.
func (j *job) noteFit(number int) {
	j.mu.Lock()
	j.fitted = number
	j.mu.Unlock()
	j.signal()
}

// flush stores what was noted.
func (j *job) flush() {
	j.mu.Lock()
	unsaved := j.unsaved
	j.mu.Unlock()
	if !unsaved {
		return
	}
	if err := j.save(func(*record) {}); err != nil {
		j.log.Warn("what neighbours were told cannot be stored, they may be told again", "error", err)
	}
}

// trouble shows why something has to be tried again, nil once that is over.
func (j *job) trouble(from source, err error) {
	j.mu.Lock()
	if err == nil {
		delete(j.troubles, from)
	} else {
		j.troubles[from] = err
	}
	j.mu.Unlock()
	j.signal()
}

// status returns what the job has reached, and what troubles it.
func (j *job) status() Status {
	clients := j.clients()
	j.mu.Lock()
	defer j.mu.Unlock()
	status := j.rec.status()
	status.Clients = clients
	if !status.State.Ended() {
		status.Evaluating = j.fitted > status.Round
		status.Suspended = j.reputations.suspended(status.Round+1, MaxQuarantined)
	}
	reasons := []string{}
	if status.Error != "" {
		reasons = append(reasons, status.Error)
	}
	for _, from := range slices.Sorted(maps.Keys(j.troubles)) {
		reasons = append(reasons, short(fmt.Sprintf("%s: %v", from, j.troubles[from]), maxReason))
	}
	status.Error = strings.Join(reasons, "; ")
	return status
}

// signal tells who waits for a change.
func (j *job) signal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// watch returns what signal closes.
func (j *job) watch() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return j.changed
}

// discard deletes what earlier runs have left.
func (j *job) discard() {
	first := j.record()
	tokens, kept := first.Discard, first.Before
	for _, token := range tokens {
		if err := j.server.forget(j.work, token, kept); err != nil {
			if j.work.Err() == nil {
				j.log.Warn("records of an earlier run cannot be deleted yet", "error", err)
			}
			return
		}
	}
	if len(tokens) > 0 {
		j.note(func(r *record) { r.Discard = nil })
	}
}

// now is the time as it is stored.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
