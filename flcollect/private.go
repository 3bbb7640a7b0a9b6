package flcollect

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Privacy is what a training with differential privacy has given away about any
// one client: the guarantee of package dp for all models of this run so far. Runs of
// one job on the same data add up, which is for who starts them to see.
type Privacy struct {
	// Epsilon and Delta are the guarantee.
	Epsilon Epsilon `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// Epsilon is a number from 0 on. As JSON it is a number, and the text "infinity"
// where there is no guarantee, which JSON has no number for.
type Epsilon float64

// infinity is an infinite [Epsilon] as JSON.
const infinity = `"infinity"`

// MarshalJSON implements [json.Marshaler].
func (e Epsilon) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(e), 1) {
		return []byte(infinity), nil
	}
	return json.Marshal(float64(e))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Epsilon) UnmarshalJSON(data []byte) error {
	if string(data) == infinity {
		*e = Epsilon(math.Inf(1))
		return nil
	}
	return json.Unmarshal(data, (*float64)(e))
}

// privacyOf returns the account of a strategy, nil if it keeps none.
func privacyOf(s strategy.Strategy) *Privacy {
	private, ok := s.(*dp.Adaptive)
	if !ok {
		return nil
	}
	p := private.Privacy()
	return &Privacy{Epsilon: Epsilon(p.Epsilon), Delta: p.Delta}
}

// releases is how many models were accounted for.
func releases(private *dp.Adaptive) int {
	p := private.Privacy()
	return p.Rounds + p.Charged
}

// release has the record count what was given away so far. It returns once that
// is stored, before which nobody is shown a private model: a crash would forget
// what they have seen.
func (t *training) release() error {
	if t.private == nil {
		return nil
	}
	released, privacy := releases(t.private), privacyOf(t.private)
	return t.save(func(r *record) { r.Released, r.Privacy = released, privacy })
}

// recharge accounts for the models that were shown, or may have been, and were
// lost in a crash.
func (t *training) recharge() error {
	if t.private == nil {
		return nil
	}
	lost := t.record().Released - releases(t.private)
	if lost <= 0 {
		return nil
	}
	t.log.Warn("private models were lost in a crash, and count all the same", "models", lost)
	if err := t.private.Charge(lost); err != nil {
		return fmt.Errorf("account for %d models that were lost: %w", lost, err)
	}
	return nil
}

// normBit is the metric in which clients say whether they were within the clip
// norm.
const normBit = "dpfedavg_norm_bit"

// blur replaces the exact share of clients within the clip norm, which epsilon
// does not cover, by the one that steers the norm, if the round gave one.
func (t *training) blur(means map[string]float64, aggregated bool) {
	if t.private == nil {
		return
	}
	delete(means, normBit)
	if aggregated {
		means[normBit] = t.private.Privacy().Fraction
	}
}

// affords reports whether the budget of the job affords another round.
func (t *training) affords() bool { return t.private == nil || t.private.Affords(1) }

// exhaust ends the training for want of budget, as after its last round.
func (t *training) exhaust() error {
	t.log.Info("the epsilon budget is spent", "round", t.record().Round, "rounds", t.config.Rounds)
	return t.save(func(r *record) {
		r.Spent = true
		if t.fruits && t.server.options.Repository != nil {
			r.Delivery = pending
		}
	})
}
