package strategy

import (
	"math"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// distance returns the Euclidean distances of two models of one form, in the same
// bits at every call, and as [Sum.addMeasured] does. They are infinite or not a
// number where an element is.
func distance(a, b Model, counters []bool) lengths {
	work := cutStrips(a)
	squares := make([]float64, len(work))
	kernel := newKernel()
	parallel(len(work), func(k int) {
		where := work[k]
		m := &gauge{kernel: kernel, base: a[where.tensor]}
		var narrow [blockLen]float32
		var wide [blockLen]float64
		t := b[where.tensor]
		for block := where.from; block < where.to; block++ {
			from := block * blockLen
			n := min(blockLen, t.Len()-from)
			if m.narrow(t) {
				m.add32(t.Float32s(from, n, narrow[:]), from)
				continue
			}
			t.ReadFloat64s(wide[:n], from)
			m.add64(wide[:n], from)
		}
		squares[k] = m.total()
	})
	return added(work, squares, counters)
}

// added returns the distances whose squares the strips of a model have.
func added(work []strip, squares []float64, counters []bool) lengths {
	var norm, counted float64
	for k, s := range work {
		if counters[s.tensor] {
			counted += squares[k]
		} else {
			norm += squares[k]
		}
	}
	return lengths{math.Sqrt(norm), math.Sqrt(counted)}
}

// gauge measures how far the elements of a strip are from those of the base.
type gauge struct {
	kernel kernel
	base   tensor.Tensor
	sums   [squareLanes]float64

	narrowed [blockLen]float32 // of the base, where they do not lie together
	widened  [blockLen]float64
}

// narrow reports whether the elements of a tensor are measured as 32-bit numbers.
func (g *gauge) narrow(t tensor.Tensor) bool {
	return t.DType() == tensor.Float32 && g.base.DType() == tensor.Float32
}

// add32 measures a block that begins at an index.
func (g *gauge) add32(x []float32, from int) {
	g.kernel.squares(&g.sums, x, g.base.Float32s(from, len(x), g.narrowed[:]))
}

// add64 is add32 for other types.
func (g *gauge) add64(x []float64, from int) {
	other := g.widened[:len(x)]
	g.base.ReadFloat64s(other, from)
	for i, v := range x {
		d := v - other[i]
		g.sums[i%squareLanes] += float64(d * d)
	}
}

func (g *gauge) total() float64 {
	s := &g.sums
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}
