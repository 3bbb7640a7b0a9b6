package antchfx

import (
	"errors"

	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"
)

const (
	minSteps     = 1 << 22 // that any evaluation may take
	stepsPerByte = 64      // of the document, if those are more
)

// errTooLong is the panic that ends an evaluation.
var errTooLong = errors.New("the evaluation takes too many steps")

// navigator lets the library visit a document. It is the one of xmlquery with a
// step counter, because some expressions take forever. A node is a navigator
// that is never moved.
type navigator struct {
	*xmlquery.NodeNavigator
	most int  // steps of an evaluation that begins here
	left *int // steps of this evaluation
}

var _ xpath.NodeNavigator = (*navigator)(nil)

// newNavigator returns a navigator at the root of a document of so many bytes.
func newNavigator(root *xmlquery.Node, size int) *navigator {
	return &navigator{NodeNavigator: xmlquery.CreateXPathNavigator(root), most: max(minSteps, stepsPerByte*size)}
}

// start returns a navigator at the same node for one evaluation.
func (n *navigator) start() *navigator {
	steps := n.most
	return &navigator{NodeNavigator: n.copyOf(), most: n.most, left: &steps}
}

func (n *navigator) copyOf() *xmlquery.NodeNavigator {
	moved := *n.NodeNavigator
	return &moved
}

func (n *navigator) spend() {
	if *n.left--; *n.left < 0 {
		panic(errTooLong)
	}
}

// Copy returns another navigator at the same node.
func (n *navigator) Copy() xpath.NodeNavigator {
	n.spend()
	return &navigator{NodeNavigator: n.copyOf(), most: n.most, left: n.left}
}

// Value returns the string-value.
func (n *navigator) Value() string {
	n.spend()
	value := n.NodeNavigator.Value()
	*n.left -= len(value) / 16
	return value
}

// MoveToRoot goes to the root.
func (n *navigator) MoveToRoot() {
	n.spend()
	n.NodeNavigator.MoveToRoot()
}

// MoveToParent goes to the parent.
func (n *navigator) MoveToParent() bool {
	n.spend()
	return n.NodeNavigator.MoveToParent()
}

// MoveToNextAttribute goes to the next attribute.
func (n *navigator) MoveToNextAttribute() bool {
	n.spend()
	return n.NodeNavigator.MoveToNextAttribute()
}

// MoveToChild goes to the first child.
func (n *navigator) MoveToChild() bool {
	n.spend()
	return n.NodeNavigator.MoveToChild()
}

// MoveToFirst goes to the first sibling.
func (n *navigator) MoveToFirst() bool {
	n.spend()
	return n.NodeNavigator.MoveToFirst()
}

// MoveToNext goes to the next sibling.
func (n *navigator) MoveToNext() bool {
	n.spend()
	return n.NodeNavigator.MoveToNext()
}

// MoveToPrevious goes to the sibling before.
func (n *navigator) MoveToPrevious() bool {
	n.spend()
	return n.NodeNavigator.MoveToPrevious()
}

// MoveTo goes to where another navigator of the same document is.
func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	n.spend()
	o, ok := other.(*navigator)
	return ok && n.NodeNavigator.MoveTo(o.NodeNavigator)
}
