package flcollect

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// job is a job with something to do: a training, or the delivery of what it has left.
type job struct {
	server   *Server
	id       string
	created  time.Time
	log      *slog.Logger
	storage  persist.Store
	strategy strategy.Strategy // nil until it is made; belongs to the training

	training context.Context // ends with the reason for which the job is stopped
	stop     context.CancelCauseFunc
	work     context.Context // of everything that the job does; ends when it is retired
	quit     context.CancelFunc
	life     context.Context         // of what it stores; ends with the right to conduct the job
	lose     context.CancelCauseFunc // ends life
	yielded  atomic.Bool             // another server goes on with what is left to do
	ended    chan struct{}           // closed once the training has ended and that is stored
	done     chan struct{}           // closed once nothing is left to do
	over     chan struct{}           // closed when the clients are to leave
	abrupt   bool                    // whether the job was stopped; set before over is closed
	saved    chan struct{}           // has a token when there may be something to deliver

	edges       *edgeRule
	pool        *round.Pool
	reputations *reputation.Table

	// What follows belongs to the registry's lock.
	open  bool           // takes clients
	least int            // how many clients must be connected
	need  int            // how many of them a round needs, 0 while that is not known
	nodes *supernode.Run // that SuperNodes join, nil if the job takes none

	writing sync.Mutex // one change of the record at a time

	mu       sync.Mutex
	rec      record
	revision storage.Revision // changes only while writing is held
	unsaved  bool             // the record has changes that are not stored
	fitted   int              // the last round whose fit was aggregated by this process
	troubles map[source]error
	changed  chan struct{} // nil while there is no watcher
}

// source is where a temporary failure comes from.
type source string

const (
	ofStorage      source = "storage"
	ofModel        source = "model"
	ofStrategy     source = "strategy"
	ofRepository   source = "repository"
	ofOrchestrator source = "orchestrator"
	ofUpstream     source = "upper collector"
	ofFleet        source = "SuperNodes"
)

// newJob returns a job that begins or goes on as the record says.
func (s *Server) newJob(r record, revision storage.Revision, made strategy.Strategy) *job {
	j := &job{
		server: s, id: r.ID, created: r.Created, log: s.log.With("job", r.ID, "run", r.Run), storage: s.storageOf(r.ID),
		strategy: made, ended: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
		saved: make(chan struct{}, 1), pool: round.NewPool(), reputations: reputation.NewTable(),
		open: !r.State.Ended() && !r.trained(), least: 1,
		edges: newEdgeRule(), rec: r, fitted: r.Round, revision: revision, troubles: map[source]error{},
	}
	if s.together != nil {
		j.storage.Holds = j.holds
	}
	j.life, j.lose = s.jobLife()
	j.work, j.quit = context.WithCancel(j.life)
	j.training, j.stop = context.WithCancelCause(j.work)
	if made != nil {
		j.least, j.need = clientsOf(r.Config.Demand(made.Policy()))
	}
	return j
}

// beforeLocked reports whether a client should join this job rather than another. The caller
// holds the lock of the registry.
func (j *job) beforeLocked(other *job) bool {
	return j.rankLocked().before(other.rankLocked())
}

func (j *job) rankLocked() rank { return rank{j.least - j.pool.Len(), j.created, j.id} }

// rank decides which job a client joins.
type rank struct {
	lacks   int // clients
	created time.Time
	id      string
}

func (r rank) before(other rank) bool {
	if r.lacks != other.lacks {
		return r.lacks > other.lacks
	}
	if order := r.created.Compare(other.created); order != 0 {
		return order < 0
	}
	return r.id < other.id
}

// run does what a job has to do.
func (j *job) run() {
	defer close(j.done)
	defer j.quit()
	delivery := newDelivery(j)
	var others sync.WaitGroup
	others.Go(delivery.run)
	others.Go(j.discard)
	if !j.record().State.Ended() {
		j.conduct(delivery)
	} else {
		close(j.ended)
	}
	notify.Send(j.saved)
	others.Wait()
	if j.life.Err() == nil {
		j.flush()
	}
	j.leave()
	if j.life.Err() != nil && j.server.life.Err() == nil {
		j.log.Warn("this server no longer conducts the job", "cause", context.Cause(j.life))
	}
	j.lose(nil)
	j.server.health.Set(j.id, nil) // before a new run of the same id can begin
	j.server.jobs.finish(j)
	j.signal()
}

// conduct trains, stores how that ended, and sends the clients away.
func (j *job) conduct(delivery *delivery) {
	err := j.train(j.training)
	j.strategy = nil // releases its memory
	if j.life.Err() != nil || j.server.ending.Err() != nil {
		return // it goes on after the restart
	}
	j.server.jobs.shut(j)
	change := func(r *record) { r.State = report.Finished }
	if err != nil {
		j.abrupt = errors.Is(err, errStopped)
		j.log.Warn("the training was interrupted", "error", err)
		change = func(r *record) { r.State, r.Error = report.Interrupted, excerpt.Reason(err) }
		if errors.Is(err, errUnchanged) { // the model to begin with is no result
			if last := j.record().Checkpoint; last != nil {
				defer j.drop(last)
			}
			change = func(r *record) {
				r.State, r.Error, r.Checkpoint = report.Interrupted, excerpt.Cut(err.Error(), 4*excerpt.MaxReason), nil
			}
		}
	} else {
		delivery.try()
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
	if j.record().State == report.Finished {
		j.log.Info("job finished")
	}
	close(j.ended)
	close(j.over)
	j.drain()
}

// drain waits until the clients have left, for a bounded time.
func (j *job) drain() {
	timer := time.NewTimer(dismissal + time.Second)
	defer timer.Stop()
	for j.pool.Len() > 0 {
		select {
		case <-j.pool.Moved():
		case <-timer.C:
			return
		case <-j.work.Done(): // the next run does not wait for them
			return
		}
	}
}

// drop deletes a checkpoint that no record names any more. [Server.Run] deletes it after
// the next start if this fails.
func (j *job) drop(c *checkpoint.Ref) {
	if err := j.storage.DeleteBlob(j.life, c.Key); err != nil && j.life.Err() == nil {
		j.log.Warn("an old model cannot be deleted yet", "error", err)
	}
}

// discard deletes what earlier runs have left.
func (j *job) discard() {
	first := j.record()
	for _, token := range first.Discard {
		if err := j.forget(token, first.Before); err != nil {
			if j.work.Err() == nil {
				j.log.Warn("records of an earlier run cannot be deleted yet", "error", err)
			}
			return
		}
	}
	if len(first.Discard) > 0 {
		j.note(func(r *record) { r.Discard = nil })
	}
}

// forget deletes the rounds of a run, its reports and reputations, and its models unless
// its result is among those that are not delivered yet.
func (j *job) forget(token string, undelivered []outcome) error {
	for _, prefix := range []string{roundFolder(token), audit.Folder(token), reputation.Folder(token)} {
		if err := j.storage.DeleteDocuments(j.work, prefix); err != nil {
			return err
		}
	}
	for _, o := range undelivered {
		if o.Token == token {
			return nil
		}
	}
	return j.storage.DeleteBlobs(j.work, checkpoint.Folder(token), nil)
}
