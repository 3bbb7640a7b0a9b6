// Package retry has the pauses between attempts at what failed: exponential backoff with jitter.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause returns the pause after an attempt that failed, where a number of attempts failed before it: least after
// the first, twice as long after each further one, at most the longest. A random part of up to
// half is left out, so that callers do not try in step.
func Pause(least, most time.Duration, failures int) time.Duration {
	pause := most
	if doubled := least << min(failures, 30); failures < 30 && doubled>>failures == least {
		pause = min(doubled, most)
	}
	return pause - rand.N(pause/2+1)
}

// Backoff is the pauses of one caller. Least and Most are required. It is not safe for concurrent
// use.
type Backoff struct {
	// Least and Most are the first and the longest pause; see [Pause].
	Least, Most time.Duration

	failures int
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	pause := Pause(b.Least, b.Most, b.failures)
	b.failures++
	return pause
}

// Wait waits for the next pause. If the context ends earlier, it returns the cause.
func (b *Backoff) Wait(ctx context.Context) error {
	timer := time.NewTimer(b.Next())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Reset makes the next pause the first again.
func (b *Backoff) Reset() { b.failures = 0 }
