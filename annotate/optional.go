package annotate

import (
	"sync"
	"sync/atomic"
)

// optional holds one of a channel's optional topics, which comes and goes
// while messages flow. Reading it costs one atomic load.
type optional[T any, P interface {
	*T
	close()
}] struct {
	current atomic.Pointer[T]
	mu      sync.Mutex
	ended   bool
}

// Load returns the topic, or nil while it is off.
func (o *optional[T, P]) Load() *T { return o.current.Load() }

// set puts a topic in the place of the one before, which is closed; nil
// switches it off. After end it reports false and closes next.
func (o *optional[T, P]) set(next *T) bool {
	o.mu.Lock()
	ended := o.ended
	old := next
	if !ended {
		old = o.current.Swap(next)
	}
	o.mu.Unlock()
	if old != nil {
		P(old).close()
	}
	return !ended
}

// end switches the topic off for good.
func (o *optional[T, P]) end() {
	o.mu.Lock()
	o.ended = true
	old := o.current.Swap(nil)
	o.mu.Unlock()
	if old != nil {
		P(old).close()
	}
}
