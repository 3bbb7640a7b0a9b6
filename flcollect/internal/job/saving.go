package job

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/internal/tracing"
)

// saving is a checkpoint that is being stored. The goroutine that starts it waits for it
// or abandons it, and cancels it in the end.
type saving struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once the other fields are set
	stored *checkpoint.Ref
	err    error
}

// startSaving begins to store the model and the state of the strategy. Neither is changed
// before the next round.
func (t *training) startSaving(ctx context.Context) *saving {
	s := &saving{done: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(ctx)
	ctx, span := t.service.Tracer.Start(ctx, "save", tracing.Internal)
	token, model, state := t.Record().Token, t.model, t.conductor.Strategy().State()
	go func() {
		defer close(s.done)
		defer func() {
			span.Fail(s.err)
			span.End()
		}()
		s.err = t.storage.Insist(ctx, func() (err error) {
			s.stored, err = checkpoint.Save(ctx, t.storage.Blobs, token, model, state)
			return err
		})
		if s.err != nil && ctx.Err() == nil {
			s.err = fmt.Errorf("store the model: %w", s.err)
		}
	}()
	return s
}

// wait returns the checkpoint once it is durable, or the error.
func (s *saving) wait() (*checkpoint.Ref, error) {
	<-s.done
	if s.err != nil {
		return nil, s.err
	}
	return s.stored, nil
}

// abandon stops the storing of a model whose round has failed, and deletes what was
// stored.
func (t *training) abandon(s *saving) {
	s.cancel()
	if stored, err := s.wait(); err == nil {
		t.drop(stored)
	}
}

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
	models, privacy := released(private), round.PrivacyLoss(private)
	return t.save(func(r *Record) { r.Released, r.Privacy = models, privacy })
}

// recharge accounts for the models that were sent, or may have been, and were lost in a
// crash.
func (t *training) recharge() error {
	private := t.conductor.Private()
	if private == nil {
		return nil
	}
	lost := t.Record().Released - released(private)
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
	t.log.Info("the epsilon budget is spent", "round", t.Record().Round, "rounds", t.config.Rounds)
	return t.save(func(r *Record) {
		r.Spent = true
		if t.aggregated && t.service.Results != nil {
			r.Delivery = Pending
		}
	})
}
