package persist

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

// Backoff is the pause between tries. Each pause is twice as long as the one before,
// and up to a half of it is left out at random, so that jobs do not try in step. The
// zero value begins with the first pause.
type Backoff struct{ pause time.Duration }

// Wait returns after a pause, or with the cause when the context ends.
func (b *Backoff) Wait(ctx context.Context) error {
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

// Reset makes the next pause the first again.
func (b *Backoff) Reset() { b.pause = 0 }
