package jsondoc

import (
	"bytes"
	"regexp"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

type valueKind uint8

const (
	nothing valueKind = iota
	nullValue
	boolValue
	numberValue
	stringValue
	nodeValue // an object or array of the document

	listValue    // of Jayway: a list
	patternValue // of Jayway: a regular expression
)

// value is an operand of a comparison in a filter.
type value struct {
	kind  valueKind
	truth bool
	text  []byte // of a string, decoded; of a number, as written
	node  input.Node

	list    []value
	pattern *regexp.Regexp
}

// decode returns the value of a node.
func (d *Document) decode(n input.Node) value {
	if n == noNode {
		return value{}
	}
	switch t := &d.tape[n]; t.kind {
	case input.String:
		return value{kind: stringValue, text: d.text(n), node: n}
	case input.Integer, input.Double:
		return value{kind: numberValue, text: d.data[t.start:t.end], node: n}
	case input.Boolean:
		return value{kind: boolValue, truth: d.data[t.start] == 't', node: n}
	case input.Null:
		return value{kind: nullValue, node: n}
	}
	return value{kind: nodeValue, node: n}
}

// holds compares two values as RFC 9535 section 2.3.5.2.2 defines: values of
// different types are neither equal nor ordered.
func (d *Document) holds(op comparison, a, b value) bool {
	if !d.spend((len(a.text) + len(b.text)) / bytesPerStep) {
		return false
	}
	switch op {
	case equal:
		return d.same(a, b)
	case notEqual:
		return !d.same(a, b)
	case less:
		return before(a, b)
	case lessOrEqual:
		return before(a, b) || d.same(a, b)
	case greater:
		return before(b, a)
	}
	return before(b, a) || d.same(a, b)
}

// before reports whether a is less than b; only numbers and strings are
// ordered.
func before(a, b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case numberValue:
		return compareNumbers(a.text, b.text) < 0
	case stringValue: // the order of UTF-8 bytes is that of Unicode scalar values
		return bytes.Compare(a.text, b.text) < 0
	}
	return false
}

// same reports whether two values are equal.
func (d *Document) same(a, b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case boolValue:
		return a.truth == b.truth
	case numberValue:
		return compareNumbers(a.text, b.text) == 0
	case stringValue:
		return bytes.Equal(a.text, b.text)
	case nodeValue:
		return d.sameTree(a.node, b.node)
	}
	return true
}

// sameTree reports whether two containers are deeply equal. Members may stand
// in any order; of a repeated name the last member counts. The depth of the
// recursion is that of the document, which Load has bounded.
func (d *Document) sameTree(a, b input.Node) bool {
	if a == b {
		return true
	}
	ta, tb := &d.tape[a], &d.tape[b]
	if ta.kind != tb.kind {
		return false
	}
	if ta.kind == input.Object {
		return d.covers(a, b, true) && d.covers(b, a, false)
	}
	ca, cb := a+1, b+1
	for ca < input.Node(ta.next) && cb < input.Node(tb.next) {
		if !d.spend(1) || !d.same(d.decode(ca), d.decode(cb)) {
			return false
		}
		ca, cb = input.Node(d.tape[ca].next), input.Node(d.tape[cb].next)
	}
	return ca == input.Node(ta.next) && cb == input.Node(tb.next)
}

// covers reports whether every member name of a is in b, with an equal value
// when deep.
func (d *Document) covers(a, b input.Node, deep bool) bool {
	for m, end := a+1, input.Node(d.tape[a].next); m < end; m = input.Node(d.tape[m].next) {
		if deep && d.twin(m, a) != m {
			continue // a later member of the name counts
		}
		found := d.twin(m, b)
		if found == noNode || (deep && !d.same(d.decode(m), d.decode(found))) {
			return false
		}
	}
	return true
}

// twin returns the last member of the object that has the name of the member
// m, or noNode.
func (d *Document) twin(m, object input.Node) input.Node {
	found := noNode
	for c, end := object+1, input.Node(d.tape[object].next); c < end; c = input.Node(d.tape[c].next) {
		if !d.spend(1) {
			return noNode
		}
		if d.sameKey(&d.tape[m], &d.tape[c]) {
			found = c
		}
	}
	return found
}

// sameKey reports whether two members have the same name.
func (d *Document) sameKey(a, b *node) bool {
	if (a.flags|b.flags)&escapedKey == 0 {
		return bytes.Equal(d.data[a.keyStart:a.keyEnd], d.data[b.keyStart:b.keyEnd])
	}
	return bytes.Equal(d.key(a), d.key(b))
}
