// Package clock compares stored times with the clock, where a difference between the clocks of
// processes does no harm: what is thought to be too old is only deleted early, or started
// again. Where it matters, a process counts for how long it has seen a document as it is; see
// Observation of package lease.
package clock

import "time"

// skew is how far the clocks of processes may differ.
const skew = time.Minute

// Passed reports whether a span has passed since a time that was stored as the present
// one. A time that is ahead by more than the span does not count: what it belongs to is as
// old as it can be.
func Passed(since time.Time, span time.Duration) bool {
	age := time.Since(since)
	return age >= span || age+skew < -span
}
