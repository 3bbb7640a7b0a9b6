package wasm

import (
	"encoding/binary"
	"math"
)

// span is a part of a tensor, and its place in the guest's memory.
type span struct {
	layer, from, n int
	memory         []byte
	width          int // bytes of an element there
}

// span checks a part of a tensor: its number, its first element, an address, and the
// number of elements.
func (g *guest) span(s []uint64, width int) span {
	layer, from, n := g.layer(s[0]), s[1], uint64(uint32(s[3]))
	length := uint64(g.round.Model[layer].Len())
	if from > length || n > length-from {
		g.trap("%d elements from %d of tensor %d, which has %d", n, int64(from), layer, length)
	}
	g.burn(n)
	return span{layer, int(from), int(n), g.bytes(s[2], n*uint64(width)), width}
}

// fill copies the elements of a span to the guest's memory, piece by piece.
func (g *guest) fill(p span, read func(dst []float64, from int) error) {
	var values [piece]float64
	for done := 0; done < p.n; done += piece {
		part := values[:min(piece, p.n-done)]
		if err := read(part, p.from+done); err != nil {
			g.trap("%w", err)
		}
		memory := p.memory[done*p.width:]
		for i, v := range part {
			if p.width == 8 {
				binary.LittleEndian.PutUint64(memory[8*i:], math.Float64bits(v))
			} else {
				binary.LittleEndian.PutUint32(memory[4*i:], math.Float32bits(float32(v)))
			}
		}
	}
}

func (g *guest) readModel(s []uint64, width int) {
	p := g.span(s, width)
	g.fill(p, func(dst []float64, from int) error {
		g.round.Model[p.layer].ReadFloat64s(dst, from)
		return nil
	})
}

func (g *guest) readUpdate(s []uint64, width int) {
	g.arrival(s[0])
	update, p := int(uint32(s[0])), g.span(s[1:], width)
	g.fill(p, func(dst []float64, from int) error { return g.updates.read(dst, update, p.layer, from) })
}

// writeResult reads a part of the new model from the guest's memory.
func (g *guest) writeResult(s []uint64, width int) {
	p := g.span(s, width)
	if p.from != g.result.written[p.layer] {
		g.trap("element %d of tensor %d of the result comes after %d were written", p.from, p.layer,
			g.result.written[p.layer])
	}
	var values [piece]float64
	for done := 0; done < p.n; done += piece {
		part, memory := values[:min(piece, p.n-done)], p.memory[done*width:]
		for i := range part {
			if width == 8 {
				part[i] = math.Float64frombits(binary.LittleEndian.Uint64(memory[8*i:]))
			} else {
				part[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(memory[4*i:])))
			}
		}
		if err := g.result.write(part, p.layer); err != nil {
			g.trap("%w", err)
		}
	}
}
