package dedup

import (
	"bytes"
	"hash/maphash"
)

// Set is the set of the statements of one message. It keeps its
// memory from message to message.
type Set struct {
	seed  maphash.Seed
	text  []byte  // the statements, concatenated
	ends  []int   // where each ends in text
	table []int32 // open addressing: number of a statement plus one, or 0
}

// NewSet returns an empty set.
func NewSet() Set { return Set{seed: maphash.MakeSeed()} }

// KeptStatements is the size up to which the table is kept, however few of its
// places are used.
const KeptStatements = 1 << 12

// Reset empties the set. It frees a table that is much larger than the last
// message needed, because clearing takes time in proportion to the size.
func (s *Set) Reset() {
	if len(s.table) > KeptStatements && 16*len(s.ends) < len(s.table) {
		s.table = nil
		s.text = nil
		s.ends = nil
		return
	}
	if len(s.ends) > 0 {
		clear(s.table)
		s.text = s.text[:0]
		s.ends = s.ends[:0]
	}
}

// Add reports whether a statement is new to the set. Rendered terms contain no
// line ends, so a line end separates them.
func (s *Set) Add(terms ...[]byte) bool {
	if 2*len(s.ends) >= len(s.table) {
		s.grow()
	}
	start := len(s.text)
	for _, term := range terms {
		s.text = append(append(s.text, term...), '\n')
	}
	statement := s.text[start:]
	mask := uint64(len(s.table) - 1)
	for i := maphash.Bytes(s.seed, statement) & mask; ; i = (i + 1) & mask {
		n := s.table[i]
		if n == 0 {
			s.ends = append(s.ends, len(s.text))
			s.table[i] = int32(len(s.ends))
			return true
		}
		if bytes.Equal(s.statement(int(n)-1), statement) {
			s.text = s.text[:start]
			return false
		}
	}
}

func (s *Set) statement(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.text[start:s.ends[i]]
}

func (s *Set) grow() {
	s.table = make([]int32, max(64, 2*len(s.table)))
	mask := uint64(len(s.table) - 1)
	for n := range s.ends {
		i := maphash.Bytes(s.seed, s.statement(n)) & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = int32(n + 1)
	}
}
