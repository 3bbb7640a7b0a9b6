package flcollect

import (
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/round"
)

// released returns how many models a strategy has accounted for.
func released(private *dp.Adaptive) int {
	p := private.Privacy()
	return p.Rounds + p.Charged
}

// release records the privacy loss so far, and returns once that is stored. No client is
// sent a private model before: a crash would lose the record of what was sent.
func (t *training) release() error {
	private := t.conductor.Private()
	if private == nil {
		return nil
	}
	models, privacy := released(private), round.PrivacyOf(private)
	return t.save(func(r *record) { r.Released, r.Privacy = models, privacy })
}

// recharge accounts for the models that were sent, or may have been, and were lost in a
// crash.
func (t *training) recharge() error {
	private := t.conductor.Private()
	if private == nil {
		return nil
	}
	lost := t.record().Released - released(private)
	if lost <= 0 {
		return nil
	}
	t.log.Warn("private models were lost in a crash, and count all the same", "models", lost)
	if err := private.Charge(lost); err != nil {
		return fmt.Errorf("account for %d models that were lost: %w", lost, err)
	}
	return nil
}

// affords reports whether the epsilon budget of the job affords another round.
func (t *training) affords() bool {
	private := t.conductor.Private()
	return private == nil || private.Affords(1)
}

// exhaust ends the training because its budget is spent, as after its last round.
func (t *training) exhaust() error {
	t.log.Info("the epsilon budget is spent", "round", t.record().Round, "rounds", t.config.Rounds)
	return t.save(func(r *record) {
		r.Spent = true
		if t.aggregated && t.server.config.Repository != nil {
			r.Delivery = pending
		}
	})
}
