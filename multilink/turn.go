package multilink

import "sync"

// turns keeps the order in which several goroutines deliver. Each draws a number
// while it holds a lock of the caller, and delivers without the lock when the numbers
// before have had their turn. The zero value is ready.
type turns struct {
	drawn uint64 // guarded by the caller's lock

	mu   sync.Mutex
	past sync.Cond // now has moved on
	now  uint64
}

// draw returns the number after the one that was drawn last. The caller's lock
// is held.
func (t *turns) draw() uint64 {
	t.drawn++
	return t.drawn - 1
}

// take runs f when all numbers that were drawn before have had their turn.
func (t *turns) take(number uint64, f func()) {
	t.mu.Lock()
	if t.past.L == nil {
		t.past.L = &t.mu
	}
	for t.now != number {
		t.past.Wait()
	}
	t.mu.Unlock()
	f()
	t.mu.Lock()
	t.now++
	t.mu.Unlock()
	t.past.Broadcast()
}
