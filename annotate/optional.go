package annotate

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// sideCloseTimeout is how long an optional topic may take to disconnect.
const sideCloseTimeout = time.Second

// optional holds one of a channel's optional topics, which comes and goes
// while messages flow. Reading it costs one atomic load.
type optional[T any, P interface {
	*T
	close(context.Context)
}] struct {
	current atomic.Pointer[T]
	mu      sync.Mutex
	ended   bool
}

// Load returns the topic, or nil while it is off.
func (o *optional[T, P]) Load() *T { return o.current.Load() }

// set puts a topic in place of the one before, which is closed; nil switches it
// off. After end it reports false and closes next.
func (o *optional[T, P]) set(next *T) bool {
	o.mu.Lock()
	ended := o.ended
	old := next
	if !ended {
		old = o.current.Swap(next)
	}
	o.mu.Unlock()
	if old != nil {
		ctx, cancel := sideContext(context.Background())
		defer cancel()
		P(old).close(ctx)
	}
	return !ended
}

// end switches the topic off permanently, in less than the time that ctx has
// left.
func (o *optional[T, P]) end(ctx context.Context) {
	o.mu.Lock()
	o.ended = true
	old := o.current.Swap(nil)
	o.mu.Unlock()
	if old != nil {
		ctx, cancel := sideContext(ctx)
		defer cancel()
		P(old).close(ctx)
	}
}

// sideContext returns the context of an optional topic that disconnects. It
// leaves time for what comes after that.
func sideContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := sideCloseTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)*3/4)
	}
	return context.WithTimeout(ctx, limit)
}
