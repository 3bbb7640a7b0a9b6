package xpath

import "strings"

// function is a function of the library.
type function struct {
	params   []param
	required int
	variadic bool // the last parameter may repeat
	nodes    bool // the value may be nodes
	// reach is what the value depends on beside the arguments. The focus counts only in a call without the
	// arguments that may be left out.
	reach reach
	call  func(e *evaluation, f focus, args []sequence) sequence
}

// param is the type of a parameter. A node that is an argument is atomized unless items or nodes are
// expected.
type param struct {
	kind  byte // s string, n number, i integer, d double, a any atomic, I item, N node, D date, T time, M dateTime, U duration
	least int
	many  bool
}

// def defines a function. The signature has a word for each parameter: the letter of its kind with an
// occurrence indicator. Those after | may be left out, and … repeats the last one.
func def(signature string, call func(e *evaluation, f focus, args []sequence) sequence) function {
	f := function{call: call, required: -1}
	for word := range strings.FieldsSeq(signature) {
		switch word {
		case "|":
			f.required = len(f.params)
			continue
		case "…":
			f.variadic = true
			continue
		}
		p := param{kind: word[0], least: 1}
		if len(word) > 1 {
			p.many = word[1] != '?'
			if word[1] != '+' {
				p.least = 0
			}
		}
		f.params = append(f.params, p)
	}
	if f.required < 0 {
		f.required = len(f.params)
	}
	return f
}

// nodeFunction is def for a function whose value may be nodes.
func nodeFunction(signature string, call func(e *evaluation, f focus, args []sequence) sequence) function {
	f := def(signature, call)
	f.nodes = true
	return f
}

// reaching returns the function with what its value depends on beside the arguments.
func (f function) reaching(r reach) function {
	f.reach = r
	return f
}

// call is a call of a function.
type call struct {
	name     string
	function *function
	args     []expr
	pattern  *pattern // of a function with a regular expression that is constant
}

func (c *call) eval(e *evaluation, f focus) sequence {
	before := len(e.args)
	for i, a := range c.args {
		v := e.firstNode(c, i, f)
		if v == nil {
			v = e.value(a, f)
		}
		if c.function.params != nil {
			v = e.argument(c, i, v)
		}
		if e.err != nil {
			return nil
		}
		e.args = append(e.args, v)
	}
	args := e.args[before:]
	e.args = e.args[:before] // functions evaluate no expressions
	if c.pattern != nil {
		return e.withPattern(c, args)
	}
	return c.function.call(e, f, args)
}

// firstNode returns the text of the first node of an argument, where the mode that is compatible with XPath
// 1.0 takes no other. It is empty without nodes, and nil where the argument is to be evaluated as a whole.
func (e *evaluation) firstNode(c *call, at int, f focus) sequence {
	if !e.compatible || c.function.params == nil {
		return nil
	}
	x, ok := asNodes(c.args[at])
	_, here := c.args[at].(contextItem)
	if here = here && f.at.typ == nodeItem; !ok && !here {
		return nil
	}
	if p := c.function.params[min(at, len(c.function.params)-1)]; p.many || (p.kind != 's' && p.kind != 'a') {
		return nil
	}
	if here {
		return e.oneText(e.nodeText(f.at.n))
	}
	if h, ok := x.(*hoistedNodes); ok {
		v := e.value(h, f)
		if len(v) == 0 {
			return sequence{}
		}
		return e.oneText(e.nodeText(v[0].n))
	}
	nodes := x.appendNodes(e, f, e.buffer())
	e.release(nodes)
	if !e.spend(1) || len(nodes) == 0 {
		return sequence{}
	}
	return e.oneText(e.nodeText(int64(nodes[0])))
}

// argument converts an argument to the type of its parameter (section 3.1.5.2 of XPath 3.1).
func (e *evaluation) argument(c *call, at int, v sequence) sequence {
	p := c.function.params[min(at, len(c.function.params)-1)]
	if len(v) == 1 && p.accepts(v[0].typ) && (v[0].typ != nodeItem || p.kind != 'a') {
		return v
	}
	if e.compatible && !p.many {
		v = e.compatibleArgument(p.kind, v)
	}
	if p.kind != 'I' && p.kind != 'N' {
		v = e.atomize(v)
	}
	if len(v) < p.least || (len(v) > 1 && !p.many) {
		want := "one item"
		if p.least == 0 {
			want = "at most one item"
		}
		if p.many {
			want = "at least one item"
		}
		return e.fail("XPTY0004", "argument %d of %s() has %d items, expected %s", at+1, c.name, len(v), want)
	}
	first := 0
	for first < len(v) && p.accepts(v[first].typ) {
		first++
	}
	if first == len(v) || !e.hold(len(v)*itemBytes) {
		return v
	}
	out := e.items(len(v))
	for i := range v {
		if out[i] = v[i]; i >= first {
			out[i] = e.convertArgument(p, v[i])
		}
		if e.err != nil {
			return nil
		}
		if !p.accepts(out[i].typ) {
			return e.fail("XPTY0004", "argument %d of %s() is of type %v", at+1, c.name, v[i].typ)
		}
	}
	return out
}

// atom is the type that untyped values become for a parameter.
func (p param) atom() atom {
	switch p.kind {
	case 's':
		return stringAtom
	case 'n', 'd':
		return double
	case 'i':
		return integer
	case 'D':
		return dateAtom
	case 'T':
		return timeAtom
	case 'M':
		return dateTime
	case 'U':
		return duration
	}
	return untyped
}

// accepts reports whether values of a type are of the type of the parameter.
func (p param) accepts(typ atom) bool {
	switch p.kind {
	case 'n':
		return typ.numeric()
	case 'U':
		return typ >= duration && typ <= dayTime
	case 'N':
		return typ == nodeItem
	case 'a', 'I':
		return true
	}
	return typ == p.atom()
}

// convertArgument converts one item to the type of a parameter, if that is possible without a cast.
func (e *evaluation) convertArgument(p param, x item) item {
	switch {
	case p.kind == 's' && x.typ.textual():
		x.typ = stringAtom
	case x.typ == untyped, p.kind == 'd' && x.typ.numeric():
		return e.cast(x, p.atom())
	}
	return x
}

// call parses the arguments of a function whose name is read, after the one before => if any.
func (p *parser) call(name eqName, start int, first expr) expr {
	c := &call{name: name.local}
	if first != nil {
		c.args = append(c.args, first)
	}
	p.expect("(")
	if !p.take(")") {
		for p.err == nil {
			p.skip()
			if strings.HasPrefix(p.src[p.pos:], "?") {
				p.fail("unsupported", "partial application with ? is not supported")
			}
			c.args = append(c.args, p.single())
			if !p.take(",") {
				break
			}
		}
		p.expect(")")
	}
	if p.err != nil {
		return nil
	}
	space := name.space
	if space == "" && !name.braced {
		space = functionSpace
	}
	if space == schemaSpace {
		return p.constructor(name.local, start, c.args)
	}
	key := name.local
	switch space {
	case functionSpace:
	case mathSpace:
		key = "math:" + key
	default:
		key = ""
	}
	f, known := library[key]
	if key == "id" && p.compatible {
		f = noID()
		known = true
	}
	if !known {
		p.pos = start
		if absent[key] {
			p.fail("unsupported", "the function %s() is not supported", name.local)
		} else {
			p.fail("XPST0017", "the function %s() is not known", name.local)
		}
		return nil
	}
	if n := len(c.args); n < f.required || (n > len(f.params) && !f.variadic) {
		p.pos = start
		p.fail("XPST0017", "%s() has %d arguments, expected %s", name.local, n, f.arity())
		return nil
	}
	c.function = &f
	p.constantPattern(c, start)
	return c
}

// arity is the number of arguments, for messages.
func (f *function) arity() string {
	number := func(n int) string { return string(rune('0' + n)) }
	switch {
	case f.variadic:
		return number(f.required) + " or more"
	case f.required == len(f.params):
		return number(f.required)
	}
	return number(f.required) + " to " + number(len(f.params))
}

// constructor turns a call such as xs:integer(…) into a cast.
func (p *parser) constructor(local string, start int, args []expr) expr {
	t := &sequenceType{}
	switch {
	case !t.named(local) || t.anyAtom || t.numbers || t.typ == qname:
		p.pos = start
		p.fail("XPST0017", "the function xs:%s() is not known", local)
	case len(args) != 1:
		p.pos = start
		p.fail("XPST0017", "xs:%s() has %d arguments, expected 1", local, len(args))
	default:
		return &castTo{of: args[0], typ: t}
	}
	return nil
}

// absent are functions of the specification that this package leaves out.
var absent = map[string]bool{
	"doc": true, "doc-available": true, "collection": true, "uri-collection": true, "unparsed-text": true, "unparsed-text-lines": true,
	"unparsed-text-available": true, "environment-variable": true, "available-environment-variables": true, "for-each": true,
	"filter": true, "fold-left": true, "fold-right": true, "for-each-pair": true, "sort": true, "apply": true, "function-lookup": true,
	"function-name": true, "function-arity": true, "random-number-generator": true, "parse-json": true, "json-doc": true,
	"json-to-xml": true, "xml-to-json": true, "parse-xml": true, "parse-xml-fragment": true, "serialize": true, "transform": true,
	"load-xquery-module": true, "resolve-QName": true, "QName": true, "namespace-uri-for-prefix": true, "in-scope-prefixes": true,
	"format-integer": true, "base-uri": true, "document-uri": true, "static-base-uri": true, "resolve-uri": true, "id": true,
	"element-with-id": true, "idref": true, "nilled": true, "default-language": true, "analyze-string": true, "collation-key": true,
	"prefix-from-QName": true, "local-name-from-QName": true, "namespace-uri-from-QName": true, "parse-ietf-date": true,
}
