package strategy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Report is the metrics of a client in a phase.
type Report struct {
	// Client names the client.
	Client string
	// Path names the collectors between the client and this one, the nearest to this
	// one first, with slashes; empty for a client of this one.
	Path string
	// Examples is the client's weight, 1 to [MaxExamples].
	Examples int64
	// Metrics are like those of an [Update]. Add the loss of an evaluation to
	// them.
	Metrics map[string]any
}

// Bounds of the notes of [MeanMetrics].
const (
	mostNotes = 100 // metrics
	mostNamed = 10  // clients of a metric
)

// MeanMetrics returns the mean of every metric, weighted by examples. It is the
// mean over the clients that sent a number for the metric; booleans count as 0
// and 1. The notes, in order of the names, list the clients without a metric
// and the reasons, for up to 100 metrics and 10 clients of each; a metric
// without any number has no mean. The order of the reports does not matter.
func MeanMetrics(reports []Report) (means map[string]float64, notes []string) {
	reports = slices.SortedFunc(slices.Values(reports),
		func(a, b Report) int {
			return cmp.Or(strings.Compare(a.Client, b.Client), strings.Compare(a.Path, b.Path))
		})
	sums := map[string]*metricSum{}
	for _, r := range reports {
		for name := range r.Metrics {
			if sums[name] == nil {
				sums[name] = &metricSum{}
			}
			sums[name].add(r, name)
		}
	}
	means = map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		if s.weight > 0 {
			means[name] = s.sum / s.weight
		}
		if s.count < len(reports) && len(notes) < mostNotes {
			notes = append(notes, fmt.Sprintf("metric %q is without %s", name, without(reports, name, len(reports)-s.count)))
		}
	}
	return means, notes
}

// metricSum is the weighted sum of a metric over the reports that have it.
type metricSum struct {
	sum, weight float64
	count       int
}

func (s *metricSum) add(r Report, name string) {
	if v, ok := counted(r, name); ok {
		s.sum, s.weight, s.count = s.sum+float64(r.Examples)*v, s.weight+float64(r.Examples), s.count+1
	}
}

// counted returns the value of a metric that is part of the mean.
func counted(r Report, name string) (float64, bool) {
	v, ok := Number(r.Metrics[name])
	return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0) && r.Examples >= 1 && r.Examples <= MaxExamples
}

// without describes the clients without a metric, n in all.
func without(reports []Report, name string, count int) string {
	var named []string
	for _, r := range reports {
		if len(named) == min(count, mostNamed) {
			break
		}
		if _, ok := counted(r, name); !ok {
			named = append(named, r.Client+" "+lacking(r, name))
		}
	}
	list := strings.Join(named, ", ")
	if more := count - len(named); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// lacking returns why a report does not count for a metric.
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

// Number returns the value of a metric as a number; a boolean is 0 or 1. It
// returns false for text, bytes and nil.
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
