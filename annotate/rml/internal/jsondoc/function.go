package jsondoc

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// exprType is a type of RFC 9535 section 2.4.1.
type exprType uint8

const (
	valueType exprType = iota
	logicalType
	nodesType
)

// String names the type for an error message.
func (t exprType) String() string {
	return [...]string{"a single value", "a test", "a query"}[t]
}

// function is one of the five functions of RFC 9535.
type function struct {
	name       string
	parameters []exprType
	result     exprType
	anchored   bool // of match: the whole string
	value      func(d *Document, c *call, root, current input.Node) value
}

func (f *function) signature() string {
	names := make([]string, len(f.parameters))
	for i, p := range f.parameters {
		names[i] = p.String()
	}
	return f.name + "() takes " + strings.Join(names, " and ")
}

// lookupFunction returns the function of that name, or nil.
func lookupFunction(name string) *function {
	switch name {
	case "length":
		return &function{name: name, parameters: []exprType{valueType}, value: (*Document).callLength}
	case "count":
		return &function{name: name, parameters: []exprType{nodesType}, value: (*Document).callCount}
	case "value":
		return &function{name: name, parameters: []exprType{nodesType}, value: (*Document).callValue}
	case "match":
		return &function{
			name:       name,
			parameters: []exprType{valueType, valueType},
			result:     logicalType,
			anchored:   true,
			value:      (*Document).callRegexp,
		}
	case "search":
		return &function{
			name:       name,
			parameters: []exprType{valueType, valueType},
			result:     logicalType,
			value:      (*Document).callRegexp,
		}
	}
	return nil
}

func functionNames() []string { return []string{"count", "length", "match", "search", "value"} }

// call is a function applied to arguments.
type call struct {
	function  *function
	arguments []operand
	pattern   pattern // of match and search when it is a literal
}

// prepare compiles a literal pattern. A pattern that is not an I-Regexp matches
// nothing (RFC 9535 section 2.4.6).
func (c *call) prepare() {
	if c.function.result != logicalType || c.arguments[1].kind != operandLiteral {
		return
	}
	if v := c.arguments[1].literal; v.kind == stringValue {
		c.pattern = compilePattern(string(v.text), c.function.anchored)
	}
}

// callLength counts the characters of a string, the elements of an array or
// the members of an object.
func (d *Document) callLength(c *call, root, current input.Node) value {
	v := d.operand(&c.arguments[0], root, current)
	switch v.kind {
	case stringValue:
		d.spend(len(v.text) / bytesPerStep)
		return d.number(utf8.RuneCount(v.text))
	case nodeValue:
		return d.number(d.size(v.node))
	}
	return value{}
}

func (d *Document) callCount(c *call, root, current input.Node) value {
	base := len(d.list)
	d.nodes(c.arguments[0].query, root, current)
	count := len(d.list) - base
	d.list = d.list[:base]
	return d.number(count)
}

func (d *Document) callValue(c *call, root, current input.Node) value {
	base := len(d.list)
	d.nodes(c.arguments[0].query, root, current)
	found := noNode
	if len(d.list)-base == 1 {
		found = d.list[base]
	}
	d.list = d.list[:base]
	return d.decode(found)
}

func (d *Document) callRegexp(c *call, root, current input.Node) value {
	text := d.operand(&c.arguments[0], root, current)
	pattern := d.operand(&c.arguments[1], root, current)
	if text.kind != stringValue || pattern.kind != stringValue {
		return value{kind: boolValue}
	}
	compiled, cost := &c.pattern, 1
	if c.arguments[1].kind != operandLiteral {
		compiled = d.pattern(pattern.text, c.function.anchored)
		cost += compiled.weight
	}
	matched := compiled.regexp != nil && d.spend(len(text.text)*cost/bytesPerStep) && compiled.regexp.Match(text.text)
	return value{kind: boolValue, truth: matched}
}

// number returns a count as a value.
func (d *Document) number(n int) value {
	return value{kind: numberValue, text: []byte(strconv.Itoa(n))}
}
