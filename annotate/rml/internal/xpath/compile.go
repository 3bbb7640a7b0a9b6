package xpath

import (
	"fmt"
	"unicode/utf8"
)

const (
	// maxSource is the longest expression in bytes.
	maxSource = 1 << 16
	// maxNesting is how deep expressions may stand within each other.
	maxNesting = 128
)

// The namespaces that are always declared.
const (
	schemaSpace   = "http://www.w3.org/2001/XMLSchema"
	functionSpace = "http://www.w3.org/2005/xpath-functions"
	mathSpace     = "http://www.w3.org/2005/xpath-functions/math"
	xmlSpace      = "http://www.w3.org/XML/1998/namespace"
)

// predeclared are the prefixes that every expression may use.
var predeclared = map[string]string{"xs": schemaSpace, "fn": functionSpace, "math": mathSpace, "xml": xmlSpace}

// Options say how an expression is read.
type Options struct {
	// Namespaces are the prefixes that it may use, besides xs, fn, math and xml.
	Namespaces map[string]string
	// Compatible has it evaluated in the mode that is compatible with XPath 1.0 (section 2.1.1 of
	// XPath 3.1), so that the expressions of XPath 1.0 keep their values. Where one item is expected, the
	// first of several is taken; arithmetic is that of doubles, and what is not a number is NaN; comparisons
	// convert their operands as in XPath 1.0. Beyond what the recommendation asks for, a number is written
	// as XPath 1.0 does, without an exponent.
	Compatible bool
	// Number, if it is not nil, returns the number above 0 that the trees give to a name in [Node].Known.
	// Names are compared by their numbers then.
	Number func(space, local string) int32
}

// Compile compiles an expression. One that is not valid is an [*Error] with an offset. The options may be nil.
func Compile(source string, o *Options) (*Expression, error) {
	x, err := parse(source, o)
	if err != nil {
		return nil, err
	}
	h := hoister{reaches: reaches{}}
	h.inside(x.root, x.SameEverywhere())
	x.hoisted = h.slots
	return x, nil
}

// parse reads an expression.
func parse(source string, o *Options) (*Expression, error) {
	if o == nil {
		o = &Options{}
	}
	switch {
	case len(source) > maxSource:
		return nil, &Error{Code: "limit", Offset: maxSource, Reason: fmt.Sprintf("the expression is longer than %d bytes", maxSource)}
	case !utf8.ValidString(source):
		return nil, &Error{Code: "XPST0003", Offset: 0, Reason: "the expression is not UTF-8"}
	}
	p := &parser{src: source, namespaces: o.Namespaces, number: o.Number, compatible: o.Compatible}
	root := p.expression()
	if p.skip(); p.err == nil && p.pos < len(p.src) {
		p.fail("XPST0003", "expected an operator or the end, found %q", p.ahead())
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Expression{source: source, root: root, slots: p.slots, nodes: selectsNodes(root), reach: reaches{}.of(root),
		compatible: o.Compatible}, nil
}

// selectsNodes reports whether the value of an expression may have nodes.
func selectsNodes(x expr) bool {
	switch x := x.(type) {
	case nil, *constant, *span, *logical, *concatenation, *quantified, *arithmetic, *sign, *valueComparison,
		*generalComparison, *nodeComparison, *castTo:
		return false
	case *typeTest:
		return x.treat && selectsNodes(x.of)
	case *call:
		return x.function.nodes
	case *path:
		return selectsNodes(x.steps[len(x.steps)-1])
	case *simpleMap:
		return selectsNodes(x.right)
	case *condition:
		return selectsNodes(x.then) || selectsNodes(x.otherwise)
	case *binding:
		return selectsNodes(x.ret)
	case *filter:
		return selectsNodes(x.of)
	case *list:
		for _, of := range x.of {
			if selectsNodes(of) {
				return true
			}
		}
		return false
	}
	return true
}
