package flcollect

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Bounds of a call of a neighbour.
const (
	tellTimeout  = 10 * time.Second
	storeTimeout = 5 * time.Minute
)

// notify tells the neighbours what they do not know yet, until the job has ended
// and they know all. What that is follows from the record, so a crash loses
// nothing; what was told just before may be told again.
func (j *job) notify() {
	var pause backoff
	for {
		err := j.tellAll(j.work)
		switch {
		case j.work.Err() != nil:
			return
		case err != nil:
			if pause.wait(j.work) != nil {
				return
			}
		default:
			pause.reset()
			if r := j.record(); r.State.Ended() && r.settled() {
				return
			}
			select {
			case <-j.news:
			case <-j.work.Done():
				return
			}
		}
	}
}

// report makes a first attempt to deliver what a training leaves, before its
// clients are sent away: the news of the last rounds, the result, then the news
// that it ended early. What fails is tried again by notify.
func (j *job) report() {
	j.attempt(2*tellTimeout, j.tellRounds)
	j.attempt(2*storeTimeout, j.storeResults)
	j.attempt(2*tellTimeout, j.tellRounds, j.tellEarly)
}

// attempt takes steps in turn unless notify is at it, for which it waits.
func (j *job) attempt(bound time.Duration, steps ...func(context.Context) error) {
	ctx, cancel := context.WithTimeout(j.training, bound) // to stop the job is to wait no longer
	defer cancel()
	select {
	case j.telling <- struct{}{}:
		defer func() { <-j.telling }()
	case <-ctx.Done():
		return
	}
	for _, step := range steps {
		if ctx.Err() != nil || step(ctx) != nil {
			return
		}
	}
}

// tellAll takes all the steps. A neighbour that fails does not keep the other
// from its news.
func (j *job) tellAll(ctx context.Context) error {
	select {
	case j.telling <- struct{}{}:
		defer func() { <-j.telling }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	told := j.tellRounds(ctx)
	stored := j.storeResults(ctx)
	if told == nil {
		told = j.tellEarly(ctx)
	}
	return errors.Join(told, stored)
}

// tellRounds tells the orchestrator of the rounds that it does not know.
func (j *job) tellRounds(ctx context.Context) error {
	orchestrator := j.server.options.Orchestrator
	if orchestrator == nil {
		return nil
	}
	for {
		r := j.record()
		if r.Told >= r.news() {
			return nil
		}
		done := RoundDone{ModelName: r.Config.ModelName, ModelVersion: r.Config.ModelVersion, Round: r.Told + 1}
		err := j.call(ctx, ofOrchestrator, tellTimeout, func(ctx context.Context) error {
			return orchestrator.RoundDone(ctx, done)
		})
		if err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
		j.note(func(r *record) {
			r.Told = done.Round
			r.complain(err, "tell the orchestrator of round %d", done.Round)
		})
	}
}

// tellEarly tells the orchestrator of an early end, once the result is where it
// belongs.
func (j *job) tellEarly(ctx context.Context) error {
	orchestrator, r := j.server.options.Orchestrator, j.record()
	if orchestrator == nil || r.Early == nil || r.EarlyTold || r.Delivery == pending {
		return nil
	}
	err := j.call(ctx, ofOrchestrator, tellTimeout, func(ctx context.Context) error {
		return orchestrator.EarlyEnd(ctx, *r.Early)
	})
	if err != nil && !errors.Is(err, ErrRefused) {
		return err
	}
	j.note(func(r *record) {
		r.EarlyTold = true
		r.complain(err, "tell the orchestrator of the early end")
	})
	return nil
}

// storeResults gives the repository the results that it does not have, in the
// order of the runs.
func (j *job) storeResults(ctx context.Context) error {
	for {
		r := j.record()
		switch {
		case j.server.options.Repository == nil:
			return nil
		case len(r.Before) > 0:
			old := r.Before[0]
			err := j.store(ctx, old)
			if err != nil && !errors.Is(err, ErrRefused) {
				return err
			}
			err = j.save(func(r *record) {
				r.Before = r.Before[1:]
				r.complain(err, "store the result of an earlier run")
			})
			if err != nil {
				return err
			}
			j.server.drop(j.life, j.log, old.Checkpoint)
		case r.Delivery == pending:
			err := j.store(ctx, r.outcome)
			if err != nil && !errors.Is(err, ErrRefused) {
				return err
			}
			return j.save(func(r *record) {
				r.Delivery = delivered
				if err != nil {
					r.Delivery = refused
				}
				r.complain(err, "store the result")
			})
		default:
			return nil
		}
	}
}

// store gives the repository a result. It is refused, too, if there is no model
// to give any more.
func (j *job) store(ctx context.Context, o outcome) error {
	return j.call(ctx, ofRepository, storeTimeout, func(ctx context.Context) error {
		result, err := j.server.result(ctx, j.id, o)
		if err != nil {
			if lost(err) {
				err = fmt.Errorf("%w: %w", ErrRefused, err)
			}
			return err
		}
		return j.server.options.Repository.Store(ctx, result)
	})
}

// call calls a neighbour, and shows in the status why that fails.
func (j *job) call(ctx context.Context, to source, bound time.Duration, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err := call(bounded)
	switch {
	case err == nil, errors.Is(err, ErrRefused):
		j.trouble(to, nil)
	case ctx.Err() == nil:
		j.trouble(to, err)
		j.log.Warn("a neighbour fails, and is tried again", "neighbour", to, "error", err)
	}
	return err
}

// complain puts down that a neighbour has refused something; err is nil if not.
func (r *record) complain(err error, format string, args ...any) {
	if err == nil {
		return
	}
	text := fmt.Sprintf(format, args...) + ": " + err.Error()
	if r.Error != "" {
		text = r.Error + "; " + text
	}
	r.Error = short(text, 4*maxReason)
}

// result returns what a run has left.
func (s *Server) result(ctx context.Context, id string, o outcome) (Result, error) {
	if o.Checkpoint == nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, ErrNoResult)
	}
	model, _, err := s.loadCheckpoint(ctx, o.Checkpoint)
	if err != nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, err)
	}
	config := o.Config.config()
	result := Result{
		ModelName: config.ModelName, ModelVersion: config.ModelVersion, TrainingID: id, ConfigurationID: config.ConfigurationID,
		Rounds: max(o.Round, 0), FinalLoss: o.Loss, Metrics: copied(o.Metrics), StrategyConf: config.StrategyConf,
		Privacy: o.Privacy, Aggregated: o.Aggregated, Updates: o.Updates, Weights: model, Encrypted: config.Homomorphic != nil,
	}
	return result, nil
}

// copied returns a map of the caller's own.
func copied(metrics map[string]float64) map[string]float64 {
	own := make(map[string]float64, len(metrics))
	for name, v := range metrics {
		own[name] = v
	}
	return own
}
