package gateway

import (
	"slices"
	"sync/atomic"
	"time"
)

// recent counts the durations of the requests that were over in the last minute, in
// slots of five seconds that take turns. A count that arrives while its slot is cleared
// for a new turn may be lost.
type recent struct {
	slots [recentSlots]recentSlot
}

const (
	recentSlots   = 16 // a power of two; more than the minute needs, for requests that end while others read
	recentSeconds = 5  // of a slot
	recentRead    = 60 / recentSeconds
)

// recentSlot is a histogram of one turn.
type recentSlot struct {
	turn    atomic.Int64 // five seconds since 1970
	buckets [len(bucketBounds) + 1]atomic.Uint32
}

// observe counts a duration that was over at a second since 1970.
func (r *recent) observe(d time.Duration, at int64) {
	turn := at / recentSeconds
	slot := &r.slots[turn&(recentSlots-1)]
	if before := slot.turn.Load(); before != turn && slot.turn.CompareAndSwap(before, turn) {
		for i := range slot.buckets {
			slot.buckets[i].Store(0)
		}
	}
	i, _ := slices.BinarySearch(bucketBounds[:], d.Seconds())
	slot.buckets[i].Add(1)
}

// counts sums the slots of the minute before a second since 1970, that of the second
// included.
func (r *recent) counts(now int64) counts {
	var sum counts
	for turn := now/recentSeconds - recentRead + 1; turn <= now/recentSeconds; turn++ {
		slot := &r.slots[turn&(recentSlots-1)]
		if slot.turn.Load() != turn {
			continue
		}
		for i := range slot.buckets {
			sum[i] += uint64(slot.buckets[i].Load())
		}
	}
	return sum
}
