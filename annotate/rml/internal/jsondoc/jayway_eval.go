package jsondoc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// jaywayValues appends the values of a reference as CARML takes them from Jayway: those of an
// array that a definite path selects are its elements; an object or an array among the values
// is text as Java writes it; a null is not a value.
func (d *Document) jaywayValues(dst []input.Value, record input.Node, p *Path) ([]input.Value, error) {
	d.steps = stepLimit + stepsPerNode*len(d.tape)
	base := len(d.list)
	if p.query.singular {
		d.push(d.follow(record, p.query.steps))
	} else {
		d.nodes(&p.query, record, record)
	}
	d.listPeak = max(d.listPeak, len(d.list))
	for at, end := base, len(d.list); at < end && d.steps >= 0; at++ {
		n := d.list[at]
		switch {
		case p.tail != nil:
			dst = d.tailValues(dst, p.tail, record, n)
		case p.definite && d.tape[n].kind == input.Array:
			for c, end := n+1, input.Node(d.tape[n].next); c < end && d.steps >= 0; c = input.Node(d.tape[c].next) {
				dst = d.javaValue(dst, c)
			}
		default:
			dst = d.javaValue(dst, n)
		}
	}
	d.list = d.list[:base]
	if d.steps < 0 {
		return dst, fmt.Errorf("evaluate %q at %q: %w", p.expr, d.Place(record), ErrTooCostly)
	}
	return dst, nil
}

// javaValue appends the value of a node in the text that Java gives it.
func (d *Document) javaValue(dst []input.Value, n input.Node) []input.Value {
	t := &d.tape[n]
	switch {
	case t.kind == input.Null:
		return dst
	case t.kind < input.Null && (t.kind == input.String || d.plainNumber(t)):
		return d.appendValue(dst, n)
	}
	start := len(d.composed)
	d.composed = d.appendJava(d.composed, n)
	d.spend(len(d.composed) - start)
	kind := t.kind
	if kind > input.Null {
		kind = input.String
	}
	return append(dst, input.Value{Text: d.composed[start:len(d.composed):len(d.composed)], Kind: kind, Node: n})
}

// appendComposed appends a value that is not part of the text.
func (d *Document) appendComposed(dst []input.Value, at input.Node, kind input.Kind, text []byte) []input.Value {
	return append(dst, input.Value{Text: text, Kind: kind, Node: at})
}

// tailValues appends the values that the end of a path computes from a node.
func (d *Document) tailValues(dst []input.Value, t *tail, root, n input.Node) []input.Value {
	if t.names != nil {
		if d.tape[n].kind != input.Object {
			return dst
		}
		start := len(d.composed)
		d.composed = d.appendMerged(d.composed, t.names, n)
		d.spend(len(d.composed) - start)
		return d.appendComposed(dst, n, input.String, d.composed[start:len(d.composed):len(d.composed)])
	}
	v := d.tailValue(t, root, n)
	switch v.kind {
	case numberValue:
		kind := input.Integer
		if t.function != "length" && t.function != "size" {
			kind = input.Double
		}
		return d.appendComposed(dst, n, kind, v.text)
	case stringValue:
		return d.appendComposed(dst, n, input.String, v.text)
	case listValue:
		for _, e := range v.list {
			if text := d.valueText(e); text != nil {
				dst = d.appendComposed(dst, n, input.String, text)
			}
		}
	case nodeValue:
		dst = d.javaValue(dst, v.node)
	}
	return dst
}

// tailValue returns what the function that ends a path computes from a node, or nothing.
func (d *Document) tailValue(t *tail, root, n input.Node) value {
	isArray := d.tape[n].kind == input.Array
	switch t.function {
	case "length", "size":
		if len(t.arguments) > 0 {
			v := d.jaywayOperandValue(&t.arguments[0], root, root)
			if v.kind == listValue {
				return d.number(len(v.list))
			}
			if v.kind != nodeValue {
				return value{}
			}
			n = v.node
		}
		if d.tape[n].kind >= input.Object {
			return d.number(d.size(n))
		}
	case "first", "last", "index":
		return d.elementValue(t, root, n)
	case "concat":
		var text []byte
		d.visitTail(t, root, n, func(v value) {
			if v.kind == stringValue {
				text = append(text, v.text...)
			}
		})
		return value{kind: stringValue, text: append([]byte{}, text...)}
	case "append":
		if !isArray {
			return value{}
		}
		list := value{kind: listValue}
		d.visitTail(t, root, n, func(v value) { list.list = append(list.list, v) })
		return list
	case "sum", "avg", "min", "max", "stddev":
		return d.aggregate(t, root, n)
	}
	return value{} // keys: CARML generates no term from the set that Jayway returns
}

// elementValue is the function first, last or index.
func (d *Document) elementValue(t *tail, root, n input.Node) value {
	at := int64(0)
	switch {
	case t.function == "last":
		at = -1
	case t.function == "index":
		if len(t.arguments) != 1 {
			return value{}
		}
		v := d.jaywayOperandValue(&t.arguments[0], root, root)
		i, err := strconv.ParseInt(string(v.text), 10, 32)
		if err != nil {
			return value{}
		}
		at = i
	}
	found := d.element(n, at)
	if found == noNode {
		return value{}
	}
	return value{kind: nodeValue, node: found}
}

// visitTail calls use for the elements of an array and for the arguments of the function.
func (d *Document) visitTail(t *tail, root, n input.Node, use func(value)) {
	if d.tape[n].kind == input.Array {
		for c, end := n+1, input.Node(d.tape[n].next); c < end && d.spend(1); c = input.Node(d.tape[c].next) {
			use(d.decode(c))
		}
	}
	for i := range t.arguments {
		v := d.jaywayOperandValue(&t.arguments[i], root, root)
		if v.kind != listValue {
			use(v)
		}
		for _, e := range v.list {
			use(e)
		}
	}
}

// aggregate calculates a number of the numbers of an array and of the arguments.
func (d *Document) aggregate(t *tail, root, n input.Node) value {
	count := 0.0
	sum := 0.0
	squares := 0.0
	least, most := math.Inf(1), math.Inf(-1)
	d.visitTail(t, root, n, func(v value) {
		x, err := strconv.ParseFloat(string(v.text), 64)
		if v.kind != numberValue || err != nil {
			return
		}
		count = count + 1
		sum = sum + x
		squares = squares + x*x
		least, most = min(least, x), max(most, x)
	})
	if count == 0 {
		return value{}
	}
	var result float64
	switch t.function {
	case "sum":
		result = sum
	case "avg":
		result = sum / count
	case "min":
		result = least
	case "max":
		result = most
	default:
		result = math.Sqrt(squares/count - sum*sum/count/count)
	}
	return value{kind: numberValue, text: appendJavaDouble(nil, result)}
}

// jaywayOperandValue evaluates a side of a comparison or an argument.
func (d *Document) jaywayOperandValue(o *operand, root, current input.Node) value {
	if o.kind != operandQuery {
		return o.literal
	}
	base := len(d.list)
	d.nodes(o.query, root, current)
	defer func() { d.list = d.list[:base] }()
	list := value{kind: listValue}
	for _, n := range d.list[base:] {
		v := d.decode(n)
		if o.tail != nil {
			v = d.tailValue(o.tail, root, n)
			if v.kind == nodeValue {
				v = d.decode(v.node)
			}
		}
		if !o.several {
			return v
		}
		list.list = append(list.list, v)
	}
	if o.several {
		return list
	}
	return value{}
}

// jaywayTest evaluates a test of a filter.
func (d *Document) jaywayTest(l *logical, root, current input.Node) bool {
	if !d.spend(1) {
		return false
	}
	left := d.jaywayOperandValue(&l.left, root, current)
	if l.comparison == exists {
		return left.kind != nothing && (left.kind != listValue || len(left.list) > 0)
	}
	right := d.jaywayOperandValue(&l.right, root, current)
	if !d.spend((len(left.text) + len(right.text)) / bytesPerStep) {
		return false
	}
	switch l.comparison {
	case equal:
		return d.alike(left, right)
	case notEqual:
		return !d.alike(left, right)
	case less, lessOrEqual, greater, greaterOrEqual:
		return d.holds(l.comparison, left, right)
	case matchesPattern:
		text := d.valueText(left)
		return text != nil && right.pattern != nil && d.spend(len(text)/bytesPerStep) && right.pattern.Match(text)
	case isIn:
		return d.contains(d.asList(right), left)
	case isNotIn:
		return !d.contains(d.asList(right), left)
	case containsValue:
		if left.kind == stringValue {
			return right.kind == stringValue && d.spend(len(left.text)/bytesPerStep) && bytes.Contains(left.text, right.text)
		}
		return d.contains(d.asList(left), right)
	case sizeIs, emptyIs:
		return d.sizeTest(l.comparison, left, right)
	}
	return d.isList(left) && d.isList(right) && d.setTest(l.comparison, d.asList(left), d.asList(right))
}

// sizeTest compares the length of a string or a container.
func (d *Document) sizeTest(op comparison, left, right value) bool {
	length := 0
	switch left.kind {
	case stringValue:
		length = utf8.RuneCount(left.text)
	case nodeValue:
		length = d.size(left.node)
	case listValue:
		length = len(left.list)
	default:
		return false
	}
	if op == emptyIs {
		return right.kind == boolValue && right.truth == (length == 0)
	}
	return right.kind == numberValue && compareNumbers(right.text, strconv.AppendInt(nil, int64(length), 10)) == 0
}

// setTest compares two lists as sets.
func (d *Document) setTest(op comparison, left, right []value) bool {
	switch op {
	case hasAny, hasNone:
		for _, v := range left {
			if d.contains(right, v) {
				return op == hasAny
			}
		}
		return op == hasNone
	case isSubset:
		left, right = right, left
	}
	for _, v := range right {
		if !d.contains(left, v) {
			return false
		}
	}
	return true
}

func (d *Document) contains(list []value, v value) bool {
	for _, e := range list {
		if !d.spend(1) {
			return false
		}
		if d.alike(e, v) {
			return true
		}
	}
	return false
}

func (d *Document) isList(v value) bool {
	return v.kind == listValue || (v.kind == nodeValue && d.tape[v.node].kind == input.Array)
}

// asList returns the elements of a list or of an array of the document.
func (d *Document) asList(v value) []value {
	if v.kind != nodeValue || d.tape[v.node].kind != input.Array {
		return v.list
	}
	var list []value
	for c, end := v.node+1, input.Node(d.tape[v.node].next); c < end && d.spend(1); c = input.Node(d.tape[c].next) {
		list = append(list, d.decode(c))
	}
	return list
}

// alike reports whether two values are equal as Jayway compares them: a number also equals the
// string that writes it, and what is missing equals nothing.
func (d *Document) alike(a, b value) bool {
	switch {
	case a.kind == nothing || b.kind == nothing || a.kind == patternValue || b.kind == patternValue:
		return false
	case a.kind == numberValue && b.kind == stringValue:
		return string(a.text) == string(b.text)
	case a.kind == stringValue && b.kind == numberValue:
		return string(a.text) == string(b.text)
	case a.kind == listValue || b.kind == listValue:
		x, y := d.asList(a), d.asList(b)
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !d.alike(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return d.same(a, b)
}

// valueText returns a scalar as text, or nil.
func (d *Document) valueText(v value) []byte {
	switch v.kind {
	case stringValue, numberValue:
		return append([]byte{}, v.text...)
	case boolValue:
		return strconv.AppendBool(nil, v.truth)
	case nodeValue:
		text := d.appendJava(nil, v.node)
		d.spend(len(text))
		return text
	}
	return nil
}
