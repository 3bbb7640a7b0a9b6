package wasmfuel

// The instructions that metering handles (WebAssembly 2.0, section 5.4).
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI64LtS       = 0x53
	opI64Sub       = 0x7d
	opI64ShrU      = 0x88
	opI64Shl       = 0x86
	opExtendI32U   = 0xad
	opRefNull      = 0xd0
	opRefFunc      = 0xd2
	prefixBulk     = 0xfc
	prefixVector   = 0xfd

	bulkMemoryInit = 8
	bulkMemoryCopy = 10
	bulkMemoryFill = 11
	bulkTableInit  = 12
	bulkTableCopy  = 14
	bulkTableGrow  = 15
	bulkTableFill  = 17

	vectorConst = 12
)

// Types of values and blocks.
const (
	typeI32   = 0x7f
	typeI64   = 0x7e
	typeFunc  = 0x60
	typeEmpty = 0x40
)

// immediate is a kind of what follows the number of an instruction.
type immediate uint8

const (
	unknown     immediate = iota // no instruction has the number
	nothing                      // no immediate follows
	blockType                    // a type in 33 bits
	label                        // how many blocks to leave
	labels                       // a vector of them and another one
	function                     // the number of one
	functionRef                  // likewise
	indirect                     // the number of a type and of a table
	index                        // a number that metering does not change
	twoIndexes                   // two of them
	global                       // the number of one
	memArg                       // an alignment and an offset
	memLane                      // likewise, and a lane
	zero                         // the number of the memory
	twoZeros                     // the same, twice
	indexZero                    // the number of a segment, and that of the memory
	reference                    // a type of references
	valueTypes                   // a vector of types
	int32Bits                    // a signed number
	int64Bits                    // likewise
	bytes4                       // so many bytes as they are
	bytes8
	bytes16
	lane // one byte
)

// immediateKind returns what follows an instruction without prefix.
func immediateKind(op byte) immediate {
	switch {
	case op == opUnreachable, op == 0x01, op == opElse, op == opEnd, op == opReturn, op == 0x1a, op == 0x1b:
		return nothing
	case op >= opBlock && op <= opIf:
		return blockType
	case op == opBr, op == opBrIf:
		return label
	case op == opBrTable:
		return labels
	case op == opCall:
		return function
	case op == opCallIndirect:
		return indirect
	case op == 0x1c:
		return valueTypes
	case op >= 0x20 && op <= 0x22, op == 0x25, op == 0x26:
		return index
	case op == opGlobalGet, op == opGlobalSet:
		return global
	case op >= 0x28 && op <= 0x3e:
		return memArg
	case op == 0x3f, op == opMemoryGrow:
		return zero
	case op == opI32Const:
		return int32Bits
	case op == opI64Const:
		return int64Bits
	case op == opF32Const:
		return bytes4
	case op == opF64Const:
		return bytes8
	case op >= 0x45 && op <= 0xc4, op == 0xd1:
		return nothing
	case op == opRefNull:
		return reference
	case op == opRefFunc:
		return functionRef
	}
	return unknown
}

// immediateOfBulk returns what follows an instruction with the prefix of bulk
// operations and saturating conversions.
func immediateOfBulk(op uint32) immediate {
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return nothing
	case bulkMemoryInit:
		return indexZero
	case bulkMemoryCopy:
		return twoZeros
	case bulkMemoryFill:
		return zero
	case bulkTableInit, bulkTableCopy:
		return twoIndexes
	case 9, 13, bulkTableGrow, 16, bulkTableFill:
		return index
	}
	return unknown
}

// immediateOfVector returns what follows an instruction with the prefix of vectors.
func immediateOfVector(op uint32) immediate {
	switch {
	case op <= 11, op == 92, op == 93:
		return memArg
	case op == vectorConst, op == 13:
		return bytes16
	case op >= 21 && op <= 34:
		return lane
	case op >= 84 && op <= 91:
		return memLane
	case op <= 255:
		return nothing
	}
	return unknown
}
