package xmldoc

import "math"

// The kinds of node.
const (
	rootNode uint8 = iota
	elementNode
	attributeNode
	textNode
	commentNode
)

const (
	// maxInput is the longest input, for offsets are 32 bits wide.
	maxInput = math.MaxUint32
	// rewritten marks the texts that are in the scratch buffer, not the input.
	rewritten = 1 << 31
	// maxName is the longest name in bytes, and the largest number of
	// attributes of an element.
	maxName = math.MaxUint16
	// keptNodes is the number of nodes, and the bytes of scratch, that a document
	// keeps room for whatever it loads. Larger buffers are freed on the first
	// input that could not fill an eighth of them.
	keptNodes = 1 << 14
)

// node is one node. Nodes are in document order: an element, its
// attributes, then its content. Node 0 is the root, the parent of the
// document element.
type node struct {
	parent int32
	end    int32  // the index after the last descendant
	name   uint32 // the offset of the qualified name
	start  uint32 // the text, see Document.text; of an attribute, the value
	length uint32
	space  int32  // the namespace, an index of Document.spaces
	known  int32  // the expanded name, as numbered by the compiler, 0 for others
	size   uint16 // the length of the qualified name
	local  uint16 // the length of the prefix and its colon
	attrs  uint16 // the number of attributes
	kind   uint8
}

// text returns a text, at start and with length as nodes have it.
func (d *Document) text(start, length uint32) []byte {
	if length&rewritten != 0 {
		end := uint64(start) + uint64(length&^rewritten)
		return d.scratch[start:end:end]
	}
	end := uint64(start) + uint64(length)
	return d.data[start:end:end]
}

// qname returns the qualified name of an element or attribute as written.
func (d *Document) qname(n *node) []byte {
	return d.data[n.name : uint64(n.name)+uint64(n.size)]
}

// localName returns the name without its prefix.
func (d *Document) localName(n *node) []byte {
	return d.data[uint64(n.name)+uint64(n.local) : uint64(n.name)+uint64(n.size)]
}

// prefix returns the prefix of the name, without the colon.
func (d *Document) prefix(n *node) []byte {
	return d.data[n.name : uint64(n.name)+uint64(max(n.local, 1)-1)]
}

// value returns the string-value of a node as XPath 1.0 section 5 defines it.
// That of an element with several texts is put together once an input.
func (d *Document) value(at int32) []byte {
	n := &d.nodes[at]
	if n.kind > elementNode {
		return d.text(n.start, n.length)
	}
	first := at + 1 + int32(n.attrs)
	if first == n.end {
		return empty
	}
	if t := &d.nodes[first]; t.kind == textNode && first+1 == n.end {
		return d.text(t.start, t.length)
	}
	if known, ok := d.joined[at]; ok {
		return known
	}
	var only *node
	size := 0
	for i := first; i < n.end; i++ {
		if t := &d.nodes[i]; t.kind == textNode {
			size += int(t.length &^ rewritten)
			if only = t; size > int(t.length&^rewritten) {
				only = nil
			}
		}
	}
	if size == 0 {
		return empty
	}
	if only != nil {
		return d.text(only.start, only.length)
	}
	if d.kept += size; d.kept > len(d.data) {
		return d.appendTexts(make([]byte, 0, size), first, n.end) // not kept: elements within elements repeat their texts
	}
	if cap(d.joins)-len(d.joins) < size { // not copied: the values before stay where they are
		d.joins = make([]byte, 0, max(size, min(2*cap(d.joins), len(d.data))))
	}
	from := len(d.joins)
	d.joins = d.appendTexts(d.joins, first, n.end)
	value := d.joins[from:len(d.joins):len(d.joins)]
	if d.joined == nil {
		d.joined = map[int32][]byte{}
	}
	d.joined[at] = value
	return value
}

// appendTexts appends the texts among the nodes from first to before end.
func (d *Document) appendTexts(dst []byte, first, end int32) []byte {
	for i := first; i < end; i++ {
		if t := &d.nodes[i]; t.kind == textNode {
			dst = append(dst, d.text(t.start, t.length)...)
		}
	}
	return dst
}

// empty is the text of values that have none, which is not nil.
var empty = []byte{}
