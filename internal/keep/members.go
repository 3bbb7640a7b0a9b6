package keep

import (
	"encoding/json"
	"reflect"
)

// Members are the unknown members of a document, and of the objects in it. The zero
// Members has none. Members are not changed by any method, and do not refer to the text
// that they were found in.
type Members struct{ root *node }

// node is what is unknown of one value of the document. A nil node is nothing.
type node struct {
	// unknown are the members that the type does not have, in the order of the text.
	unknown []member
	// known are the known members, or the members of a map, with something unknown below.
	known map[string]*node
	// elements are the elements of a list with something unknown below.
	elements []element
	// key is the member that the object is recognised by, empty if it is by its place,
	// and same the text of it.
	key, same string
}

type member struct {
	name string
	text []byte // of the value
}

// element is an element of a list. It is recognised by the text of its member key, or,
// where key is empty, by its text without what is unknown.
type element struct {
	key, text string
	index     int // in the list as it was read
	node      *node
}

func (n *node) isEmpty() bool {
	return n == nil || (len(n.unknown) == 0 && len(n.known) == 0 && len(n.elements) == 0)
}

// Type is what a Go type has of members. It is computed once with [TypeFor], where
// documents are read often. Types are not changed by any method.
type Type struct{ shape *shape }

// TypeFor returns the Type of a struct, a map or a list.
func TypeFor[T any]() Type { return newType(reflect.TypeFor[T]()) }

func newType(t reflect.Type) Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return Type{}
	}
	return Type{maker{}.fields(t)}
}

// Unmarshal is json.Unmarshal into a value of the type, and returns the members that the
// type does not have.
func (t Type) Unmarshal(data []byte, value any) (Members, error) {
	if err := json.Unmarshal(data, value); err != nil {
		return Members{}, err
	}
	return t.find(data), nil
}

// Unmarshal is [Type.Unmarshal] for the type of the value.
func Unmarshal(data []byte, value any) (Members, error) {
	if err := json.Unmarshal(data, value); err != nil {
		return Members{}, err
	}
	return Find(data, value), nil
}

// Find returns the members of a valid JSON text that the type of the value, or of what
// it points to, does not have. It reads that type by its fields, even if the type has a
// JSON form of its own. A text that is not valid has none.
func Find(data []byte, value any) Members { return newType(reflect.TypeOf(value)).find(data) }

func (t Type) find(data []byte) Members {
	s := &scanner{data: data}
	found := s.value(t.shape)
	if s.failed || found.isEmpty() {
		return Members{}
	}
	found.key = "" // a document is recognised by its place
	return Members{found}
}

// IsZero reports whether it has no unknown members.
func (m Members) IsZero() bool { return m.root == nil }

// At returns the unknown members of the object below the known members of these names.
func (m Members) At(names ...string) Members {
	n := m.root
	for _, name := range names {
		if n == nil {
			break
		}
		n = n.known[name]
	}
	return Members{n}
}

// Put returns the members with others in place of those below the known members of these
// names.
func (m Members) Put(others Members, names ...string) Members {
	root := m.root.with(others.root, names)
	if root.isEmpty() {
		return Members{}
	}
	return Members{root}
}

func (n *node) with(other *node, names []string) *node {
	if len(names) == 0 {
		return other
	}
	made := &node{known: map[string]*node{}}
	if n != nil {
		made.unknown, made.elements, made.key, made.same = n.unknown, n.elements, n.key, n.same
		for name, below := range n.known {
			made.known[name] = below
		}
	}
	below := made.known[names[0]].with(other, names[1:])
	if below.isEmpty() {
		delete(made.known, names[0])
	} else {
		made.known[names[0]] = below
	}
	return made
}

// Top returns the unknown members of the document itself, without those of the objects
// in it.
func (m Members) Top() Members {
	if m.root == nil || len(m.root.unknown) == 0 {
		return Members{}
	}
	return Members{&node{unknown: m.root.unknown}}
}

// Marshal is json.Marshal of a value, with the members.
func (m Members) Marshal(value any) ([]byte, error) {
	data, _, err := m.MarshalKept(value)
	return data, err
}

// MarshalKept is Marshal, and returns the members that the text has: those of the objects
// that are still in the value. A program that keeps a value between two writes goes on
// with these, so that an object that is removed and created again does not have the members
// of the first one.
func (m Members) MarshalKept(value any) ([]byte, Members, error) {
	data, err := json.Marshal(value)
	if err != nil || m.root == nil {
		return data, Members{}, err
	}
	w := &merger{scanner: scanner{data: data}}
	kept := w.value(m.root)
	if kept.isEmpty() {
		kept = nil
	}
	return w.out, Members{kept}, nil
}
