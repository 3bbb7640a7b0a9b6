package wasmfuel

import "fmt"

// instruction is one instruction, and its bytes in the metered module.
type instruction struct {
	op    byte     // or a prefix
	sub   uint32   // after a prefix
	depth []uint32 // of the blocks that a branch may leave
	// callee is the number of the function that is called, or of the type of one
	// that is found in a table, as the module came; takes and leaves are the values
	// of a block.
	callee        uint32
	takes, leaves int
	bytes         []byte
}

// instruction reads an instruction and appends it to dst with its numbers in their
// shortest form. The instruction stays the same.
func (m *meter) instruction(r *reader, to []byte) instruction {
	i := instruction{op: r.byte()}
	kind := immediateKind(i.op)
	to = append(to, i.op)
	if i.op == prefixBulk || i.op == prefixVector {
		i.sub = r.u32()
		to = appendU32(to, i.sub)
		kind = immediateOfBulk(i.sub)
		if i.op == prefixVector {
			kind = immediateOfVector(i.sub)
		}
	}
	u32 := func() { to = appendU32(to, r.u32()) }
	raw := func(n uint64) { to = append(to, r.take(n)...) }
	memory := func() {
		if r.byte() != 0 {
			r.fail(fmt.Errorf("instruction %#x is of a memory that there is not", i.op))
		}
		to = append(to, 0)
	}
	switch kind {
	case nothing:
	case unknown:
		if r.err == nil {
			r.fail(fmt.Errorf("instruction %#x %d is unknown, or of a later version of WebAssembly", i.op, i.sub))
		}
	case blockType:
		to, i.takes, i.leaves = m.blockType(r, to)
	case label:
		i.depth = append(i.depth, r.u32())
		to = appendU32(to, i.depth[0])
	case labels:
		n := r.u32()
		to = appendU32(to, n)
		for k := uint64(0); k <= uint64(n) && r.err == nil; k++ {
			i.depth = append(i.depth, r.u32())
			to = appendU32(to, i.depth[k])
		}
	case function, functionRef:
		var renamed uint32
		i.callee, renamed = m.function(r)
		to = appendU32(to, renamed)
	case indirect:
		i.callee = m.typeIndex(r)
		to = appendU32(to, i.callee)
		u32()
	case index:
		u32()
	case twoIndexes:
		u32()
		u32()
	case global:
		to = appendU32(to, m.global(r))
	case memArg:
		u32()
		u32()
	case memLane:
		u32()
		u32()
		raw(1)
	case zero:
		memory()
	case twoZeros:
		memory()
		memory()
	case indexZero:
		u32()
		memory()
	case reference, lane:
		raw(1)
	case valueTypes:
		n := r.u32()
		to = appendU32(to, n)
		raw(uint64(n))
	case int32Bits:
		to = appendSigned(to, r.signed(32))
	case int64Bits:
		to = appendSigned(to, r.signed(64))
	case bytes4:
		raw(4)
	case bytes8:
		raw(8)
	case bytes16:
		raw(16)
	}
	i.bytes = to
	return i
}

// blockType reads the type of a block: none, that of a value, or the number of a
// type of functions. It returns how many values the block takes and leaves.
func (m *meter) blockType(r *reader, to []byte) (made []byte, takes, leaves int) {
	const empty = -64 // typeEmpty as a signed number
	t := r.signed(33)
	switch {
	case t >= int64(len(m.types)):
		r.fail(fmt.Errorf("type %d of %d", t, len(m.types)))
	case t >= 0:
		takes, leaves = m.types[t].arity()
	case t != empty:
		leaves = 1
	}
	return appendSigned(to, t), takes, leaves
}

// typeIndex reads the number of a type of functions.
func (m *meter) typeIndex(r *reader) uint32 {
	t := r.u32()
	if uint64(t) >= uint64(len(m.types)) {
		r.fail(fmt.Errorf("type %d of %d", t, len(m.types)))
	}
	return t
}

// global reads the number of a global variable. The variable of the meter comes
// after those of the module, which therefore cannot name it.
func (m *meter) global(r *reader) uint32 {
	g := r.u32()
	if g >= m.globals {
		r.fail(fmt.Errorf("global %d of %d", g, m.globals))
	}
	return g
}

// function reads the number of a function, and returns it with the one that it has
// in the metered module.
func (m *meter) function(r *reader) (f, renamed uint32) {
	f = r.u32()
	imported := uint32(len(m.imports))
	switch {
	case uint64(f) >= uint64(imported)+uint64(m.defined):
		r.fail(fmt.Errorf("function %d of %d", f, imported+m.defined))
		return 0, 0
	case f >= imported:
		return f, f + 1 // after the function that gives fuel
	case m.imports[f].foreign:
		return f, m.imports[f].wrapper
	}
	return f, f
}

// renamed reads the number of a function, and returns the one that it has in the
// metered module.
func (m *meter) renamed(r *reader) uint32 {
	_, f := m.function(r)
	return f
}

// constant reads an expression of a global, an element or a segment of data. The
// compiler checks that it is constant.
func (m *meter) constant(r *reader, to []byte) []byte {
	for r.err == nil {
		i := m.instruction(r, to)
		to = i.bytes
		if i.op == opEnd {
			break
		}
	}
	return to
}
