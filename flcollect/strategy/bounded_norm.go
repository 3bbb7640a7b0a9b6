package strategy

import (
	"fmt"
	"math"
	"slices"
)

// certainly is a distance below which all elements are certainly finite.
const certainly = 0x1p120

// lengths are the distances between two models: the norm, and separately the
// Euclidean distance of the layers that are counters.
type lengths struct{ norm, counters float64 }

// lengths returns the distances of a verdict.
func (v Verdict) lengths() lengths { return lengths{v.Norm, v.Counters} }

func (l lengths) finite() bool { return l.norm+l.counters <= math.MaxFloat64 }

// atLeast returns the greater of both distances.
func (l lengths) atLeast(other lengths) lengths {
	return lengths{max(l.norm, other.norm), max(l.counters, other.counters)}
}

// exceeded describes which bounds an update exceeds; it is empty if there is
// none.
func (l lengths) exceeded(far lengths) string {
	switch {
	case far.norm > l.norm:
		return fmt.Sprintf("its norm is %.4g, the bound %.4g", far.norm, l.norm)
	case far.counters > l.counters:
		return fmt.Sprintf("its layers of whole numbers moved by %.4g, the bound is %.4g", far.counters, l.counters)
	}
	return ""
}

// findCounters reports which layers of a model are counters: the integer layers,
// unless there are no others.
func findCounters(model Model) []bool {
	counters := make([]bool, len(model))
	trained := false
	for i, t := range model {
		counters[i] = t.DType().IsInteger()
		trained = trained || !counters[i]
	}
	if !trained {
		clear(counters)
	}
	return counters
}

// lowerMedian returns the median of at least one number, the lower of two in the
// middle, so that half of the numbers cannot raise it. It sorts the numbers.
func lowerMedian(values []float64) float64 {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// shorten returns the model at the given shares of the way from base to model,
// one share a layer. Layers with a share of 1 or more stay unchanged.
func shorten(base, model Model, counters []bool, share lengths) Model {
	made := slices.Clone(model)
	var before [4096]float64
	for layer := range model {
		part := share.norm
		if counters[layer] {
			part = share.counters
		}
		if part >= 1 {
			continue
		}
		made[layer] = Map(model[layer:layer+1], func(values []float64, _, from int) {
			x := before[:len(values)]
			base[layer].ReadFloat64s(x, from)
			model[layer].ReadFloat64s(values, from)
			for i := range values {
				values[i] = x[i] + part*(values[i]-x[i])
			}
		})[0]
	}
	return made
}
