package history

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Step is the shortest interval: recording more often gains nothing.
const Step = 2 * time.Second

// Range is a time up to now that a plot shows.
type Range struct {
	// Name is what people choose: 10m, 1h, 1d or 7d.
	Name string
	// Length is the time that is shown, Step the interval between two points.
	Length, Step time.Duration
}

// Ranges returns the ranges, the shortest first.
func Ranges() []Range {
	return []Range{
		{"10m", 10 * time.Minute, Step},
		{"1h", time.Hour, 15 * time.Second},
		{"1d", 24 * time.Hour, 2 * time.Minute},
		{"7d", 7 * 24 * time.Hour, 15 * time.Minute},
	}
}

// Options changes a [Store]. The zero value is ready for use.
type Options struct {
	// MaxSeries is how many series are kept; of more, those that were not recorded for the
	// longest time are removed. Zero means 500, which are some 4 MB of levels and totals. A
	// distribution takes up to 16 KB for each of its buckets.
	MaxSeries int
	// Clock returns the time. Nil means time.Now.
	Clock func() time.Time
}

// Store has the series of one system. It is created with [New] and safe for concurrent use.
type Store struct {
	most   int
	clock  func() time.Time
	ranges []Range

	mu     sync.Mutex
	series map[string]*series
}

// New returns an empty store. The options may be nil.
func New(opts *Options) *Store {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{most: opts.MaxSeries, clock: opts.Clock, ranges: Ranges(), series: map[string]*series{}}
	if s.most <= 0 {
		s.most = 500
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s
}

// Level records what a quantity is now.
func (s *Store) Level(name string, value float64) {
	s.record(name, func(one *series, now time.Time) {
		one.each(s.ranges, now, func(r *ring) { r.sum, r.n = r.sum+value, r.n+1 })
	})
}

// Total records a quantity that grows. A lower value than the last one is taken for a new
// beginning at zero, the first value for no growth.
func (s *Store) Total(name string, value float64) {
	s.record(name, func(one *series, now time.Time) {
		growth := value - one.total
		switch {
		case !one.hasTotal:
			growth = 0
		case growth < 0:
			growth = value
		}
		one.total, one.hasTotal, one.isRate = value, true, true
		one.each(s.ranges, now, func(r *ring) { r.sum, r.n = r.sum+growth, r.n+1 })
	})
}

// Forget removes the series whose names begin with the prefix.
func (s *Store) Forget(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.series {
		if strings.HasPrefix(name, prefix) {
			delete(s.series, name)
		}
	}
}

// record calls f with the series of that name, and makes room for a new one.
func (s *Store) record(name string, f func(one *series, now time.Time)) {
	now := s.clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.series[name]
	if one == nil {
		if len(s.series) >= s.most {
			s.forgetOldest()
		}
		one = &series{rings: make([]ring, len(s.ranges))}
		s.series[name] = one
	}
	one.recorded = now
	f(one, now)
}

func (s *Store) forgetOldest() {
	var oldest string
	var at time.Time
	for name, one := range s.series {
		if oldest == "" || one.recorded.Before(at) || (one.recorded.Equal(at) && name < oldest) {
			oldest, at = name, one.recorded
		}
	}
	delete(s.series, oldest)
}

// Plot is what a page draws.
type Plot struct {
	// Range is the name of the range, Step the seconds between two points.
	Range string  `json:"range"`
	Step  float64 `json:"step"`
	// Times are the ends of the intervals, in seconds since 1970.
	Times []int64 `json:"times"`
	// Series has a value for each time, null where nothing was recorded. A distribution has
	// its quantiles, under its name with " p50" and " p99" at the end.
	Series map[string][]*float32 `json:"series"`
	// Whole has the quantiles of each distribution over the whole range.
	Whole map[string]Quantiles `json:"whole,omitempty"`
}

// Distribution records how many values there have been in each bucket: counts has one number
// more than the buckets have upper bounds, for values above all of them. The bounds of a
// name are always the same, and its counts only grow; counts that are lower are taken for a
// new beginning at zero.
func (s *Store) Distribution(name string, bounds []float64, counts []uint64) {
	s.record(name, func(one *series, now time.Time) {
		if one.distribution == nil || len(one.distribution.total) != len(counts) {
			one.distribution = newDistribution(bounds, counts, len(s.ranges))
		}
		one.distribution.add(s.ranges, now, counts)
	})
}

// Query returns the series whose names begin with the prefix, over the range of that name;
// an unknown name means the first range. An interval that has not ended is left out.
func (s *Store) Query(prefix, name string) Plot {
	at := max(0, slices.IndexFunc(s.ranges, func(r Range) bool { return r.Name == name }))
	r := s.ranges[at]
	last := slot(s.clock(), r.Step) - 1
	slots := int64(r.Length / r.Step)
	plot := Plot{Range: r.Name, Step: r.Step.Seconds(), Times: make([]int64, slots), Series: map[string][]*float32{}}
	for i := range plot.Times {
		plot.Times[i] = (last - slots + 2 + int64(i)) * int64(r.Step/time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, one := range s.series {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if one.distribution != nil {
			one.distribution.plot(&plot, name, at, last, slots)
			continue
		}
		scale := 1.0
		if one.isRate {
			scale = 1 / r.Step.Seconds()
		}
		plot.Series[name] = one.rings[at].values(last, slots, one.isRate, scale)
	}
	return plot
}

// slot returns the number of the interval in which a time is.
func slot(at time.Time, step time.Duration) int64 { return at.UnixNano() / int64(step) }

// series is one quantity, once for each range.
type series struct {
	recorded time.Time
	rings    []ring
	total    float64
	hasTotal bool
	isRate   bool

	distribution *distribution // in place of the rings
}

// each calls f with every ring, turned to the interval of now.
func (s *series) each(ranges []Range, now time.Time, f func(*ring)) {
	for i, r := range ranges {
		ring := &s.rings[i]
		ring.turn(slot(now, r.Step), int(r.Length/r.Step), s.isRate)
		f(ring)
	}
}

// ring has the last intervals that have ended, and the sum of the one that has not.
type ring struct {
	slot int64 // of sum
	sum  float64
	n    int
	past []float32 // by slot modulo its length, NaN where nothing was recorded
}

// turn ends the interval of the sum if now is in a later one. If the clock was set back, now
// counts into the interval of the sum.
func (r *ring) turn(now int64, slots int, isRate bool) {
	if r.past == nil {
		r.past, r.slot = make([]float32, slots), now
		for i := range r.past {
			r.past[i] = float32(math.NaN())
		}
	}
	if now <= r.slot {
		return
	}
	r.past[r.slot%int64(slots)] = r.ended(isRate)
	for skipped := max(r.slot+1, now-int64(slots)); skipped < now; skipped++ {
		r.past[skipped%int64(slots)] = float32(math.NaN())
	}
	r.slot, r.sum, r.n = now, 0, 0
}

// ended returns the value of the interval of the sum: the growth of a total, the mean of a
// level.
func (r *ring) ended(isRate bool) float32 {
	switch {
	case r.n == 0:
		return float32(math.NaN())
	case isRate:
		return float32(r.sum)
	}
	return float32(r.sum / float64(r.n))
}

// values returns those of the intervals up to last.
func (r *ring) values(last, slots int64, isRate bool, scale float64) []*float32 {
	values := make([]*float32, slots)
	for i := range values {
		slot := last - slots + 1 + int64(i)
		value := float32(math.NaN())
		switch {
		case slot == r.slot:
			value = r.ended(isRate)
		case slot < r.slot && slot > r.slot-1-slots:
			value = r.past[slot%slots]
		}
		if !math.IsNaN(float64(value)) {
			value *= float32(scale)
			values[i] = &value
		}
	}
	return values
}
