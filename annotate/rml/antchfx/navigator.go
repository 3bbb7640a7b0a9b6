package antchfx

import (
	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"
)

// navigator lets the library visit a document. It is the one of xmlquery with a
// budget, because some expressions take forever, or much memory. A node is a
// navigator that is never moved.
type navigator struct {
	*xmlquery.NodeNavigator
	size int     // the bytes of the document
	left *budget // of this evaluation
}

var _ xpath.NodeNavigator = (*navigator)(nil)

// newNavigator returns a navigator at the root of a document of so many bytes.
func newNavigator(root *xmlquery.Node, size int) *navigator {
	return &navigator{NodeNavigator: xmlquery.CreateXPathNavigator(root), size: size}
}

// start returns a navigator at the same node for one evaluation.
func (n *navigator) start(b bounds) *navigator {
	return &navigator{NodeNavigator: n.duplicate(), size: n.size, left: b.budget(n.size)}
}

func (n *navigator) duplicate() *xmlquery.NodeNavigator {
	moved := *n.NodeNavigator
	return &moved
}

func (n *navigator) spend() { n.left.spend(1) }

// Copy returns another navigator at the same node.
func (n *navigator) Copy() xpath.NodeNavigator {
	n.spend()
	n.left.copy()
	return &navigator{NodeNavigator: n.duplicate(), size: n.size, left: n.left}
}

// Value returns the string-value.
func (n *navigator) Value() string {
	n.spend()
	value := n.NodeNavigator.Value()
	n.left.spend(len(value) / 16)
	n.left.read(1 + len(value))
	return value
}

// LocalName returns the name without its prefix.
func (n *navigator) LocalName() string { return n.name(n.NodeNavigator.LocalName()) }

// Prefix returns the prefix of the name.
func (n *navigator) Prefix() string { return n.name(n.NodeNavigator.Prefix()) }

// NamespaceURL returns the namespace of the name.
func (n *navigator) NamespaceURL() string { return n.name(n.NodeNavigator.NamespaceURL()) }

// name counts a name that is long, for a test of a name creates no text.
func (n *navigator) name(s string) string {
	if len(s) > shortName {
		n.left.read(len(s))
	}
	return s
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
