package rig

import (
	"fmt"
	"slices"
)

// Quantile returns the value below which that share of the values lies, zero if
// there are none.
func Quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(share*float64(len(sorted)-1))]
}

// Median returns the middle of the values, the lower one of two, zero if there
// are none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Spread is the median with the lowest and the highest value, empty if there are none.
func Spread(values []float64) string { return SpreadDigits(values, 0) }

// SpreadDigits is Spread with digits after the point.
func SpreadDigits(values []float64, digits int) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, Median(values), digits, slices.Min(values), digits, slices.Max(values))
}

// Verdict says in a report whether a target is met.
func Verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// Loads is the line of a report about the load averages before the trials.
func Loads(loads []float64) string {
	if len(loads) == 0 {
		return "not noted"
	}
	return fmt.Sprintf("%.1f to %.1f, median %.1f", slices.Min(loads), slices.Max(loads), Median(loads))
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}
