package jsondoc

import (
	"math"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// node is one value on the tape.
type node struct {
	start, end       uint32 // text of the value; of a string, between its quotes
	keyStart, keyEnd uint32 // member name between its quotes; keyStart is 0 for elements and the root
	next             uint32 // first index after the subtree; of an open container, its parent
	kind             input.Kind
	flags            uint8
	class            uint16 // of an object: its member name sequence, 0 when unknown
}

// set writes all fields in place. A composite literal would be built
// elsewhere and copied, which costs more than the rest of the value.
func (n *node) set(start, end, keyStart, keyEnd, next uint32, kind input.Kind, flags uint8) {
	n.start = start
	n.end = end
	n.keyStart = keyStart
	n.keyEnd = keyEnd
	n.next = next
	n.kind = kind
	n.flags = flags
	n.class = 0
}

// Flags of a node.
const (
	escapedText uint8 = 1 << iota // the string holds escapes
	escapedKey                    // the member name holds escapes
	flatObject                    // every member of the object takes one node of the tape
)

const (
	// noNode stands for "no such value" and for the parent of the root.
	noNode = input.Node(-1)
	noOpen = math.MaxUint32

	// keptNodes and keptBytes are the buffer sizes that are always kept from load
	// to load; larger ones are freed after idleLoads loads that used less than a
	// quarter of them.
	keptNodes = 1 << 15
	// countedNodes is the size of a tape from which on it grows to the exact size.
	countedNodes = 1 << 16
	keptBytes    = 1 << 18
	idleLoads    = 64
)

// grow returns a larger copy of a full tape, or nil when the limit is reached.
// After a good part of the text it estimates the final size, so that a large
// text does not need a tape of twice its size. Where the estimate was wrong for a
// large tape, it counts.
func grow(tape []node, data []byte, read, limit int) []node {
	if len(tape) >= limit {
		return nil
	}
	want := max(64, 2*len(tape))
	if read > 1<<12 {
		foretold := int(float64(len(tape)) * float64(len(data)) / float64(read) * 1.02)
		want = max(len(tape)+len(tape)/4, min(2*want, foretold)) + 64
	}
	if len(tape) >= countedNodes {
		want = len(tape) + countValues(data[read:])
	}
	larger := make([]node, len(tape), min(want, limit))
	copy(larger, tape)
	return larger
}

// countValues returns how many values the rest of a text has at most, which are as many
// as it has if the text is valid and no container is empty.
func countValues(data []byte) int {
	count := 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ',':
			count++
		case '[', '{':
			if i+1 < len(data) && data[i+1] != data[i]+2 { // not closed at once
				count++
			}
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if i = plain(data, i); i < len(data) && data[i] == '"' {
					break
				}
				if i < len(data) && data[i] == '\\' {
					i++
				}
			}
		}
	}
	return count
}

// idle decides when a buffer that has become too large is freed.
type idle struct{ loads int }

// release reports whether a buffer of the given capacity, of which used was
// needed last time, should be dropped.
func (i *idle) release(capacity, used, kept int) bool {
	if capacity <= kept || used > capacity/4 {
		i.loads = 0
		return false
	}
	i.loads++
	if i.loads < idleLoads {
		return false
	}
	i.loads = 0
	return true
}
