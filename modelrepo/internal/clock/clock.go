// Package clock compares stored times with the clock. A time that another process stored
// may be a little ahead, because clocks differ. One that is further ahead than was ever
// stored is from before the clock was set back, and must not block anything until the
// clock is there again.
package clock

import "time"

// skew is how far the clocks of processes may differ.
const skew = time.Minute

// Ahead reports whether a stored deadline is ahead, by no more than the longest time that
// deadlines are stored for.
func Ahead(deadline time.Time, longest time.Duration) bool {
	left := time.Until(deadline)
	return left > 0 && left-skew <= longest
}

// Passed reports whether a span has passed since a time that was stored as the present
// one. A time that is ahead by more than the span does not count: what it belongs to is as
// old as it can be.
func Passed(since time.Time, span time.Duration) bool {
	age := time.Since(since)
	return age >= span || age+skew < -span
}
