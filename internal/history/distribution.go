package history

import (
	"slices"
	"time"
)

// Quantiles are estimates of the value that half, and all but one in a hundred, of the
// values do not exceed.
type Quantiles struct {
	P50 float32 `json:"p50"`
	P99 float32 `json:"p99"`
}

// distribution is how many values fell into each bucket, once for each range.
type distribution struct {
	bounds []float64
	total  []uint64 // as they were recorded last
	rings  []bucketRing
}

func newDistribution(bounds []float64, counts []uint64, ranges int) *distribution {
	return &distribution{bounds: slices.Clone(bounds), total: slices.Clone(counts), rings: make([]bucketRing, ranges)}
}

// add counts what is new since the last time.
func (d *distribution) add(ranges []Range, now time.Time, counts []uint64) {
	growth := make([]uint64, len(counts))
	for i, n := range counts {
		growth[i] = n
		if n >= d.total[i] {
			growth[i] = n - d.total[i]
		}
	}
	copy(d.total, counts)
	for i, r := range ranges {
		d.rings[i].add(slot(now, r.Step), int64(r.Length/r.Step), growth)
	}
}

// plot adds the quantiles of each interval, and those of all of them together.
func (d *distribution) plot(to *Plot, name string, at int, last, slots int64) {
	half, most := make([]*float32, slots), make([]*float32, slots)
	whole := make([]uint64, len(d.total))
	for i := range slots {
		counts := d.rings[at].of(last - slots + 1 + i)
		if q, ok := d.quantiles(counts); ok {
			half[i], most[i] = &q.P50, &q.P99
		}
		for bucket, n := range counts {
			whole[bucket] += n
		}
	}
	to.Series[name+" p50"], to.Series[name+" p99"] = half, most
	if q, ok := d.quantiles(whole); ok {
		if to.Whole == nil {
			to.Whole = map[string]Quantiles{}
		}
		to.Whole[name] = q
	}
}

// quantiles returns estimates for counts, and false without values.
func (d *distribution) quantiles(counts []uint64) (Quantiles, bool) {
	var total uint64
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return Quantiles{}, false
	}
	return Quantiles{P50: float32(d.quantile(counts, total, .5)), P99: float32(d.quantile(counts, total, .99))}, true
}

// quantile returns the value below which a share of all values lies, by linear
// interpolation within its bucket. Values above all bounds count as the last bound.
func (d *distribution) quantile(counts []uint64, total uint64, share float64) float64 {
	rank, seen, low := share*float64(total), 0.0, 0.0
	for i, bound := range d.bounds {
		n := float64(counts[i])
		if n > 0 && seen+n >= rank {
			return low + (bound-low)*(rank-seen)/n
		}
		seen, low = seen+n, bound
	}
	return low
}

// bucketRing has the counts of the last intervals in which there were values.
type bucketRing struct {
	past []interval // by slot modulo its length
}

// interval is what was counted in one slot.
type interval struct {
	slot   int64
	counts []uint64 // nil in a slot without values
}

func (r *bucketRing) add(slot, slots int64, growth []uint64) {
	if !slices.ContainsFunc(growth, func(n uint64) bool { return n > 0 }) {
		return
	}
	if r.past == nil {
		r.past = make([]interval, slots+1) // with the one that has not ended
	}
	at := &r.past[slot%(slots+1)]
	if at.slot != slot || at.counts == nil {
		*at = interval{slot, make([]uint64, len(growth))}
	}
	for i, n := range growth {
		at.counts[i] += n
	}
}

// of returns the counts of a slot, nil if there were no values.
func (r *bucketRing) of(slot int64) []uint64 {
	if r.past == nil {
		return nil
	}
	if at := r.past[slot%int64(len(r.past))]; at.slot == slot {
		return at.counts
	}
	return nil
}
