package annotate

import (
	"sort"
	"sync/atomic"
	"time"
)

const latencyBuckets = 15

// latencyBounds are the upper bounds of the latency histogram's buckets.
func latencyBounds() [latencyBuckets]time.Duration {
	const ms = time.Millisecond
	return [latencyBuckets]time.Duration{
		ms / 2, ms, 2 * ms, 5 * ms, 10 * ms, 20 * ms, 50 * ms, 100 * ms, 200 * ms, 500 * ms,
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 60 * time.Second,
	}
}

// Latency is a histogram of the time from the arrival of a message to its
// acknowledgement, which follows the broker's confirmation of its output.
type Latency struct {
	// Bounds are the upper bounds of the buckets, ascending.
	Bounds []time.Duration
	// Counts are the numbers of messages in each bucket: those that took
	// longer than the bound before and not longer than this one. There is one
	// more count than bounds, for all that took longer.
	Counts []uint64
	// Sum is the time that all of them took together.
	Sum time.Duration
}

// Cumulative returns the number of messages, the seconds that they took together, and the number
// of those that took no longer than each bound, in seconds.
func (l Latency) Cumulative() (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(l.Bounds))
	for i, n := range l.Counts {
		count += n
		if i < len(l.Bounds) {
			buckets[l.Bounds[i].Seconds()] = count
		}
	}
	return count, l.Sum.Seconds(), buckets
}

// histogram is Latency while it counts. All methods are safe for concurrent
// use.
type histogram struct {
	bounds [latencyBuckets]time.Duration
	counts [latencyBuckets + 1]atomic.Uint64
	sum    atomic.Int64
}

func (h *histogram) observe(d time.Duration) {
	at := sort.Search(len(h.bounds), func(i int) bool { return d <= h.bounds[i] })
	h.counts[at].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) snapshot() Latency {
	l := Latency{Bounds: h.bounds[:], Counts: make([]uint64, len(h.counts)), Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		l.Counts[i] = h.counts[i].Load()
	}
	return l
}
