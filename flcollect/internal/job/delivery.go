package job

import (
	"context"
	"errors"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Bounds of a call of the orchestrator and of the repository.
const (
	reportTimeout = 10 * time.Second
	storeTimeout  = 5 * time.Minute
)

// delivery delivers the progress of a job to the orchestrator, and its results to the
// repository. What is due follows from the record, so a crash loses nothing; what was
// delivered just before it may be delivered again.
type delivery struct {
	*Job
	busy chan struct{} // holds a token while one goroutine delivers
}

func newDelivery(j *Job) *delivery { return &delivery{Job: j, busy: make(chan struct{}, 1)} }

// run delivers what is due, until the job has ended and everything is delivered.
func (d *delivery) run() {
	pause := persist.Pauses()
	ctx := d.during(phaseDelivering)
	for {
		changed := d.Watch()
		err := d.deliver(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if pause.Wait(ctx) != nil {
				return
			}
		default:
			pause.Reset()
			if r := d.Record(); r.State.Ended() && r.Settled() {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// try is a first attempt to deliver what a training leaves, before its clients are
// sent away: the reports of the last rounds, the result, then the report that it ended
// early. What fails is repeated by run.
func (d *delivery) try() {
	d.attempt(2*reportTimeout, d.reportRounds)
	d.attempt(2*storeTimeout, d.storeResults)
	d.attempt(2*reportTimeout, d.reportRounds, d.reportEarlyEnd)
}

// attempt takes steps in turn. It waits while run delivers.
func (d *delivery) attempt(bound time.Duration, steps ...func(context.Context) error) {
	ctx, cancel := context.WithTimeout(d.during(phaseTraining), bound) // to stop the job ends the wait
	defer cancel()
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return
	}
	for _, step := range steps {
		if ctx.Err() != nil || step(ctx) != nil {
			return
		}
	}
}

// deliver takes all the steps. A repository that fails does not hold up the reports, and
// the other way round.
func (d *delivery) deliver(ctx context.Context) error {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	reported := d.reportRounds(ctx)
	stored := d.storeResults(ctx)
	if reported == nil {
		reported = d.reportEarlyEnd(ctx)
	}
	return errors.Join(reported, stored)
}

// reportRounds reports rounds to the orchestrator that were not reported yet.
func (d *delivery) reportRounds(ctx context.Context) error {
	orchestrator := d.service.Orchestrator
	if orchestrator == nil {
		return nil
	}
	for {
		r := d.Record()
		if r.Reported >= r.reportable() {
			return nil
		}
		done := report.RoundDone{ModelName: r.Config.ModelName, ModelVersion: r.Config.ModelVersion, Round: r.Reported + 1}
		err := d.call(ctx, ofOrchestrator, reportTimeout, func(ctx context.Context) error {
			return orchestrator.RoundDone(ctx, done)
		})
		if err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
		d.note(func(r *Record) {
			r.Reported = done.Round
			r.complain(err, "tell the orchestrator of round %d", done.Round)
		})
	}
}

// reportEarlyEnd reports an early end to the orchestrator, once the result is stored.
func (d *delivery) reportEarlyEnd(ctx context.Context) error {
	orchestrator, r := d.service.Orchestrator, d.Record()
	if orchestrator == nil || r.Early == nil || r.EarlyReported || r.Delivery == Pending {
		return nil
	}
	err := d.call(ctx, ofOrchestrator, reportTimeout, func(ctx context.Context) error {
		return orchestrator.EarlyEnd(ctx, *r.Early)
	})
	if err != nil && !errors.Is(err, ErrRefused) {
		return err
	}
	d.note(func(r *Record) {
		r.EarlyReported = true
		r.complain(err, "tell the orchestrator of the early end")
	})
	return nil
}

// storeResults stores the results in the repository that are not there yet, in the order
// of the runs.
func (d *delivery) storeResults(ctx context.Context) error {
	for {
		r := d.Record()
		switch {
		case d.service.Results == nil:
			return nil
		case len(r.Before) > 0:
			old := r.Before[0]
			err := d.store(ctx, old, old.OfRun)
			if err != nil && !errors.Is(err, ErrRefused) {
				return err
			}
			if err := d.noteRun(ctx, old.OfRun, settlement(err), err); err != nil {
				return err
			}
			err = d.save(func(r *Record) {
				r.Before = r.Before[1:]
				r.complain(err, "store the result of an earlier run")
			})
			if err != nil {
				return err
			}
			d.drop(old.Checkpoint)
		case r.Delivery == Pending:
			err := d.store(ctx, r.Outcome, r.Run)
			if err != nil && !errors.Is(err, ErrRefused) {
				return err
			}
			return d.save(func(r *Record) {
				r.Delivery = settlement(err)
				r.complain(err, "store the result")
			})
		default:
			return nil
		}
	}
}

// settlement returns the state of a result that the repository has taken, or refused for
// an error.
func settlement(err error) Delivery {
	if err != nil {
		return Refused
	}
	return Delivered
}

// store stores the result of a run in the repository. It counts as refused, too, if its
// model is lost.
func (d *delivery) store(ctx context.Context, o Outcome, run int64) error {
	return d.call(ctx, ofRepository, storeTimeout, func(ctx context.Context) error {
		return d.service.Results(ctx, d.id, o, run)
	})
}

// call calls the orchestrator or the repository, and shows a failure in the status.
func (d *delivery) call(ctx context.Context, to source, bound time.Duration, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err := call(bounded)
	switch {
	case err == nil, errors.Is(err, ErrRefused):
		d.trouble(to, nil)
	case ctx.Err() == nil:
		d.trouble(to, err)
		d.log.Warn("a delivery fails, and is tried again", "to", to, "error", err)
	}
	return err
}
