package strategy

import (
	"fmt"
	"math"
	"slices"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// certainly is a distance below which all elements are certainly finite.
const certainly = 0x1p120

// lengths are the distances between two models: the norm, and separately the
// Euclidean distance of the layers that are counters.
type lengths struct{ norm, counters float64 }

// lengths returns the distances of a verdict.
func (v Verdict) lengths() lengths { return lengths{v.Norm, v.Counters} }

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

// countersOf reports which layers of a model are counters: the integer layers,
// unless there are no others.
func countersOf(model Model) []bool {
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

// distance returns the Euclidean distances of two models of one form, in the same
// bits at every call. They are infinite or not a number where an element is.
func distance(a, b Model, counters []bool) lengths {
	var norm, counted float64
	for layer := range a {
		switch {
		case counters[layer]:
			counted += squaredDistance(a[layer:layer+1], b[layer:layer+1])
		case a[layer].DType() == tensor.Float32:
			norm += squares32(a[layer], b[layer])
		default:
			norm += squaredDistance(a[layer:layer+1], b[layer:layer+1])
		}
	}
	return lengths{math.Sqrt(norm), math.Sqrt(counted)}
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

// squares32 is the squared distance of two tensors of 32-bit numbers. Four
// independent sums let the processor work in parallel.
func squares32(a, b tensor.Tensor) float64 {
	var left, right [4096]float32
	var sums [4]float64
	for from := 0; from < a.Len(); from += len(left) {
		n := min(len(left), a.Len()-from)
		x, y := a.Float32s(from, n, left[:]), b.Float32s(from, n, right[:])
		y = y[:len(x)]
		i := 0
		for ; i+4 <= len(x); i += 4 {
			p, q := x[i:i+4:i+4], y[i:i+4:i+4]
			d0, d1 := float64(p[0])-float64(q[0]), float64(p[1])-float64(q[1])
			d2, d3 := float64(p[2])-float64(q[2]), float64(p[3])-float64(q[3])
			sums[0] += d0 * d0
			sums[1] += d1 * d1
			sums[2] += d2 * d2
			sums[3] += d3 * d3
		}
		for ; i < len(x); i++ {
			d := float64(x[i]) - float64(y[i])
			sums[0] += d * d
		}
	}
	return (sums[0] + sums[1]) + (sums[2] + sums[3])
}
