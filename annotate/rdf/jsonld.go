package rdf

import (
	"bytes"
	"hash/maphash"
)

// tree gathers the statements of one JSON-LD document: below its root the
// graphs, below each its subjects, below each its predicates, below each its
// objects; all in the order of first appearance, none twice. Terms are kept in
// canonical N-Triples form, whose escapes are those of JSON as well.
type tree struct {
	text    []byte  // the terms, one after the other
	entries []entry // entries[0] is the root
	table   []int32 // open-addressed: index of an entry, 0 for a free slot
	seed    maphash.Seed
	started bool // the opening bracket was written
}

type entry struct {
	at, size           int32 // the term in text
	hash               uint64
	parent             int32
	first, last, after int32 // children, and the next sibling; 0 for none
}

const treeFull = 4 << 20 // bytes of terms that are gathered at most

func newTree() *tree {
	return &tree{entries: make([]entry, 1), table: make([]int32, 64), seed: maphash.MakeSeed()}
}

func (t *tree) full() bool { return len(t.text) >= treeFull }

func (t *tree) reset() {
	t.clear()
	t.started = false
}

func (t *tree) clear() {
	t.text = t.text[:0]
	t.entries = append(t.entries[:0], entry{})
	clear(t.table)
}

func (t *tree) add(s, p, o, g []byte) {
	t.child(t.child(t.child(t.child(0, g), s), p), o)
}

// child returns the entry of a term below a parent, making it if need be.
func (t *tree) child(parent int32, term []byte) int32 {
	hash := maphash.Bytes(t.seed, term) + uint64(parent)*0x9E3779B97F4A7C15
	mask := uint64(len(t.table) - 1)
	slot := hash & mask
	for ; t.table[slot] != 0; slot = (slot + 1) & mask {
		e := &t.entries[t.table[slot]]
		if e.hash == hash && e.parent == parent && bytes.Equal(t.term(e), term) {
			return t.table[slot]
		}
	}
	index := int32(len(t.entries))
	t.entries = append(t.entries, entry{at: int32(len(t.text)), size: int32(len(term)), hash: hash, parent: parent})
	t.text = append(t.text, term...)
	above := &t.entries[parent]
	if above.first == 0 {
		above.first = index
	} else {
		t.entries[above.last].after = index
	}
	above.last = index
	t.table[slot] = index
	if 2*len(t.entries) > len(t.table) {
		t.grow()
	}
	return index
}

func (t *tree) grow() {
	t.table = make([]int32, 2*len(t.table))
	mask := uint64(len(t.table) - 1)
	for i := 1; i < len(t.entries); i++ {
		slot := t.entries[i].hash & mask
		for t.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		t.table[slot] = int32(i)
	}
}

func (t *tree) term(e *entry) []byte { return t.text[e.at : e.at+e.size] }

// append writes the node objects gathered and forgets them.
func (t *tree) append(dst []byte) []byte {
	for g := t.entries[0].first; g != 0; g = t.entries[g].after {
		graph := &t.entries[g]
		if graph.size > 0 {
			dst = append(t.separate(dst), `{"@id":`...)
			dst = appendID(dst, t.term(graph))
			dst = append(dst, `,"@graph":[`...)
		}
		for s := graph.first; s != 0; s = t.entries[s].after {
			switch {
			case graph.size == 0:
				dst = t.separate(dst)
			case s != graph.first:
				dst = append(dst, ',')
			}
			dst = t.appendNode(dst, &t.entries[s])
		}
		if graph.size > 0 {
			dst = append(dst, "]}"...)
		}
	}
	t.clear()
	return dst
}

// separate writes what stands before a top-level object.
func (t *tree) separate(dst []byte) []byte {
	if t.started {
		return append(dst, ",\n"...)
	}
	t.started = true
	return append(dst, '[')
}

func (t *tree) appendEnd(dst []byte) []byte {
	if !t.started {
		dst = append(dst, '[')
	}
	return append(dst, "]\n"...)
}

func (t *tree) appendNode(dst []byte, node *entry) []byte {
	dst = append(dst, `{"@id":`...)
	dst = appendID(dst, t.term(node))
	for p := node.first; p != 0; p = t.entries[p].after {
		predicate := &t.entries[p]
		if string(t.term(predicate)) == "<"+Type+">" {
			dst = t.appendTypes(dst, predicate)
			continue
		}
		dst = append(dst, ',')
		dst = appendID(dst, t.term(predicate))
		dst = append(dst, ":["...)
		for o := predicate.first; o != 0; o = t.entries[o].after {
			if o != predicate.first {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, t.term(&t.entries[o]))
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendTypes writes the objects of rdf:type: nodes under @type, and literals,
// which may not stand there, under the IRI.
func (t *tree) appendTypes(dst []byte, predicate *entry) []byte {
	for _, literals := range [...]bool{false, true} {
		open := false
		for o := predicate.first; o != 0; o = t.entries[o].after {
			term := t.term(&t.entries[o])
			if bytes.HasPrefix(term, []byte{'"'}) != literals {
				continue
			}
			switch {
			case open:
				dst = append(dst, ',')
			case literals:
				dst = append(dst, `,"`+Type+`":[`...)
			default:
				dst = append(dst, `,"@type":[`...)
			}
			open = true
			if literals {
				dst = appendValue(dst, term)
			} else {
				dst = appendID(dst, term)
			}
		}
		if open {
			dst = append(dst, ']')
		}
	}
	return dst
}

// appendID writes an IRI or a blank node as a JSON string.
func appendID(dst, term []byte) []byte {
	dst = append(dst, '"')
	if bytes.HasPrefix(term, []byte("<")) {
		term = term[1 : len(term)-1]
	}
	dst = append(dst, term...)
	return append(dst, '"')
}

func appendValue(dst, term []byte) []byte {
	if !bytes.HasPrefix(term, []byte{'"'}) {
		dst = append(dst, `{"@id":`...)
		dst = appendID(dst, term)
		return append(dst, '}')
	}
	end := lexicalEnd(term)
	dst = append(dst, `{"@value":`...)
	dst = append(dst, term[:end]...)
	switch tail := term[end:]; {
	case len(tail) > 1 && tail[0] == '@':
		dst = append(dst, `,"@language":"`...)
		dst = append(dst, tail[1:]...)
		dst = append(dst, '"')
	case len(tail) > 4:
		dst = append(dst, `,"@type":`...)
		dst = appendID(dst, tail[2:])
	}
	return append(dst, '}')
}
