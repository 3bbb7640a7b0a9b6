package wasmfuel

// height tracks how many values are on the stack of a function. For some
// instructions it counts too many until their block ends: an upper bound is
// enough to bound the cost of compiling.
type height int

// arity is the number of parameters and results of a function type.
func (t functionType) arity() (params, results int) { return len(t.params), len(t.results) }

// move returns the height after an instruction that is not a block, and not below
// that of the block it is in.
func (h height) move(m *meter, i instruction, base height) height {
	takes, leaves := m.effect(i)
	return max(h-height(takes), base) + height(leaves)
}

// effect is how many values an instruction takes from the stack and leaves there.
func (m *meter) effect(i instruction) (takes, leaves int) {
	switch i.op {
	case opCall:
		return m.functionArity(i.callee)
	case opCallIndirect:
		takes, leaves = m.types[i.callee].arity()
		return takes + 1, leaves
	case prefixBulk:
		return effectOfBulk(i.sub)
	case prefixVector:
		return effectOfVector(i.sub)
	}
	return stackEffect(i.op)
}

// functionArity returns the arity of a function by its index in the original
// module.
func (m *meter) functionArity(f uint32) (params, results int) {
	if imported := uint32(len(m.imports)); f >= imported {
		return m.types[m.kinds[f-imported]].arity()
	}
	return m.types[m.imports[f].kind].arity()
}

// stackEffect is the effect of an instruction without prefix.
func stackEffect(op byte) (takes, leaves int) {
	switch {
	case op == opLocalGet, op == opGlobalGet, op == 0x3f, op >= opI32Const &&
		op <= opF64Const, op == opRefNull, op == opRefFunc:
		return 0, 1
	case op == 0x1a, op == 0x21, op == opGlobalSet, op == opBrIf, op == opBrTable, op == opIf:
		return 1, 0
	case op == 0x1b, op == 0x1c: // select
		return 3, 1
	case op >= 0x36 && op <= 0x3e: // stores
		return 2, 0
	case op == 0x45, op == 0x50: // tests for zero
		return 1, 1
	case op >= 0x46 && op <= 0x66: // comparisons
		return 2, 1
		// of two numbers
	case op >= 0x6a && op <= 0x78, op >= 0x7c && op <= 0x8a, op >= 0x92 && op <= 0x98, op >= 0xa0 && op <= 0xa6:
		return 2, 1
	}
	return 0, 0 // and instructions that take one value and leave one
}

// effectOfBulk is that of an instruction with the prefix of bulk operations.
func effectOfBulk(op uint32) (takes, leaves int) {
	switch op {
	case bulkMemoryInit, bulkMemoryCopy, bulkMemoryFill, bulkTableInit, bulkTableCopy, bulkTableFill:
		return 3, 0
	case bulkTableGrow:
		return 2, 1
	case 16: // the size of a table
		return 0, 1
	}
	return 0, 0
}

// effectOfVector is that of an instruction with the prefix of vectors. No arithmetic
// instruction leaves more values than it takes.
func effectOfVector(op uint32) (takes, leaves int) {
	switch {
	case op == vectorConst:
		return 0, 1
	case op == 11, op >= 88 && op <= 91: // stores
		return 2, 0
	}
	return 0, 0
}
