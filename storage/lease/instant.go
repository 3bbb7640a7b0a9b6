package lease

import "time"

// Instant is a moment of this process on both of its clocks. The monotonic clock stands still
// while the machine is suspended, and the wall clock can be set back: neither is enough to know
// whether others have waited for long. The zero value is no moment. Get one from [Now].
type Instant struct{ monotonic, wall time.Time }

// Now returns the present moment.
func Now() Instant {
	now := time.Now()
	return Instant{now, now.Round(0)}
}

// Elapsed returns the time since the moment by the clock that has advanced further. A wall
// clock that is set forward makes it too long: the holder of a lease then stops too early.
func (i Instant) Elapsed() time.Duration {
	now := time.Now()
	return max(now.Sub(i.monotonic), now.Round(0).Sub(i.wall))
}
