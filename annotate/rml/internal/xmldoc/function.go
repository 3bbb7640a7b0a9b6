package xmldoc

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// function is a function of the core library (section 4).
type function struct {
	least, most int
	kind        kind
	nodes       bool // the argument, where there is one, must be a node set
	call        func(d *Document, f focus, args []expression) value
}

// arity is the number of arguments of the function.
func (f function) arity() string {
	switch f.most {
	case f.least:
		return strconv.Itoa(f.least)
	case many:
		return strconv.Itoa(f.least) + " or more"
	}
	return strconv.Itoa(f.least) + " to " + strconv.Itoa(f.most)
}

// call is a call of a function.
type call struct {
	name     string
	function function
	args     []expression
}

func (c *call) kind() kind { return c.function.kind }

func (c *call) evaluate(d *Document, f focus) value {
	d.spend(1)
	return c.function.call(d, f, c.args)
}

// many is the number of arguments of functions that take any.
const many = math.MaxInt

// functions are the functions by name.
var functions = map[string]function{
	"last": {
		0,
		0,
		number,
		false,
		func(_ *Document, f focus, _ []expression) value { return numeric(float64(f.size)) },
	},
	"position": {
		0,
		0,
		number,
		false,
		func(_ *Document, f focus, _ []expression) value { return numeric(float64(f.position)) },
	},
	"count": {1, 1, number, true, func(d *Document, f focus, args []expression) value {
		return numeric(float64(len(args[0].evaluate(d, f).nodes)))
	}},
	"sum": {1, 1, number, true, func(d *Document, f focus, args []expression) value {
		sum := 0.0
		for _, at := range args[0].evaluate(d, f).nodes {
			sum += parseNumber(d.stringValue(at))
		}
		return numeric(sum)
	}},
	// Without a document type declaration no attribute is an ID.
	"id":            {1, 1, nodeSet, false, func(*Document, focus, []expression) value { return value{kind: nodeSet} }},
	"local-name":    {0, 1, text, true, ofNode(func(d *Document, n *node) string { return string(d.localName(n)) })},
	"namespace-uri": {0, 1, text, true, ofNode(func(d *Document, n *node) string { return d.spaces[n.space] })},
	"name":          {0, 1, text, true, ofNode(func(d *Document, n *node) string { return string(d.qname(n)) })},

	"string": {0, 1, text, false, ofText(textual)},
	"concat": {2, many, text, false, func(d *Document, f focus, args []expression) value {
		var s strings.Builder
		for _, a := range args {
			part := a.evaluate(d, f).str(d)
			d.spend(len(part) / textStep)
			s.WriteString(part)
		}
		return textual(s.String())
	}},
	"starts-with": {2, 2, boolean, false, ofTexts(func(s, t string) value { return truth(strings.HasPrefix(s, t)) })},
	"contains":    {2, 2, boolean, false, ofTexts(func(s, t string) value { return truth(strings.Contains(s, t)) })},
	"substring-before": {2, 2, text, false, ofTexts(func(s, t string) value {
		before, _, found := strings.Cut(s, t)
		if !found {
			before = ""
		}
		return textual(before)
	})},
	"substring-after": {2, 2, text, false, ofTexts(func(s, t string) value {
		_, after, _ := strings.Cut(s, t)
		return textual(after)
	})},
	"substring": {2, 3, text, false, substring},
	"string-length": {
		0,
		1,
		number,
		false,
		ofText(func(s string) value { return numeric(float64(utf8.RuneCountInString(s))) }),
	},
	"normalize-space": {0, 1, text, false, ofText(normalizeSpace)},
	"translate":       {3, 3, text, false, translate},

	"boolean": {1, 1, boolean, false, func(d *Document, f focus, args []expression) value {
		return truth(args[0].evaluate(d, f).boolean(d))
	}},
	"not": {1, 1, boolean, false, func(d *Document, f focus, args []expression) value {
		return truth(!args[0].evaluate(d, f).boolean(d))
	}},
	"true":  {0, 0, boolean, false, func(*Document, focus, []expression) value { return truth(true) }},
	"false": {0, 0, boolean, false, func(*Document, focus, []expression) value { return truth(false) }},
	"lang":  {1, 1, boolean, false, lang},

	"number":  {0, 1, number, false, ofNumber(func(n float64) float64 { return n })},
	"floor":   {1, 1, number, false, ofNumber(math.Floor)},
	"ceiling": {1, 1, number, false, ofNumber(math.Ceil)},
	"round":   {1, 1, number, false, ofNumber(round)},
}

// argument evaluates the only argument, or gives the context node for it.
func argument(d *Document, f focus, args []expression) value {
	if len(args) == 0 {
		return value{kind: nodeSet, nodes: []int32{f.at}}
	}
	return args[0].evaluate(d, f)
}

// ofNode makes a function of the first node of its argument that has a name.
func ofNode(name func(*Document, *node) string) func(*Document, focus, []expression) value {
	return func(d *Document, f focus, args []expression) value {
		nodes := argument(d, f, args).nodes
		if len(nodes) == 0 || d.nodes[nodes[0]].size == 0 {
			return textual("")
		}
		return textual(name(d, &d.nodes[nodes[0]]))
	}
}

// ofText makes a function of a string.
func ofText(fn func(string) value) func(*Document, focus, []expression) value {
	return func(d *Document, f focus, args []expression) value {
		return fn(argument(d, f, args).str(d))
	}
}

// ofTexts makes a function of two strings.
func ofTexts(fn func(s, t string) value) func(*Document, focus, []expression) value {
	return func(d *Document, f focus, args []expression) value {
		return fn(args[0].evaluate(d, f).str(d), args[1].evaluate(d, f).str(d))
	}
}

// ofNumber makes a function of a number.
func ofNumber(fn func(float64) float64) func(*Document, focus, []expression) value {
	return func(d *Document, f focus, args []expression) value {
		return numeric(fn(argument(d, f, args).num(d)))
	}
}

// round rounds to the nearest integer, halves up.
func round(n float64) float64 {
	if math.Abs(n) >= 1<<52 || math.IsNaN(n) {
		return n // an integer already
	}
	return math.Floor(n + 0.5)
}

// substring gives the characters at the positions from the second argument on,
// as many as the third argument, both rounded.
func substring(d *Document, f focus, args []expression) value {
	s, from, to := args[0].evaluate(d, f).str(d), round(args[1].evaluate(d, f).num(d)), math.Inf(1)
	if len(args) == 3 {
		to = from + round(args[2].evaluate(d, f).num(d))
	}
	var kept strings.Builder
	position := 0.0
	for _, r := range s {
		if position++; position >= from && position < to {
			kept.WriteRune(r)
		}
	}
	return textual(kept.String())
}

// normalizeSpace trims white space and makes each run of it one space.
func normalizeSpace(s string) value {
	return textual(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r < utf8.RuneSelf && class[r]&space != 0
	}), " "))
}

// translate replaces each character of the second argument by the one at the
// same place in the third, or drops it.
func translate(d *Document, f focus, args []expression) value {
	s := args[0].evaluate(d, f).str(d)
	from, to := args[1].evaluate(d, f).str(d), []rune(args[2].evaluate(d, f).str(d))
	table := map[rune]rune{}
	i := 0
	for _, r := range from {
		if _, twice := table[r]; !twice {
			table[r] = -1
			if i < len(to) {
				table[r] = to[i]
			}
		}
		i++
	}
	return textual(strings.Map(func(r rune) rune {
		if other, ok := table[r]; ok {
			return other
		}
		return r
	}, s))
}

// lang reports whether the nearest xml:lang is a language or a part of it.
func lang(d *Document, f focus, args []expression) value {
	want := strings.ToLower(args[0].evaluate(d, f).str(d))
	for at := f.at; at >= 0; at = d.nodes[at].parent {
		d.spend(1)
		for i := at + 1; i <= at+int32(d.nodes[at].attrs); i++ {
			if a := &d.nodes[i]; a.space == xmlSpace && string(d.localName(a)) == "lang" {
				have := strings.ToLower(string(d.value(i)))
				return truth(have == want || strings.HasPrefix(have, want+"-"))
			}
		}
	}
	return truth(false)
}
