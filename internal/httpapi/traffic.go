package httpapi

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Other is the method of requests with one that HTTP does not define, and the route of those
// that no route is for. What clients choose is never a label.
const Other = "other"

// Traffic counts the requests of handlers by method, route and status. The zero value is
// ready for use, also concurrently.
type Traffic struct {
	mu     sync.RWMutex
	counts map[trafficKey]*trafficCounts
	open   map[trafficKey]*atomic.Int64 // by method and route
}

// trafficKey says which requests are counted together.
type trafficKey struct {
	method, route string
	status        int
}

// trafficCounts are the requests of one key.
type trafficCounts struct {
	buckets [len(trafficBounds) + 1]atomic.Uint64
	time    atomic.Int64 // in nanoseconds
}

// trafficBounds are the upper bounds of the buckets of durations, in seconds.
var trafficBounds = [...]float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

// Requests are those with one method, route and status.
type Requests struct {
	// Method is that of the requests, or [Other].
	Method string
	// Route is the path of the pattern that took them, without the method, or [Other].
	Route string
	// Status is that of the answers, 0 for requests broken off without one.
	Status int
	// Count is how many there were.
	Count uint64
	// Seconds is the sum of their durations.
	Seconds float64
	// Buckets has how many took at most as many seconds as the key says.
	Buckets map[float64]uint64
}

// OpenRequests are those that are not answered.
type OpenRequests struct {
	// Method and Route are as in Requests.
	Method, Route string
	// Count is how many there are.
	Count int64
}

// Requests returns the requests that are over, in no order.
func (t *Traffic) Requests() []Requests {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]Requests, 0, len(t.counts))
	for key, counts := range t.counts {
		one := Requests{Method: key.method, Route: key.route, Status: key.status,
			Seconds: time.Duration(counts.time.Load()).Seconds(), Buckets: make(map[float64]uint64, len(trafficBounds))}
		for i := range counts.buckets {
			one.Count += counts.buckets[i].Load()
			if i < len(trafficBounds) {
				one.Buckets[trafficBounds[i]] = one.Count
			}
		}
		all = append(all, one)
	}
	return all
}

// Open returns the requests of every route that are not answered, in no order.
func (t *Traffic) Open() []OpenRequests {
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := make([]OpenRequests, 0, len(t.open))
	for key, count := range t.open {
		all = append(all, OpenRequests{Method: key.method, Route: key.route, Count: count.Load()})
	}
	return all
}

// begin counts a request as not answered, until the returned number is decreased.
func (t *Traffic) begin(method, route string) *atomic.Int64 {
	key := trafficKey{method: method, route: route}
	t.mu.RLock()
	count := t.open[key]
	t.mu.RUnlock()
	if count == nil {
		t.mu.Lock()
		if count = t.open[key]; count == nil {
			if t.open == nil {
				t.open = map[trafficKey]*atomic.Int64{}
			}
			count = new(atomic.Int64)
			t.open[key] = count
		}
		t.mu.Unlock()
	}
	count.Add(1)
	return count
}

// end counts a request that is over.
func (t *Traffic) end(key trafficKey, took time.Duration) {
	t.mu.RLock()
	counts := t.counts[key]
	t.mu.RUnlock()
	if counts == nil {
		t.mu.Lock()
		if counts = t.counts[key]; counts == nil {
			if t.counts == nil {
				t.counts = map[trafficKey]*trafficCounts{}
			}
			counts = new(trafficCounts)
			t.counts[key] = counts
		}
		t.mu.Unlock()
	}
	counts.time.Add(int64(took))
	bucket := 0
	for bucket < len(trafficBounds) && took.Seconds() > trafficBounds[bucket] {
		bucket++
	}
	counts.buckets[bucket].Add(1)
}

// knownMethod returns the method, or [Other] if HTTP does not define it.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	}
	return Other
}
