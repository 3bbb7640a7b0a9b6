package flcollect

import (
	"context"
	"math/rand/v2"
	"time"
)

// The first and the longest pause between two tries.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = time.Minute
)

// backoff is the pauses between tries: each is twice as long as the one before,
// and up to a half is left out at random, so that jobs do not try in step.
type backoff struct{ pause time.Duration }

// wait returns after a pause, or with the cause when the context ends.
func (b *backoff) wait(ctx context.Context) error {
	b.pause = min(max(2*b.pause, firstPause), mostPause)
	timer := time.NewTimer(b.pause/2 + rand.N(b.pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reset makes the next pause the first again.
func (b *backoff) reset() { b.pause = 0 }
