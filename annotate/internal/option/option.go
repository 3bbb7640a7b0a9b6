// Package option reads the options of the annotator's drivers.
package option

import "time"

// Positive returns v, or the default if v is not positive.
func Positive[N int | int64 | uint32 | time.Duration](v, byDefault N) N {
	if v > 0 {
		return v
	}
	return byDefault
}
