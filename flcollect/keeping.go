package flcollect

import (
	"context"
	"fmt"
)

// keeping is a model that is being stored. Who starts it waits or gives it up, and
// cancels it in the end.
type keeping struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once what follows is set
	made   *checkpoint
	err    error
}

// startKeeping begins to store the model and what the strategy carries, as they
// are now. Neither is changed before the next round.
func (t *training) startKeeping(ctx context.Context) *keeping {
	k := &keeping{done: make(chan struct{})}
	ctx, k.cancel = context.WithCancel(ctx)
	token, model, state := t.record().Token, t.model, t.strategy.State()
	go func() {
		defer close(k.done)
		k.err = t.server.insist(ctx, t.id, func() (err error) {
			k.made, err = t.server.saveCheckpoint(ctx, token, model, state)
			return err
		})
		if k.err != nil && ctx.Err() == nil {
			k.err = fmt.Errorf("store the model: %w", k.err)
		}
	}()
	return k
}

// wait returns the checkpoint once it is durable, or why there is none.
func (k *keeping) wait() (*checkpoint, error) {
	<-k.done
	if k.err != nil {
		return nil, k.err
	}
	return k.made, nil
}

// giveUp stops the storing of a model whose round has failed, and deletes what
// was stored.
func (t *training) giveUp(k *keeping) {
	k.cancel()
	if made, err := k.wait(); err == nil {
		t.server.drop(t.life, t.log, made)
	}
}
