package job

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
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// Job is a job with something to do: a training, or the delivery of what it has left. It is safe
// for concurrent use.
type Job struct {
	service  *Service
	log      *slog.Logger
	storage  persist.Store
	strategy strategy.Strategy // nil until it is known; belongs to the training

	*phases
	*clients
	yielded atomic.Bool // another server goes on with what is left to do
	abrupt  bool        // whether the job was stopped; set before it delivers

	edges       *edgeRule
	reputations *reputation.Table

	writing sync.Mutex // one change of the record at a time

	mu       sync.Mutex
	rec      Record
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

// New returns a job that begins or goes on as the record says. The strategy is nil for a job
// that goes on. Life is the right of the server to conduct the job, which lose gives up.
func New(service *Service, life context.Context, lose context.CancelCauseFunc, r Record, revision storage.Revision,
	selected strategy.Strategy,
) *Job {
	j := &Job{
		service: service, log: service.Log.With("job", r.ID, "run", r.Run),
		strategy: selected, phases: newPhases(life, lose, r.phase()), reputations: reputation.NewTable(),
		edges: newEdgeRule(), rec: r, fitted: r.Round, revision: revision, troubles: map[source]error{},
	}
	j.clients = &clients{phases: j.phases, pool: round.NewPool(), changed: j.signal, id: r.ID, created: r.Created, least: 1}
	j.storage = persist.Store{Documents: service.Documents, Blobs: service.Blobs, Trouble: j.troubleStorage}
	if service.Group != nil {
		j.storage.Holds = j.holds
	}
	if selected != nil {
		j.setPolicy(r.Config.Demand(selected.Policy()))
	}
	return j
}

// ID returns the id of the job.
func (j *Job) ID() string { return j.id }

// Created returns when the run began.
func (j *Job) Created() time.Time { return j.created }

// Abrupt reports whether the job was stopped, once it has ended.
func (j *Job) Abrupt() bool { return j.abrupt }

// Run does what the job has to do.
func (j *Job) Run() {
	defer j.enter(phaseEnded)
	defer j.end(phaseDelivering, nil)
	delivery := newDelivery(j)
	var others sync.WaitGroup
	others.Go(delivery.run)
	others.Go(j.discard)
	if !j.Record().State.Ended() {
		j.conduct(delivery)
	}
	j.signal() // there may be something to deliver
	others.Wait()
	life := j.during(phaseSaving)
	if life.Err() == nil {
		j.flush()
	}
	j.leave()
	if life.Err() != nil && !errors.Is(context.Cause(life), ErrNotRunning) {
		j.log.Warn("this server no longer conducts the job", "cause", context.Cause(life))
	}
	j.end(phaseSaving, nil)
	j.service.Observer.Finished(j)
	j.signal()
}

// conduct trains, stores how that ended, and disconnects the clients.
func (j *Job) conduct(delivery *delivery) {
	err := j.train(j.during(phaseTraining))
	j.strategy = nil // releases its memory
	life := j.during(phaseSaving)
	if life.Err() != nil || j.service.Ending.Err() != nil {
		return // it goes on after the restart
	}
	j.enter(phaseSaving)
	change := func(r *Record) { r.State = report.Finished }
	if err != nil {
		j.abrupt = errors.Is(err, errStopped)
		j.log.Warn("the training was interrupted", "error", err)
		change = func(r *Record) { r.State, r.Error = report.Interrupted, excerpt.Reason(err) }
		if errors.Is(err, errUnchanged) { // the initial model is not a result
			if last := j.Record().Checkpoint; last != nil {
				defer j.drop(last)
			}
			change = func(r *Record) {
				r.State, r.Error, r.Checkpoint = report.Interrupted, excerpt.Cut(err.Error(), 4*excerpt.MaxReason), nil
			}
		}
	} else {
		delivery.try()
	}
	end := func(r *Record) {
		change(r)
		r.Ended = Now()
	}
	err = j.save(end)
	if life.Err() != nil {
		return
	}
	if err != nil { // it goes on after a restart, if it can
		j.log.Error("the end of the training cannot be stored", "error", err)
		j.note(end)
	}
	if j.Record().State == report.Finished {
		j.log.Info("job finished")
	}
	j.enter(phaseDelivering)
	j.drain()
}

// Dismissal is how long clients have to leave when their job has ended.
const Dismissal = 15 * time.Second

// drain waits until the clients have left, for a bounded time.
func (j *Job) drain() {
	timer := time.NewTimer(Dismissal + time.Second)
	defer timer.Stop()
	for j.pool.Len() > 0 {
		select {
		case <-j.pool.Moved():
		case <-timer.C:
			return
		case <-j.during(phaseDelivering).Done(): // the next run does not wait for them
			return
		}
	}
}

// discard deletes what earlier runs have left.
func (j *Job) discard() {
	first := j.Record()
	for _, token := range first.Discard {
		if err := j.forget(token, first.Before); err != nil {
			if j.during(phaseDelivering).Err() == nil {
				j.log.Warn("records of an earlier run cannot be deleted yet", "error", err)
			}
			return
		}
	}
	if len(first.Discard) > 0 {
		j.note(func(r *Record) { r.Discard = nil })
	}
}

// forget deletes the rounds of a run, its reports and reputations, and its models unless
// its result is among those that are not delivered yet.
func (j *Job) forget(token string, undelivered []Outcome) error {
	for _, prefix := range []string{roundFolder(token), audit.Folder(token), reputation.Folder(token)} {
		if err := j.storage.DeleteDocuments(j.during(phaseDelivering), prefix); err != nil {
			return err
		}
	}
	for _, o := range undelivered {
		if o.Token == token {
			return nil
		}
	}
	return j.storage.DeleteBlobs(j.during(phaseDelivering), checkpoint.Folder(token), nil)
}

// Asked does what another server asks: to stop a run, or to yield what an ended one has to do.
// Both are named by their tokens.
func (j *Job) Asked(stop, yield string) {
	r := j.Record()
	if stop == r.Token && !r.State.Ended() {
		j.Stop()
	}
	if yield == r.Token && r.State.Ended() {
		j.yielded.Store(true)
		j.Retire()
	}
}

// leave gives up the entry of a job that has ended here.
func (j *Job) leave() {
	group, ctx := j.service.Group, j.during(phaseSaving)
	if group == nil || ctx.Err() != nil {
		return
	}
	r := j.Record()
	err := j.storage.Insist(ctx, func() error {
		switch {
		case r.State.Ended() && r.Settled():
			return group.Drop(ctx, j.id)
		case j.yielded.Load():
			return group.Yield(ctx, j.id)
		}
		return nil // the next run goes on with it
	})
	if err != nil && ctx.Err() == nil {
		j.log.Warn("the entry of a job that has ended cannot be deleted yet", "error", err)
	}
}

// train conducts the rounds that are left. It returns nil after the last, or the reason
// why the job is interrupted.
func (j *Job) train(ctx context.Context) error {
	if j.Record().Upstream != "" {
		return j.trainEdge(ctx)
	}
	if j.Record().Trained() {
		return j.checkChanged(j.during(phaseSaving))
	}
	t, err := j.newTraining(ctx)
	if err != nil {
		return err
	}
	defer t.closeRun()
	if t.config.Records == jobconfig.FitIns {
		t.openRun() // its SuperNodes may have a model to begin with
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	t.openRun()
	if t.config.Async != nil {
		return t.trainVersions(ctx)
	}
	for {
		r := j.Record()
		if r.Trained() {
			return j.checkChanged(j.during(phaseSaving))
		}
		if !t.affords() {
			if err := t.exhaust(); err != nil {
				return err
			}
			continue // it is trained, whether there is a result or not
		}
		if err := t.traced(ctx, r.Round+1); err != nil {
			return err
		}
	}
}
