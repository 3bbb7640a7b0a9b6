package xmldoc

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// The predefined namespaces of every document and every compiler, by index.
const (
	noSpace int32 = iota
	xmlSpace
	xmlnsSpace
)

const (
	xmlIRI   = "http://www.w3.org/XML/1998/namespace"
	xmlnsIRI = "http://www.w3.org/2000/xmlns/"
)

// Namespace declares a prefix for the expressions of a mapping.
type Namespace struct {
	// Prefix is the part before the colon in expressions; it need not be
	// the one the documents use.
	Prefix string
	// IRI is the name of the namespace.
	IRI string
}

// Compiler compiles the XPath expressions of one XML source. It is safe for
// concurrent use.
type Compiler struct {
	limits   input.Limits
	invalid  error
	carml    bool
	prefixes map[string]int32 // prefix to index in spaces

	mu      sync.Mutex
	spaces  []string // the namespaces of the expressions
	names   []name   // the expanded names in the expressions, from 1 on
	paths   int
	outside string // the first reference that may look outside of its record
}

// name is an expanded name that occurs in an expression.
type name struct {
	local string
	space int32
}

// New returns a compiler for sources whose expressions use the given
// prefixes; the prefix xml is always declared. A namespace that is not
// well-formed is reported by each Compile method.
func New(namespaces []Namespace, limits input.Limits) *Compiler {
	c := &Compiler{
		limits:   limits,
		prefixes: map[string]int32{"xml": xmlSpace},
		spaces:   []string{noSpace: "", xmlSpace: xmlIRI, xmlnsSpace: xmlnsIRI},
		names:    []name{{}},
	}
	for _, n := range namespaces {
		c.invalid = errors.Join(c.invalid, c.declare(n))
	}
	return c
}

// declare adds a prefix.
func (c *Compiler) declare(n Namespace) error {
	known, twice := c.prefixes[n.Prefix]
	switch {
	case !isNCName(n.Prefix):
		return fmt.Errorf("declare namespace prefix %q: not a name without a colon", n.Prefix)
	case n.IRI == "":
		return fmt.Errorf("declare namespace prefix %q: the namespace is empty", n.Prefix)
	case n.Prefix == "xmlns":
		return fmt.Errorf("declare namespace prefix %q: it is reserved", n.Prefix)
	case twice && c.spaces[known] != n.IRI:
		return fmt.Errorf("declare namespace prefix %q: it is bound to <%s> already, not to <%s>", n.Prefix,
			c.spaces[known], n.IRI)
	}
	c.prefixes[n.Prefix] = c.space(n.IRI)
	return nil
}

// space returns the index of a namespace, adding it when it is new.
func (c *Compiler) space(iri string) int32 {
	for i, s := range c.spaces {
		if s == iri {
			return int32(i)
		}
	}
	c.spaces = append(c.spaces, iri)
	return int32(len(c.spaces) - 1)
}

// name returns the number of an expanded name, adding it when it is new.
func (c *Compiler) name(space int32, local string) int32 {
	for i, n := range c.names[1:] {
		if n.space == space && n.local == local {
			return int32(i + 1)
		}
	}
	c.names = append(c.names, name{local, space})
	return int32(len(c.names) - 1)
}

// CompileIterator compiles the expression that selects the records: elements,
// attributes, texts or the root, which is also what the empty expression
// selects. It is evaluated against the root.
func (c *Compiler) CompileIterator(expr string) (input.Path, error) {
	if expr == "" {
		expr = "/"
	}
	p, err := c.compile(expr)
	if err != nil {
		return nil, fmt.Errorf("compile iterator %q: %w", expr, err)
	}
	if p.scalar {
		return nil, fmt.Errorf("compile iterator %q: it selects no nodes, its value is a string, a number or a boolean", expr)
	}
	return p, nil
}

// CompileReference compiles an expression that is evaluated against a record.
func (c *Compiler) CompileReference(expr string) (input.Path, error) {
	p, err := c.compile(expr)
	if err != nil {
		return nil, fmt.Errorf("compile reference %q: %w", expr, err)
	}
	if c.outside == "" && !p.inside {
		c.outside = expr
	}
	return p, nil
}

// compile compiles an expression, as plain steps if it is a path of those.
func (c *Compiler) compile(expr string) (*path, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &path{owner: c, expr: expr, id: c.paths}
	if skipBlanks(expr, 0) == len(expr) {
		return nil, errors.New("the expression is empty")
	}
	steps := plain{}
	isPlain := false
	if tokens, err := tokenize(expr); err == nil && c.declared(tokens) {
		steps, isPlain = c.plainSteps(tokens)
	}
	if isPlain {
		p.steps = steps.list
		p.absolute = steps.absolute
		p.name = steps.name
		p.inside = steps.goInside()
		p.same = steps.absolute
	} else {
		full, err := c.compileFull(expr)
		if err != nil {
			return nil, err
		}
		p.full = full
		p.scalar = !full.SelectsNodes()
		p.inside = full.StaysInside()
		p.same = full.SameEverywhere()
	}
	c.paths++
	p.names = len(c.names)
	return p, nil
}

// declared reports whether the prefixes of all names are declared.
func (c *Compiler) declared(tokens []token) bool {
	return !slices.ContainsFunc(tokens, func(t token) bool {
		_, known := c.prefixes[t.prefix]
		return t.kind == nameToken && t.prefix != "" && !known
	})
}

// NewDocument returns an empty [*Document]. Expressions must be compiled
// before.
func (c *Compiler) NewDocument() input.Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newDocument()
}

// newDocument returns a document with the names that are compiled so far.
func (c *Compiler) newDocument() *Document {
	d := &Document{compiler: c, maxNodes: limit(c.limits.MaxNodes), maxDepth: limit(c.limits.MaxDepth)}
	d.spaces = slices.Clone(c.spaces)
	d.ownSpaces = len(c.spaces)
	d.lexicon.fill(c.names)
	return d
}
