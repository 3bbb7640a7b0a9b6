package xmldoc

import "github.com/antchfx/xpath"

// navigator lets the XPath library visit the nodes of a document.
type navigator struct {
	d  *Document
	at int32
}

var _ xpath.NodeNavigator = (*navigator)(nil)

// linkPrevious stores the previous sibling of each node, 0 for none.
func (d *Document) linkPrevious() {
	d.previous = append(d.previous[:0], make([]int32, len(d.nodes))...)
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.kind == attributeNode || i == 0 {
			continue
		}
		if end := n.end; end < d.nodes[n.parent].end {
			d.previous[end] = int32(i)
		}
	}
}

// NodeType returns the kind of the node.
func (n *navigator) NodeType() xpath.NodeType {
	switch n.d.nodes[n.at].kind {
	case rootNode:
		return xpath.RootNode
	case elementNode:
		return xpath.ElementNode
	case attributeNode:
		return xpath.AttributeNode
	case commentNode:
		return xpath.CommentNode
	}
	return xpath.TextNode
}

// LocalName returns the name without its prefix.
func (n *navigator) LocalName() string {
	return string(n.d.localName(&n.d.nodes[n.at]))
}

// Prefix returns the prefix of the name as written.
func (n *navigator) Prefix() string {
	return string(n.d.prefix(&n.d.nodes[n.at]))
}

// NamespaceURL returns the namespace of the name.
func (n *navigator) NamespaceURL() string {
	return n.d.spaces[n.d.nodes[n.at].space]
}

// Value returns the string-value.
func (n *navigator) Value() string {
	value := n.d.value(n.at)
	n.d.spend(1 + len(value)/textStep)
	return string(value)
}

// Copy returns another navigator at the same node.
func (n *navigator) Copy() xpath.NodeNavigator {
	n.d.spend(1)
	return &navigator{n.d, n.at}
}

// MoveToRoot goes to the root.
func (n *navigator) MoveToRoot() { n.at = 0 }

// MoveToParent goes to the parent, from an attribute to its element.
func (n *navigator) MoveToParent() bool {
	return n.move(n.d.nodes[n.at].parent, n.at > 0)
}

// MoveToNextAttribute goes from an element to its first attribute, and from
// an attribute to the next one.
func (n *navigator) MoveToNextAttribute() bool {
	element := n.at
	if n.d.nodes[n.at].kind == attributeNode {
		element = n.d.nodes[n.at].parent
	}
	return n.move(n.at+1, n.at < element+int32(n.d.nodes[element].attrs))
}

// MoveToChild goes to the first node of the content.
func (n *navigator) MoveToChild() bool {
	here := &n.d.nodes[n.at]
	child := n.at + 1 + int32(here.attrs)
	return n.move(child, child < here.end)
}

// MoveToFirst goes to the first of the siblings and reports whether that is
// another node.
func (n *navigator) MoveToFirst() bool {
	if n.d.previous[n.at] == 0 {
		return false
	}
	parent := n.d.nodes[n.at].parent
	return n.move(parent+1+int32(n.d.nodes[parent].attrs), true)
}

// MoveToNext goes to the next sibling.
func (n *navigator) MoveToNext() bool {
	here := &n.d.nodes[n.at]
	return n.move(here.end, here.kind != attributeNode && n.at > 0 && here.end < n.d.nodes[here.parent].end)
}

// MoveToPrevious goes to the sibling before.
func (n *navigator) MoveToPrevious() bool {
	before := n.d.previous[n.at]
	return n.move(before, before > 0)
}

// MoveTo goes to where another navigator of the same document is.
func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*navigator)
	return ok && o.d == n.d && n.move(o.at, true)
}

// move goes to a node if there is one, and counts the step.
func (n *navigator) move(to int32, ok bool) bool {
	n.d.spend(1)
	if ok {
		n.at = to
	}
	return ok
}
