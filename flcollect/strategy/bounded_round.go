package strategy

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// bounding is the aggregation of a round that reports updates beyond the bound and
// adds all updates unchanged.
type bounding struct {
	Aggregation
	rules    *Bounded
	round    Round
	counters []bool  // by layer
	last     lengths // the medians of the last round
	verdicts *Verdicts
}

// measuring is an aggregation that measures an update while it adds it. One pass over the
// numbers takes less time than two.
type measuring interface {
	// addMeasured is Add. It returns the distance of the update from the model of
	// the round, as the function distance does.
	addMeasured(ctx context.Context, update Update, counters []bool) (lengths, error)
}

// Add implements [Aggregation].
func (b *bounding) Add(ctx context.Context, update Update) error {
	inner, ok := b.Aggregation.(measuring)
	if !ok {
		return b.decide(update, func(*Verdict) error { return b.Aggregation.Add(ctx, update) })
	}
	verdict := Verdict{Client: update.Client, Outcome: Kept, Norm: math.NaN(), Bound: b.rules.bounds(b.last).norm}
	far, err := inner.addMeasured(ctx, update, b.counters)
	switch {
	case err == nil:
		err = verdict.keep(far)
	case errors.Is(err, ErrQuarantined): // what is wrong with its numbers comes first
		if bad := b.measure(update, &verdict); bad != nil {
			err = bad
		}
	}
	return b.note(verdict, err)
}

// keep sets the distances of an update, which are to be finite.
func (v *Verdict) keep(far lengths) error {
	if !far.finite() {
		return fmt.Errorf("add update of %q: %w", v.Client, errEndless)
	}
	v.Norm, v.Counters = far.norm, far.counters
	return nil
}

// decide measures an update, adds it, and records its verdict.
func (b *bounding) decide(update Update, add func(verdict *Verdict) error) error {
	verdict := Verdict{Client: update.Client, Norm: math.NaN(), Bound: b.rules.bounds(b.last).norm}
	err := b.measure(update, &verdict)
	if err == nil {
		verdict.Outcome = Kept
		err = add(&verdict)
	}
	return b.note(verdict, err)
}

// note records the verdict on an update that was added with an error, or nil, which it
// returns.
func (b *bounding) note(verdict Verdict, err error) error {
	switch {
	case errors.Is(err, ErrQuarantined):
		verdict.Outcome, verdict.Reason = Refused, err.Error()
	case err != nil:
		return err
	}
	b.verdicts.Note(verdict)
	return err
}

// measure checks an update and computes its distance from the model.
func (b *bounding) measure(update Update, verdict *Verdict) error {
	if err := Check(update, b.round.Model); err != nil {
		return err
	}
	far := distance(b.round.Model, update.Model, b.counters)
	if !(far.norm <= certainly) {
		if err := finite(update); err != nil {
			return err
		}
	}
	return verdict.keep(far)
}

// Finish implements [Aggregation].
func (b *bounding) Finish(ctx context.Context) (model Model, err error) {
	b.conclude(func() error {
		model, err = b.Aggregation.Finish(ctx)
		return err
	})
	return model, err
}

// conclude completes the verdicts, and remembers the medians if the aggregation finishes.
func (b *bounding) conclude(finish func() error) {
	median, enough := b.median()
	bound := b.rules.bounds(median.atLeast(b.last))
	b.verdicts.revise(func(v *Verdict) {
		if v.Outcome != Kept {
			return
		}
		v.Bound = bound.norm
		if why := bound.exceeded(v.lengths()); why != "" {
			v.Far, v.Reason = true, why+"; it was kept as it was sent"
		}
	})
	if finish() == nil && enough {
		b.rules.remember(median)
	}
}

// median returns the medians of the updates that were not refused, and whether there
// are enough updates.
func (b *bounding) median() (lengths, bool) {
	var norms, counters []float64
	for _, v := range b.verdicts.All() {
		if v.Outcome != Refused {
			norms, counters = append(norms, v.Norm), append(counters, v.Counters)
		}
	}
	if len(norms) < b.rules.least {
		return lengths{}, false
	}
	return lengths{norm: lowerMedian(norms), counters: lowerMedian(counters)}, true
}

// remember stores the medians for the next round.
func (b *Bounded) remember(median lengths) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.median = median
}
