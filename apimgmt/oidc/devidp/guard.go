package devidp

import (
	"container/list"
	"sync"
	"time"
)

// Bounds of the guard.
const (
	maxWatched     = 10_000 // users and addresses
	userFailures   = 10     // wrong passwords before a user has to wait
	sourceFailures = 50     // and before an address has to
	firstLock      = 5 * time.Second
	longestLock    = 15 * time.Minute
	burst          = 10 // seconds' worth of requests that may come at once
)

// guard slows guessing down. It remembers those watched last, and is safe for
// concurrent use. Addresses are watched by each instance; the wrong passwords for a user are
// in the store as well, see attempts, and what the guard has of a user besides is what is
// under way.
type guard struct {
	rate float64 // requests per second, negative for any number

	mu    sync.Mutex
	known map[string]*list.Element
	order list.List // of *watched, the last one in front
}

// watched is a user or an address.
type watched struct {
	name     string
	failures int
	open     int       // attempts that are under way
	locked   time.Time // until then
	budget   float64   // requests that may come at once
	counted  time.Time // when the budget was
}

func newGuard(rate int) *guard {
	return &guard{rate: float64(rate), known: make(map[string]*list.Element)}
}

// find returns what is known of a name. The caller holds the lock.
func (g *guard) find(name string, now time.Time) *watched {
	if element, ok := g.known[name]; ok {
		g.order.MoveToFront(element)
		return element.Value.(*watched)
	}
	for g.order.Len() >= maxWatched {
		last := g.order.Back()
		delete(g.known, g.order.Remove(last).(*watched).name)
	}
	w := &watched{name: name, budget: burst * g.rate, counted: now}
	g.known[name] = g.order.PushFront(w)
	return w
}

// admit takes a request of an address from its budget.
func (g *guard) admit(address string, now time.Time) bool {
	if g.rate < 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.find("address "+address, now)
	w.budget = min(burst*g.rate, w.budget+now.Sub(w.counted).Seconds()*g.rate)
	w.counted = now
	if w.budget < 1 {
		return false
	}
	w.budget--
	return true
}

// adopt takes over what is stored of the failures of a user.
func (g *guard) adopt(user string, stored attempts, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.find("user "+user, now)
	w.failures = stored.Failures + w.open
	if w.open == 0 || stored.Locked.After(w.locked) {
		w.locked = stored.Locked
	}
}

// done ends an attempt. Its result has been stored.
func (g *guard) done(user string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.find("user "+user, now)
	w.open = max(0, w.open-1)
}

// wait returns how long a user, or an address, has to wait; zero or less means not at all.
func (g *guard) wait(user, address string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(g.find("user "+user, now).locked.Sub(now), g.find("address "+address, now).locked.Sub(now))
}

// begin counts an attempt as a failure, before it is known how it went, so that
// many at once are no way around the lock.
func (g *guard) begin(user, address string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, most := range map[string]int{"user " + user: userFailures, "address " + address: sourceFailures} {
		w := g.find(name, now)
		w.failures++
		w.locked = lockedUntil(w.failures, most, now, w.locked)
	}
	g.find("user "+user, now).open++
}

// lockedUntil is until when attempts have to wait after a number of failures.
func lockedUntil(failures, most int, now, before time.Time) time.Time {
	if failures < most {
		return before
	}
	return now.Add(min(firstLock<<min(failures-most, 20), longestLock))
}

// succeed drops the failures of a user, and uncounts the attempt for the
// address, whose failures for others stay.
func (g *guard) succeed(user, address string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.find("user "+user, now)
	w.failures, w.locked = 0, time.Time{}
	w = g.find("address "+address, now)
	w.failures = max(0, w.failures-1)
	if w.failures < sourceFailures {
		w.locked = time.Time{}
	}
}
