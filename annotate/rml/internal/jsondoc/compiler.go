package jsondoc

import (
	"math"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const (
	// DefaultMaxDepth is the largest nesting if the limits have none.
	DefaultMaxDepth = 512
	// DefaultMaxNodes is the largest number of values if the limits have none. A
	// value takes 24 bytes of memory.
	DefaultMaxNodes = 1 << 24
)

// Compiler compiles the JSONPath expressions of one logical source and creates
// documents for them. Its methods must not be called concurrently. Its
// documents and paths are independent of it: each document may be used by one
// goroutine, and documents share paths.
type Compiler struct {
	maxDepth, maxNodes int
	slots              map[string]int // numbers of the member names in the paths
	jayway, strict     bool
}

var _ input.Compiler = (*Compiler)(nil)

// New returns a compiler whose documents keep the limits. Zero fields mean
// [DefaultMaxDepth] and [DefaultMaxNodes].
func New(limits input.Limits) *Compiler {
	c := &Compiler{maxDepth: limits.MaxDepth, maxNodes: limits.MaxNodes, slots: map[string]int{}}
	if c.maxDepth <= 0 {
		c.maxDepth = DefaultMaxDepth
	}
	if c.maxNodes <= 0 {
		c.maxNodes = DefaultMaxNodes
	}
	c.maxNodes = min(c.maxNodes, math.MaxInt32)
	return c
}

// CompileIterator compiles an iterator as [ParseReference] reads it; the empty
// expression is "$".
func (c *Compiler) CompileIterator(expr string) (input.Path, error) {
	if expr == "" {
		expr = "$"
	}
	path, err := c.CompileReference(expr)
	if p, ok := path.(*Path); ok && p.tail != nil {
		return nil, &PathError{
			Expr: expr, Offset: len(expr),
			Reason: "an iterator selects records: it cannot end with a function or with several names",
		}
	}
	return path, err
}

// CompileReference compiles a reference as [ParseReference] reads it.
func (c *Compiler) CompileReference(expr string) (input.Path, error) {
	var p *Path
	var err error
	if c.jayway {
		p, err = parsed(expr, (*parser).jayway)
	} else {
		p, err = ParseReference(expr)
	}
	if err != nil {
		return nil, err
	}
	p.owner = c
	p.jayway = c.jayway
	c.number(&p.query)
	c.numberTail(p.tail)
	return p, nil
}

// NewDocument returns an empty document.
func (c *Compiler) NewDocument() input.Document {
	return &Document{owner: c, jayway: c.jayway, maxDepth: c.maxDepth, maxNodes: c.maxNodes, shapes: newShapes(len(c.slots))}
}

// number gives every member name of a query its slot.
func (c *Compiler) number(q *query) {
	for i := range q.steps {
		c.numberSelector(&q.steps[i])
	}
	for i := range q.segments {
		for j := range q.segments[i].selectors {
			c.numberSelector(&q.segments[i].selectors[j])
		}
	}
}

func (c *Compiler) numberSelector(s *selector) {
	switch s.kind {
	case selectName:
		slot, ok := c.slots[s.name]
		if !ok {
			slot = len(c.slots)
			c.slots[s.name] = slot
		}
		s.slot = slot
	case selectFilter:
		c.numberTest(s.filter)
	}
}

func (c *Compiler) numberTest(l *logical) {
	for _, t := range l.terms {
		c.numberTest(t)
	}
	if l.query != nil {
		c.number(l.query)
	}
	if l.call != nil {
		c.numberCall(l.call)
	}
	c.numberOperand(&l.left)
	c.numberOperand(&l.right)
}

func (c *Compiler) numberCall(called *call) {
	for i := range called.arguments {
		c.numberOperand(&called.arguments[i])
	}
}

func (c *Compiler) numberTail(t *tail) {
	if t == nil {
		return
	}
	for i := range t.names {
		c.numberSelector(&t.names[i])
	}
	for i := range t.arguments {
		c.numberOperand(&t.arguments[i])
	}
}

func (c *Compiler) numberOperand(o *operand) {
	c.numberTail(o.tail)
	if o.query != nil {
		c.number(o.query)
	}
	if o.call != nil {
		c.numberCall(o.call)
	}
}
