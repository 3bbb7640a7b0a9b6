package jsondoc

import (
	"encoding/binary"
	"math"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Messages of one source mostly repeat the same member names in the same order.
// The sequences of names that were seen are kept as a tree: an object that is
// being read is at the place of the names read so far, and the names that
// followed there before are compared with the text first, which is cheaper than
// scanning it. An object that ends at a known place has a class. All objects of
// a class have the same names at the same positions, so that a name is searched
// only once for each class.
//
// The shapes affect only the time of a selection, never its result.
const (
	maxShapes     = 1024    // places in the tree
	maxClasses    = 128     // classes, each with a row of positions
	maxFollowers  = 8       // names that are learned at one place
	maxShapeName  = 64      // bytes of a name that is learned
	maxShapeNames = 128     // names of an object that is learned
	maxStrangers  = 1 << 16 // objects without a class after which learning starts again

	unlearned = math.MaxUint16 // the place of an object that left the tree

	unknown = 0
	absent  = 1
)

// shape is a place in the tree: the names of its parents and its own.
type shape struct {
	word, mask uint64 // the first 8 bytes of the name with its closing quote
	rest       string // what follows them, the quote included
	length     uint32 // of the name
	position   uint16 // number of names up to here
	follower   uint16 // first of the places one name further
	sibling    uint16 // next follower of the same parent
	class      uint16
	flags      uint8
}

// shapes holds the sequences of member names of the objects of one source.
type shapes struct {
	places    []shape
	classes   int
	strangers int
	stride    int // names that have a slot
	// positions holds a row of slots for every class: unknown when the name
	// was not looked for yet, absent, or absent plus its position from 1 on.
	positions []uint16
}

func newShapes(slots int) shapes {
	return shapes{places: make([]shape, 1, 32), stride: slots, positions: make([]uint16, slots)}
}

// renew clears everything when too many objects had no class. The classes on
// the tape are then invalid, so it is called only between two texts.
func (s *shapes) renew() {
	if s.strangers >= maxStrangers {
		*s = newShapes(s.stride)
	}
}

// matches reports whether the name is at i, its closing quote included.
func (s *shape) matches(data []byte, i int) bool {
	if i+8 > len(data) || binary.LittleEndian.Uint64(data[i:])&s.mask != s.word {
		return false
	}
	return s.rest == "" || (i+8+len(s.rest) <= len(data) && string(data[i+8:i+8+len(s.rest)]) == s.rest)
}

// learn returns the place one name after the given place, a new one if need
// be. The name is given in its source form.
func (s *shapes) learn(from uint16, name []byte, flags uint8) uint16 {
	if from == unlearned || len(name) > maxShapeName {
		return unlearned
	}
	var quoted [maxShapeName + 8]byte
	quoted[copy(quoted[:], name)] = '"'
	fresh := shape{
		word: binary.LittleEndian.Uint64(quoted[:]), mask: math.MaxUint64,
		length: uint32(len(name)), position: s.places[from].position + 1, flags: flags,
	}
	if len(name) < 7 {
		fresh.mask = 1<<(8*(len(name)+1)) - 1
	}
	count := 0
	for at := s.places[from].follower; at != 0; at = s.places[at].sibling {
		p := &s.places[at]
		if p.length == fresh.length && p.word == fresh.word && (len(name) < 8 || p.rest == string(quoted[8:len(name)+1])) {
			return at
		}
		count++
	}
	if count >= maxFollowers || fresh.position > maxShapeNames || len(s.places) >= maxShapes {
		return unlearned
	}
	if len(name) >= 8 {
		fresh.rest = string(quoted[8 : len(name)+1])
	}
	at := uint16(len(s.places))
	fresh.sibling = s.places[from].follower
	s.places[from].follower = at
	s.places = append(s.places, fresh)
	return at
}

// class returns the class of an object that ended at a place, 0 for none.
func (s *shapes) class(at uint16) uint16 {
	if at == unlearned {
		s.strangers++
		return 0
	}
	p := &s.places[at]
	if p.class == 0 && s.classes < maxClasses {
		s.classes++
		p.class = uint16(s.classes)
		s.positions = append(s.positions, make([]uint16, s.stride)...)
	}
	if p.class == 0 {
		s.strangers++
	}
	return p.class
}

// member returns the last member of that name, or noNode.
func (d *Document) member(object input.Node, s *selector) input.Node {
	t := &d.tape[object]
	if t.flags&flatObject != 0 && uint(s.slot) < uint(d.slots) {
		if position := d.shapes.positions[int(t.class)*d.slots+s.slot]; position > absent {
			return object + input.Node(position-absent)
		}
	}
	return d.locate(object, s)
}

// locate is member for objects that hold containers, and for names that were
// not looked for before in objects of the class.
func (d *Document) locate(object input.Node, s *selector) input.Node {
	t := &d.tape[object]
	if t.kind != input.Object {
		return noNode
	}
	if t.class == 0 || uint(s.slot) >= uint(d.slots) {
		n, _ := d.search(object, s.name)
		return n
	}
	position := &d.shapes.positions[int(t.class)*d.slots+s.slot]
	switch *position {
	case unknown:
		n, at := d.search(object, s.name)
		*position = uint16(at + 1 + absent)
		return n
	case absent:
		return noNode
	}
	object++
	for left := *position; left > absent+1; left-- {
		object = input.Node(d.tape[object].next)
	}
	d.steps -= int(*position)
	return object
}

// search compares all members and finds the last one of that name. It returns
// the member and its position, or noNode and -1.
func (d *Document) search(object input.Node, name string) (found input.Node, position int) {
	found, position = noNode, -1
	count := 0
	for c, end := object+1, input.Node(d.tape[object].next); c < end; count++ {
		t := &d.tape[c]
		if d.hasKey(t, name) {
			found, position = c, count
		}
		c = input.Node(t.next)
	}
	d.steps -= count + 1
	return found, position
}
