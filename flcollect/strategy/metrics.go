package strategy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Report is what a client reports of a phase.
type Report struct {
	// Client names the client.
	Client string
	// Examples is the client's weight, 1 to [MaxExamples].
	Examples int64
	// Metrics are as those of an [Update]. An evaluation's loss is best put
	// among them.
	Metrics map[string]any
}

// MeanMetrics returns the mean of every metric, weighted by examples. It is
// taken over the clients that sent a number under the name; truth values count
// as 0 and 1. The notes, in order of the names, say which metric lacks which
// clients and why; a metric without any number has a note and no mean. The order
// of the reports does not matter.
func MeanMetrics(reports []Report) (means map[string]float64, notes []string) {
	reports = slices.SortedFunc(slices.Values(reports), func(a, b Report) int { return strings.Compare(a.Client, b.Client) })
	names := map[string]bool{}
	for _, r := range reports {
		for name := range r.Metrics {
			names[name] = true
		}
	}
	means = map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		sum, weight := 0.0, 0.0
		var without []string
		for _, r := range reports {
			v, ok := Number(r.Metrics[name])
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) || r.Examples < 1 || r.Examples > MaxExamples {
				without = append(without, fmt.Sprintf("%s %s", r.Client, lacking(r, name)))
				continue
			}
			sum, weight = sum+float64(r.Examples)*v, weight+float64(r.Examples)
		}
		if weight > 0 {
			means[name] = sum / weight
		}
		if len(without) > 0 {
			notes = append(notes, fmt.Sprintf("metric %q is without %s", name, strings.Join(without, ", ")))
		}
	}
	return means, notes
}

// lacking says why a report does not count for a metric.
func lacking(r Report, name string) string {
	v, sent := r.Metrics[name]
	if _, ok := Number(v); sent && ok && r.Examples >= 1 && r.Examples <= MaxExamples {
		return fmt.Sprintf("(it is %v)", v)
	} else if sent && ok {
		return fmt.Sprintf("(num_examples is %d)", r.Examples)
	}
	if !sent {
		return "(not sent)"
	}
	return fmt.Sprintf("(of type %T)", v)
}

// Number returns the value of a metric as a number; a truth value is 0 or 1.
// It returns false for text, bytes and nil.
func Number(metric any) (float64, bool) {
	switch v := metric.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int:
		return float64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}
