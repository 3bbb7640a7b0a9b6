package document

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/position"
)

// Kind is the kind of a JSON value.
type Kind int

// The kinds of values. The zero value is a null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String names the kind as messages do.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Node is one value, with what is in it. A tree may be read by several goroutines
// at once as long as it is not changed.
type Node struct {
	Kind Kind
	// Text is the string, the literal of the number as JSON has it, or true or false.
	Text string
	// Items are the values of an array.
	Items []*Node
	// Members are those of an object, in the order of the file.
	Members []Member
	// Line and Column count from one. They are zero for values that were not read.
	Line, Column int

	parent *Node
	step   string // from the parent: the key or the index
}

// Member is a key of an object and its value.
type Member struct {
	Key   string
	Value *Node
}

// Get returns the value of a member, and nil if none exists or the node is nil
// or no object.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Str returns the string that a node is, and whether it is one. A nil node is none.
func (n *Node) Str() (string, bool) {
	if n == nil || n.Kind != String {
		return "", false
	}
	return n.Text, true
}

// Pointer is the JSON pointer of the node within its document.
func (n *Node) Pointer() string {
	var steps []string
	for at := n; at != nil && at.parent != nil; at = at.parent {
		steps = append(steps, escape(at.step))
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(steps[i])
	}
	return b.String()
}

func escape(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
}

// Key is the key or the index under which the node stands in its parent, empty at
// the root and for a nil node.
func (n *Node) Key() string {
	if n == nil {
		return ""
	}
	return n.step
}

// Parent is the object or array that the node is in, nil at the root and for a
// nil node.
func (n *Node) Parent() *Node {
	if n == nil {
		return nil
	}
	return n.parent
}

// Resolve returns the value at a JSON pointer, and false if none exists.
func (n *Node) Resolve(pointer string) (*Node, bool) {
	if pointer == "" {
		return n, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	at := n
	for step := range strings.SplitSeq(pointer[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at.Kind {
		case Object:
			at = at.Get(step)
		case Array:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at.Items) {
				return nil, false
			}
			at = at.Items[i]
		default:
			return nil, false
		}
		if at == nil {
			return nil, false
		}
	}
	return at, true
}

// Errorf returns a [*position.Error] at the position of the node.
func (n *Node) Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if n == nil {
		return &position.Error{Err: err}
	}
	return &position.Error{Line: n.Line, Column: n.Column, Pointer: n.Pointer(), Err: err}
}

// Append adds an item to an array.
func (n *Node) Append(item *Node) {
	item.parent, item.step = n, strconv.Itoa(len(n.Items))
	n.Items = append(n.Items, item)
}

// Put adds a member to an object, which has none of that key.
func (n *Node) Put(key string, value *Node) {
	value.parent, value.step = n, key
	n.Members = append(n.Members, Member{Key: key, Value: value})
}

// ErrLimit is wrapped by the error of a document that is too large, too deep or
// has too many values.
var ErrLimit = errors.New("limit exceeded")
