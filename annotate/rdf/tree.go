package rdf

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

// tree gathers the statements of one document in a format of JSON: below its
// root the graphs, below each its subjects, below each its predicates, below each
// its objects; all in the order of first appearance, none twice. Terms are kept in
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

const (
	entrySize = int(unsafe.Sizeof(entry{}))
	treeKept  = 8 << 20 // bytes that a tree holds on to when the document is over
)

func newTree() *tree {
	return &tree{entries: make([]entry, 1), table: make([]int32, 64), seed: maphash.MakeSeed()}
}

// size returns the bytes that the statements gathered take.
func (t *tree) size() int { return len(t.text) + len(t.entries)*entrySize }

func (t *tree) reset() {
	if cap(t.text)+cap(t.entries)*entrySize > treeKept {
		*t = *newTree()
	}
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

// child returns the entry of a term below a parent, creating it if necessary.
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
