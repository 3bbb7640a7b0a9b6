// Package paessler evaluates the JSONPath expressions of mappings with
// github.com/PaesslerAG/jsonpath, for programs that need the results of that
// library:
//
//	rml.Options{Evaluators: map[rml.Formulation]rml.Evaluator{rml.JSONPath: paessler.JSONPath()}}
//
// The library follows the article that JSONPath comes from rather than RFC
// 9535, and its filters are expressions of gval.Full: ==, =~, &&, in and so on,
// with conversions between text, numbers and booleans. Among what differs from
// the RFC: an index from the end ($[-1]) selects nothing, a slice cannot follow
// "..", the test for existence [?@.a] reads the value as a boolean, null cannot
// be compared with, and a filter that calls a function such as length() selects
// nothing. The built-in engine has none of these differences and is the
// default.
//
// The package adds features that mappings need and the library does not have:
//
//   - Bare paths: a.b, Country Code, a[*].b are $.a.b, $["Country Code"] and
//     $.a[*].b, and a path may begin with @ instead of $.
//   - Names in single quotes, such as $['a b'], which the library refuses.
//   - One order. The library visits the members of an object as Go does,
//     in another order each time. Where an expression has *, .. or ? the nodes
//     are sorted by position: indexes in ascending order, and members
//     by name, bytewise. Other expressions keep the order of the library. A
//     filter that itself compares a list of several members compares it in no
//     fixed order.
//   - Numbers keep their text: 21.50 stays 21.50.
//
// A path that leads nowhere selects nothing. An expression that is not a path,
// such as $.a + 1, is refused.
package paessler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml"
)

// JSONPath returns the evaluator, for [rml.JSONPath]. It is safe for concurrent
// use. The library cannot be interrupted, and its time grows with the depth of
// the text for each ".." in the expression. An evaluation is an error if the
// number of values times the depth to that power is more than 268,435,456. More
// than 1,048,576 nodes selected by one evaluation are an error. These limits do
// not bound filters that visit the whole text for each value, such as
// [?($..a)]: compile untrusted mappings with the built-in engine.
func JSONPath() rml.Evaluator {
	return rml.Evaluator{Parse: parse, Compile: compile, Value: value, Elements: elements}
}

// document is one JSON text.
type document struct {
	numbers map[*number]string // their source text
	values  int
	depth   int // of the deepest value, 1 for the root
}

// node is a value of a document: nil, bool, string, *number, []any or
// map[string]any.
type node struct {
	in    *document
	value any
}

// number is a JSON number in a form that gval can calculate with: gval
// dereferences pointers. The pointer identifies the number of the document.
type number float64

// String returns the number where gval needs text.
func (n *number) String() string { return strconv.FormatFloat(float64(*n), 'g', -1, 64) }

func parse(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("there is text after the JSON value")
	}
	d := &document{numbers: make(map[*number]string)}
	return node{d, d.adopt(root, 1)}, nil
}

// adopt replaces the numbers of a value, in place, and counts.
func (d *document) adopt(value any, depth int) any {
	d.values = d.values + 1
	d.depth = max(d.depth, depth)
	switch v := value.(type) {
	case json.Number:
		f, _ := v.Float64() // a number out of range is ±Inf, which compares correctly
		n := new(number(f))
		d.numbers[n] = string(v)
		return n
	case []any:
		for i := range v {
			v[i] = d.adopt(v[i], depth+1)
		}
	case map[string]any:
		for name := range v {
			v[name] = d.adopt(v[name], depth+1)
		}
	}
	return value
}

func value(at any) (text string, kind rml.ValueKind, ok bool) {
	n, ok := at.(node)
	if !ok {
		return "", rml.NullValue, false
	}
	switch v := n.value.(type) {
	case nil:
		return "", rml.NullValue, true
	case string:
		return v, rml.StringValue, true
	case bool:
		return strconv.FormatBool(v), rml.BooleanValue, true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), rml.DoubleValue, true // calculated by a script
	case *number:
		text := n.in.numbers[v]
		if strings.ContainsAny(text, ".eE") {
			return text, rml.DoubleValue, true
		}
		return text, rml.IntegerValue, true
	case []any, map[string]any:
		return string(n.in.write(nil, v)), rml.CompositeValue, true
	}
	return fmt.Sprint(n.value), rml.StringValue, true
}

func elements(at any) ([]any, bool) {
	n, ok := at.(node)
	if !ok {
		return nil, false
	}
	list, ok := n.value.([]any)
	if !ok {
		return nil, false
	}
	nodes := make([]any, len(list))
	for i, element := range list {
		nodes[i] = node{n.in, element}
	}
	return nodes, true
}
