package flcollect

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/internal/tracing"
)

// saving is a checkpoint that is being stored. The goroutine that starts it waits for it
// or abandons it, and cancels it in the end.
type saving struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once the other fields are set
	made   *checkpoint.Ref
	err    error
}

// startSaving begins to store the model and the state of the strategy. Neither is changed
// before the next round.
func (t *training) startSaving(ctx context.Context) *saving {
	s := &saving{done: make(chan struct{})}
	ctx, s.cancel = context.WithCancel(ctx)
	ctx, span := t.server.tracer.Start(ctx, "save", tracing.Internal)
	token, model, state := t.record().Token, t.model, t.conductor.Strategy().State()
	go func() {
		defer close(s.done)
		defer func() {
			span.Fail(s.err)
			span.End()
		}()
		s.err = t.storage.Insist(ctx, func() (err error) {
			s.made, err = checkpoint.Save(ctx, t.storage.Blobs, token, model, state)
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
	return s.made, nil
}

// abandon stops the storing of a model whose round has failed, and deletes what was
// stored.
func (t *training) abandon(s *saving) {
	s.cancel()
	if made, err := s.wait(); err == nil {
		t.drop(made)
	}
}
