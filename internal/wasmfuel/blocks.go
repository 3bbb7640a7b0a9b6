package wasmfuel

import (
	"errors"
	"fmt"
)

// body meters the body of a function. A segment is a sequence of instructions
// without a branch between them. Its cost is charged where it begins: at the start
// of the function and of a loop, of either arm of an if, after a branch that may
// not be taken, and where branches lead.
type body struct {
	meter    *meter
	out      []byte
	segment  []byte // what has not been written yet
	cost     uint32 // of the segment
	dead     bool   // nothing leads to the segment
	segments int
	frames   []frame
	locals   int    // variables, and parameters
	height   height // of the stack
	breadth  int    // the sum over the segments of both
}

// frame is a block that has not ended.
type frame struct {
	op     byte // 0 is the function
	target bool // of a branch
	// base is the height of the stack below the block.
	base          height
	takes, leaves int
}

// errUnended is the error of a function whose blocks and bytes do not end together.
var errUnended = errors.New("its blocks do not end where it does")

// meterBody returns the body of a function with so many parameters with its charges,
// without its size.
func (m *meter) meterBody(code []byte, params int) ([]byte, error) {
	r := &reader{data: code}
	b := &body{meter: m, frames: []frame{{}}, locals: params}
	b.variables(r)
	for len(b.frames) > 0 && r.err == nil {
		b.charge(r)
		switch {
		case b.segments > maxSegments:
			r.fail(fmt.Errorf("it has more than %d branches and places where they lead", maxSegments))
		case b.breadth > maxBreadth:
			r.fail(fmt.Errorf("it has too many branches for so many variables and values: the sum of these over those is "+
				"more than %d", maxBreadth))
		}
	}
	if r.err == nil && len(r.data) > 0 {
		r.fail(errUnended)
	}
	return b.out, r.err
}

// variables copies the declarations of local variables.
func (b *body) variables(r *reader) {
	n := r.u32()
	b.out = appendU32(b.out, n)
	for ; n > 0 && r.err == nil; n-- {
		alike := r.u32()
		if b.locals += int(min(alike, maxLocals+1)); b.locals > maxLocals {
			r.fail(fmt.Errorf("it has more than %d variables", maxLocals))
		}
		b.out = append(appendU32(b.out, alike), r.byte())
	}
}

// charge reads an instruction and adds it to its segment.
func (b *body) charge(r *reader) {
	at := len(b.segment)
	i := b.meter.instruction(r, b.segment)
	if r.err != nil {
		return
	}
	if helper := b.meter.helper(i); helper != 0 {
		call := appendU32([]byte{opCall}, helper)
		i.bytes = append(i.bytes[:at], append(call, i.bytes[at:]...)...)
	}
	b.segment = i.bytes
	for _, depth := range i.depth {
		if uint64(depth) >= uint64(len(b.frames)) {
			r.fail(fmt.Errorf("a branch out of %d blocks of %d", depth, len(b.frames)))
			return
		}
		b.frames[len(b.frames)-1-int(depth)].target = true
	}
	switch i.op {
	case opEnd:
		last := b.frames[len(b.frames)-1]
		b.frames = b.frames[:len(b.frames)-1]
		b.height = last.base + height(last.leaves)
		if joins := last.op == opIf || (last.op == opBlock && last.target); joins || b.dead || len(b.frames) == 0 {
			b.flush(false)
		}
		return
	case opElse:
		last := b.frames[len(b.frames)-1]
		if last.op != opIf {
			r.fail(errors.New("an else without an if"))
			return
		}
		b.height = last.base + height(last.takes)
		b.flush(false)
		return
	}
	b.cost++
	base := b.frames[len(b.frames)-1].base
	b.height = b.height.move(b.meter, i, base)
	switch i.op {
	case opBlock, opLoop, opIf:
		below := max(b.height-height(i.takes), base)
		b.frames = append(b.frames, frame{op: i.op, base: below, takes: i.takes, leaves: i.leaves})
		if i.op != opBlock {
			b.flush(false)
		}
	case opBrIf:
		b.flush(b.dead)
	case opBr, opBrTable, opReturn, opUnreachable:
		b.flush(true)
		b.height = base
	}
}

// flush writes the segment with its charge. The next one is dead if nothing leads
// to it.
func (b *body) flush(dead bool) {
	if b.cost > 0 && !b.dead {
		b.out = b.meter.charge(b.out, b.cost)
	}
	b.out = append(b.out, b.segment...)
	b.segments++
	b.breadth += b.locals + int(b.height)
	b.segment, b.cost, b.dead = b.segment[:0], 0, dead
}

// charge takes fuel, and calls the host for more if there is not enough.
func (m *meter) charge(to []byte, cost uint32) []byte {
	to = appendU32(append(to, opGlobalGet), m.globals)
	to = appendSigned(append(to, opI64Const), int64(cost))
	to = append(to, opI64Sub)
	return m.settle(to)
}

// settle stores the top of the stack as the fuel, and calls the host for more if
// it is negative.
func (m *meter) settle(to []byte) []byte {
	to = appendU32(append(to, opGlobalSet), m.globals)
	to = appendU32(append(to, opGlobalGet), m.globals)
	to = append(to, opI64Const, 0, opI64LtS, opIf, typeEmpty)
	to = appendU32(append(to, opCall), m.refuel())
	return append(to, opEnd)
}

// refuel is the index of the host function that provides fuel: the last import.
func (m *meter) refuel() uint32 { return uint32(len(m.imports)) }

// The functions that charge by size come after the module's own. Each takes a
// size, and returns it.
const (
	helperBytes    = iota // a unit for each 16 bytes
	helperElements        // a unit for each element
	helperPages           // a unit for each 16 bytes of pages
	helpers
)

// helper returns the function that is called with the size on top of the stack
// before an instruction, 0 for none.
func (m *meter) helper(i instruction) uint32 {
	first := m.refuel() + 1 + m.defined
	switch {
	case i.op == opMemoryGrow:
		return first + helperPages
	case i.op != prefixBulk:
		return 0
	}
	switch i.sub {
	case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill:
		return first + helperBytes
	case bulkTableInit, bulkTableCopy, bulkTableGrow, bulkTableFill:
		return first + helperElements
	}
	return 0
}

// helperBody returns a function that charges by size.
func (m *meter) helperBody(kind int) []byte {
	to := []byte{0} // no local variables
	to = appendU32(append(to, opGlobalGet), m.globals)
	to = append(to, opLocalGet, 0, opExtendI32U)
	switch kind {
	case helperBytes:
		to = append(to, opI64Const, 4, opI64ShrU)
	case helperPages:
		to = append(to, opI64Const, 12, opI64Shl)
	}
	to = m.settle(append(to, opI64Sub))
	return append(to, opLocalGet, 0, opEnd)
}

// wrapperBody returns the function that stands for a foreign import: it makes the
// host check the time, because the imported function does not.
func (m *meter) wrapperBody(f uint32) []byte {
	to := m.charge([]byte{0}, foreignCost)
	to = appendU32(append(to, opCall), m.refuel())
	for p := range m.types[m.imports[f].kind].params {
		to = appendU32(append(to, opLocalGet), uint32(p))
	}
	to = appendU32(append(to, opCall), f)
	return append(to, opEnd)
}
