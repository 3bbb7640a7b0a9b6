package flcollect

import "slices"

// Durations counts rounds by how long they took. The zero value has none. It is
// not safe for concurrent use.
type Durations struct {
	// Counts has a number for each of the bounds: of the rounds that took longer
	// than the bound before, and no longer than this one. The last number is of
	// those beyond all bounds.
	Counts [11]int64
}

// Bounds returns the bounds of Counts in seconds. They are always the same.
func (Durations) Bounds() [10]float64 {
	return [10]float64{0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}
}

// Add counts a round that took so many seconds.
func (d *Durations) Add(seconds float64) {
	bounds := d.Bounds()
	cell, _ := slices.BinarySearch(bounds[:], seconds)
	d.Counts[cell]++
}
