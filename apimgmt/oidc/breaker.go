package oidc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// patience is the number of consecutive failures before an issuer gets fewer requests.
const patience = 5

// breaker leaves an issuer alone that does not answer. After some failures in a
// row it is open: calls fail at once. When the time is over, one call may try.
type breaker struct {
	longest time.Duration // that it is open

	mu       sync.Mutex
	failures int
	until    time.Time // open before that
	trying   bool      // one call tries
}

// enter reports whether the issuer may be called. A caller that may must report the outcome.
func (b *breaker) enter(now time.Time) (report func(context.Context, error, time.Time), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := b.failures >= patience
	if open && (b.trying || now.Before(b.until)) {
		return nil, fmt.Errorf("%w: it failed %d times in a row and is left alone", ErrUnreachable, b.failures)
	}
	b.trying = open
	return func(ctx context.Context, err error, now time.Time) { b.left(ctx, err, now, open) }, nil
}

func (b *breaker) left(ctx context.Context, err error, now time.Time, tried bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tried {
		b.trying = false
	}
	switch {
	case err == nil || (!errors.Is(err, ErrUnreachable) && ctx.Err() == nil):
		b.failures = 0
	case ctx.Err() != nil:
		// The caller gave up; the issuer may be well.
	default:
		b.failures++
		b.until = now.Add(min(firstRetry<<min(max(0, b.failures-patience), 16), b.longest))
	}
}
