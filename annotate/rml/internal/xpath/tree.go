package xpath

// Kind is the kind of a node.
type Kind uint8

// The kinds of node.
const (
	Root Kind = iota
	Element
	Attribute
	Text
	Comment
)

// Node is what the axes need to know about a node.
type Node struct {
	Kind       Kind
	Parent     int32 // -1 for the root
	End        int32 // the node after the last descendant
	Attributes int32 // the number of attributes, which are the nodes after an element
	Known      int32 // the number of the name, see [Options.Number]; 0 for others
}

// Name is the name of an element or attribute; it is empty for other nodes.
type Name struct {
	Prefix, Local []byte
	Space         string
}

// Tree is a document whose nodes are numbered in document order: the root is node 0, an element is
// followed by its attributes and then its content.
type Tree interface {
	// Len returns the number of nodes.
	Len() int32
	// Node describes a node.
	Node(n int32) Node
	// Named appends the siblings from one to before another whose names have a number, and returns how many
	// siblings there are.
	Named(dst []int32, from, to, known int32) ([]int32, int)
	// Name returns the name of a node.
	Name(n int32) Name
	// Value returns the string value of a node. It is valid until the next input is loaded.
	Value(n int32) []byte
}
