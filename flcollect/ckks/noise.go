package ckks

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	// finer is how much smaller each layer of noise is than the one before.
	finer = 1 << 10
	// finest is the deviation, in units of the coefficients, below which a layer of
	// noise is the last.
	finest = 1 << 24
	// tail is more deviations than noise ever has.
	tail = 16
)

// noise is the noise for one ciphertext: integers, in layers that are added up. The
// first layer is the requested noise, the same in slots that hold the same number.
// A double has 53 bits, so the lowest bits of a large number are missing; and
// encodings are rounded, so that slots that should be equal differ a little. The
// other, far smaller layers cover that: they are independent in every coefficient.
type noise struct {
	layers   [][]float64 // of one number, the constant coefficient, or of all
	count    int         // of the layers in use
	slots    []float64
	work     []complex128
	residues []uint64
}

// draw draws noise of a deviation, in units of the coefficients, for a ciphertext
// whose numbers repeat after a period.
func (n *noise) draw(r *ring, period int, deviation float64, gaussian func() float64) error {
	n.slots, n.count = grow(n.slots, period), 0
	if err := fill(n.slots, deviation, gaussian); err != nil {
		return err
	}
	size := 1
	if period > 1 {
		size = r.degree
		deviation *= math.Sqrt(2 / float64(size)) // of a coefficient
	}
	n.layer(size) // of what is in the slots
	for last := false; !last; {
		deviation /= finer
		last = deviation < finest
		fine := n.layer(size)
		if err := fill(fine, deviation, gaussian); err != nil {
			return err
		}
		round(fine)
	}
	return nil
}

// layer returns memory for a further layer.
func (n *noise) layer(size int) []float64 {
	if n.count == len(n.layers) {
		n.layers = append(n.layers, nil)
	}
	n.count++
	made := grow(n.layers[n.count-1], size)
	n.layers[n.count-1] = made
	return made
}

// addTo adds the drawn noise to the first polynomial of a ciphertext.
func (n *noise) addTo(sum []byte, r *ring) {
	first := n.layers[0]
	size := len(first)
	if size == 1 {
		first[0] = n.slots[0]
	} else {
		n.work = grow(n.work, size)
		r.interpolate(first, n.slots, n.work)
	}
	round(first)
	n.residues = grow(n.residues, size)
	for k, roots := range r.roots {
		q := roots[0].modulus
		for i := range n.residues {
			total := uint64(0)
			for _, layer := range n.layers[:n.count] {
				total += residue(layer[i], q)
				total = min(total, total-q)
			}
			n.residues[i] = total
		}
		if size > 1 {
			r.evaluate(n.residues, k)
		}
		part := sum[8*r.degree*k : 8*r.degree*(k+1)]
		for i := range r.degree {
			total := binary.LittleEndian.Uint64(part[8*i:]) + n.residues[i%size]
			binary.LittleEndian.PutUint64(part[8*i:], min(total, total-q))
		}
	}
}

// fill draws numbers of a deviation.
func fill(dst []float64, deviation float64, gaussian func() float64) error {
	for i := range dst {
		g := gaussian()
		if !(math.Abs(g) <= tail) {
			return fmt.Errorf("%v is drawn as a number of the standard normal distribution", g)
		}
		dst[i] = g * deviation
	}
	return nil
}

func round(values []float64) {
	for i, v := range values {
		values[i] = math.RoundToEven(v)
	}
}

// grow returns memory for n values, the given memory if it is large enough.
func grow[T any](values []T, count int) []T {
	if cap(values) < count {
		return make([]T, count)
	}
	return values[:count]
}
