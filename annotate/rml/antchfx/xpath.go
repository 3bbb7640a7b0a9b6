// Package antchfx evaluates the XPath expressions of mappings with
// github.com/antchfx/xmlquery and github.com/antchfx/xpath, for programs that
// need the results of those libraries:
//
//	rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.XPath: antchfx.XPath()}}
//
// The libraries implement a large part of XPath 1.0 and some functions of XPath
// 2.0. Their results are returned unchanged, in their order. They differ from
// the recommendation; the tests of this package have a table of the known
// differences. The main ones are:
//
//   - A name without a prefix also selects elements in a default namespace
//     (xmlns="…"), where XPath selects only those in no namespace. Mappings that
//     rely on it select nothing with the built-in engine: declare a prefix.
//   - p:* selects nothing, whatever the prefix stands for.
//   - @* also selects namespace declarations.
//   - A position after another predicate counts across parents, where it should
//     count among siblings.
//   - A comparison may look at the first node of several only, and a function
//     may take an argument from the wrong node.
//   - Text that is only white space is passed over by some axes and not by
//     others.
//   - Nodes may come out of document order, or twice.
//   - lang() and id() are refused.
//
// The built-in engine has none of these differences and is the default.
package antchfx

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"

	"github.com/iotenablers/enablers/annotate/rml"
)

// XPath returns the evaluator, for [rml.XPath]. It is safe for concurrent use.
// An evaluation that takes more than 4,194,304 steps from node to node, and
// more than 64 for each byte of the document, is an error, and so is one that
// selects more than 1,048,576 nodes. It may read 64 MiB of text, and less by the
// factor by which the functions replace, string-join and translate could extend it
// longer, 1,024 at most; their arguments but the first must be literals.
//
// The library keeps the regular expressions that it compiles for the whole
// process. This package has it keep the last 32, of at most 4,096 bytes.
func XPath() rml.Evaluator {
	return rml.Evaluator{Parse: parse, Compile: compile, Value: value}
}

const (
	// maxNodes is how many nodes one evaluation may select.
	maxNodes = 1 << 20
	// maxExpression is the longest expression in bytes. The parser of the
	// library recurses.
	maxExpression = 16 << 10
)

// parse returns a navigator at the root.
func parse(data []byte) (any, error) {
	root, err := xmlquery.Parse(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	if err != nil {
		return nil, err
	}
	return newNavigator(root, len(data)), nil
}

// compile compiles an expression. The library keeps the state of an evaluation
// in the compiled expression, which is why it is used by one goroutine at a
// time.
func compile(expr string, namespaces map[string]string) (selected func(node any) ([]any, error), err error) {
	defer recovered(&err)
	if len(expr) > maxExpression {
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	declared := map[string]string{"xml": "http://www.w3.org/XML/1998/namespace"}
	maps.Copy(declared, namespaces)
	bounds, err := parseBounds(expr)
	if err != nil {
		return nil, err
	}
	compiled, err := xpath.CompileWithNS(expr, declared)
	if err != nil {
		return nil, err
	}
	return func(at any) ([]any, error) { return evaluate(compiled, bounds, at) }, nil
}

// evaluate returns the nodes that an expression selects, or its value when it
// is a string, a number or a boolean.
func evaluate(compiled *xpath.Expr, bounds bounds, at any) (found []any, err error) {
	defer recovered(&err)
	from, ok := at.(*navigator)
	if !ok {
		return nil, fmt.Errorf("a %T is not a node of an XML document", at)
	}
	switch v := compiled.Evaluate(from.start(bounds)).(type) {
	case *xpath.NodeIterator:
		for v.MoveNext() {
			if len(found) == maxNodes {
				return nil, fmt.Errorf("more than %d nodes are selected: %w", maxNodes, rml.ErrLimit)
			}
			found = append(found, v.Current().Copy())
		}
		return found, nil
	case string, float64, bool:
		return []any{v}, nil
	case nil:
		return nil, errors.New("the library gave no value")
	default:
		return nil, fmt.Errorf("the library gave a %T", v)
	}
}

// value returns the string-value of a node, or another value as string() of
// XPath writes it.
func value(node any) (text string, kind rml.ValueKind, ok bool) {
	switch v := node.(type) {
	case *navigator:
		switch v.Current().Type {
		case xmlquery.CharDataNode: // the library returns nothing for it
			return v.Current().Data, rml.StringValue, true
		case xmlquery.DocumentNode:
			return v.Current().InnerText(), rml.StringValue, true
		}
		return v.NodeNavigator.Value(), rml.StringValue, true
	case string:
		return v, rml.StringValue, true
	case bool:
		return strconv.FormatBool(v), rml.StringValue, true
	case float64:
		return number(v), rml.StringValue, true
	}
	return "", rml.StringValue, false
}

// number writes a number as XPath 1.0 does (section 4.2, function string).
func number(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0: // or minus zero
		return "0"
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// recovered turns a panic into an error: those of a budget, and those of the
// library, which panics for some expressions and some types of operands.
func recovered(err *error) {
	switch r := recover(); r {
	case nil:
	case errTooLong, errTooMuchText, errTooManyCopies:
		*err = r.(error)
	default:
		*err = fmt.Errorf("the library panicked: %v", r)
	}
}
