package shacl

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// valueConstraint tests each value by itself.
type valueConstraint struct {
	component, message string
	test               func(r *run, t rdf.Term) bool
}

func (c *valueConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for _, v := range values {
		r.spend(1)
		if !c.test(r, r.graph.term(v)) {
			if ok = r.failValue(s, focus, v, c.component, c.message); !r.reporting {
				return false
			}
		}
	}
	return ok
}

func datatypeTest(datatype string) func(*run, rdf.Term) bool {
	want := rdf.NewTyped("", datatype).Datatype
	space := xsd.FindLexicalSpace(datatype)
	return func(r *run, t rdf.Term) bool {
		if t.Kind != rdf.Literal {
			return false
		}
		if t.Lang != "" {
			return datatype == rdf.LangString
		}
		if t.Datatype != want {
			return false
		}
		if space == nil {
			return true
		}
		r.scratch = append(r.scratch[:0], t.Value...)
		return space(r.scratch)
	}
}

func kindTest(allowed []rdf.Kind) func(*run, rdf.Term) bool {
	return func(_ *run, t rdf.Term) bool { return slices.Contains(allowed, t.Kind) }
}

func rangeTest(name string, bound rdf.Term) func(*run, rdf.Term) bool {
	return func(_ *run, t rdf.Term) bool {
		if t.Kind != rdf.Literal || t.Lang != "" {
			return false
		}
		order, ok := xsd.Compare(t.Value, t.Datatype, bound.Value, bound.Datatype)
		switch {
		case !ok:
			return false
		case order == 0:
			return strings.HasSuffix(name, "Inclusive")
		}
		return order > 0 == strings.HasPrefix(name, "min")
	}
}

func lengthTest(least, most int) func(*run, rdf.Term) bool {
	return func(_ *run, t rdf.Term) bool {
		n := utf8.RuneCountInString(t.Value)
		return t.Kind != rdf.Blank && n >= least && (most < 0 || n <= most)
	}
}

func patternTest(re *regexp.Regexp) func(*run, rdf.Term) bool {
	return func(r *run, t rdf.Term) bool {
		r.spend(len(t.Value) / 8)
		return t.Kind != rdf.Blank && re.MatchString(t.Value)
	}
}

// languageTest is langMatches of SPARQL 1.1 (section 17.4.3.1) for any of the ranges.
func languageTest(ranges []rdf.Term) func(*run, rdf.Term) bool {
	return func(_ *run, t rdf.Term) bool {
		if t.Lang == "" {
			return false
		}
		for _, want := range ranges {
			n := len(want.Value)
			if want.Value == "*" || (len(t.Lang) >= n && strings.EqualFold(t.Lang[:n], want.Value) &&
				(len(t.Lang) == n || t.Lang[n] == '-')) {
				return true
			}
		}
		return false
	}
}

// classConstraint is sh:class.
type classConstraint struct {
	class id
	text  string
}

func (c *classConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for i := range values {
		v := values[i]
		is := false
		if r.graph.term(v).Kind != rdf.Literal {
			types := r.graph.objects(v, r.shapes.typeOf)
			r.spend(1 + len(types))
			is = contains(types, c.class) || (len(types) > 0 && contains(r.follow(r.shapes.classes, values[i:i+1]), c.class))
		}
		if !is {
			if ok = r.failValue(s, focus, v, "Class", "the value is not an instance of "+c.text); !r.reporting {
				return false
			}
		}
	}
	return ok
}

// countConstraint is sh:minCount or sh:maxCount.
type countConstraint struct {
	n    int
	most bool
}

func (c *countConstraint) check(r *run, s *shape, focus id, values []id) bool {
	switch {
	case c.most && len(values) > c.n:
		return r.fail(s, focus, rdf.Term{}, "MaxCount", fmt.Sprintf("%d values, at most %d are allowed", len(values), c.n))
	case !c.most && len(values) < c.n:
		return r.fail(s, focus, rdf.Term{}, "MinCount", fmt.Sprintf("%d values, at least %d are needed", len(values), c.n))
	}
	return true
}

// uniqueLangConstraint is sh:uniqueLang.
type uniqueLangConstraint struct{}

func (uniqueLangConstraint) check(r *run, s *shape, focus id, values []id) bool {
	counts := map[string]int{}
	ok := true
	for _, v := range values {
		r.spend(1)
		tag := strings.ToLower(r.graph.term(v).Lang)
		if tag == "" {
			continue
		}
		if counts[tag]++; counts[tag] == 2 {
			ok = r.fail(s, focus, rdf.Term{}, "UniqueLang", "several values have the language "+tag)
		}
	}
	return ok
}

// pairConstraint compares the values with those of another property of the focus node.
type pairConstraint struct {
	name  string
	other id
	text  string
}

func (c *pairConstraint) check(r *run, s *shape, focus id, values []id) bool {
	others := r.graph.objects(focus, c.other)
	r.spend(1 + len(others))
	ok := true
	for _, v := range values {
		r.spend(1)
		switch c.name {
		case "equals":
			if !contains(others, v) {
				ok = r.failValue(s, focus, v, "Equals", "the value is not one of "+c.text)
			}
		case "disjoint":
			if contains(others, v) {
				ok = r.failValue(s, focus, v, "Disjoint", "the value is also one of "+c.text)
			}
		default:
			ok = c.ordered(r, s, focus, v, others) && ok
		}
	}
	if c.name == "equals" {
		for _, o := range others {
			if !contains(values, o) {
				ok = r.failValue(s, focus, o, "Equals", "the value of "+c.text+" is missing here")
			}
		}
	}
	return ok
}

func (c *pairConstraint) ordered(r *run, s *shape, focus, v id, others []id) bool {
	component, message := "LessThan", "the value is not less than each of "+c.text
	if c.name == "lessThanOrEquals" {
		component, message = "LessThanOrEquals", "the value is greater than one of "+c.text
	}
	ok := true
	a := r.graph.term(v)
	for _, o := range others {
		r.spend(1)
		b := r.graph.term(o)
		order, comparable := 0, false
		if a.Kind == rdf.Literal && b.Kind == rdf.Literal && a.Lang == "" && b.Lang == "" {
			order, comparable = xsd.Compare(a.Value, a.Datatype, b.Value, b.Datatype)
		}
		if !comparable || order > 0 || (order == 0 && component == "LessThan") {
			ok = r.failValue(s, focus, v, component, message)
		}
	}
	return ok
}

// hasValueConstraint is sh:hasValue.
type hasValueConstraint struct {
	value id
	text  string
}

func (c *hasValueConstraint) check(r *run, s *shape, focus id, values []id) bool {
	return contains(values, c.value) || r.fail(s, focus, rdf.Term{}, "HasValue", "the value "+c.text+" is missing")
}

// inConstraint is sh:in.
type inConstraint struct{ allowed []id }

func (c *inConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for _, v := range values {
		r.spend(1)
		if !contains(c.allowed, v) {
			ok = r.failValue(s, focus, v, "In", "the value is none of those in sh:in")
		}
	}
	return ok
}

// closedConstraint is sh:closed.
type closedConstraint struct{ allowed []id }

func (c *closedConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for _, v := range values {
		for _, t := range r.graph.about(v) {
			r.spend(1)
			if contains(c.allowed, t.p) {
				continue
			}
			ok = false
			if r.reporting {
				r.add(s, focus, string(rdf.AppendTerm(nil, r.graph.term(t.p))), r.graph.term(t.o), "Closed",
					"the shape is closed and does not have this property")
			}
		}
	}
	return ok
}

// shapeConstraint is sh:node or sh:not.
type shapeConstraint struct {
	shape *shape
	not   bool
}

func (c *shapeConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for _, v := range values {
		if r.conforms(c.shape, v) != c.not {
			continue
		}
		if c.not {
			ok = r.failValue(s, focus, v, "Not", "the value conforms to a shape that it must not conform to")
		} else {
			ok = r.failValue(s, focus, v, "Node", "the value does not conform to the shape "+show(c.shape.node))
		}
	}
	return ok
}

// logicalConstraint is sh:and, sh:or or sh:xone.
type logicalConstraint struct {
	name   string
	shapes []*shape
}

func (c *logicalConstraint) check(r *run, s *shape, focus id, values []id) bool {
	ok := true
	for _, v := range values {
		n := 0
		for _, inner := range c.shapes {
			if r.conforms(inner, v) {
				n++
			}
		}
		switch {
		case c.name == "and" && n < len(c.shapes):
			ok = r.failValue(s, focus, v, "And", fmt.Sprintf("the value conforms to %d of %d shapes", n, len(c.shapes)))
		case c.name == "or" && n == 0:
			ok = r.failValue(s, focus, v, "Or", fmt.Sprintf("the value conforms to none of %d shapes", len(c.shapes)))
		case c.name == "xone" && n != 1:
			ok = r.failValue(s, focus, v, "Xone", fmt.Sprintf("the value conforms to %d shapes, one is needed", n))
		}
	}
	return ok
}

// qualifiedConstraint is sh:qualifiedValueShape.
type qualifiedConstraint struct {
	shape       *shape
	siblings    []*shape
	least, most int // most is below 0 for none
}

func (c *qualifiedConstraint) check(r *run, s *shape, focus id, values []id) bool {
	n := 0
	for _, v := range values {
		if r.conforms(c.shape, v) && !slices.ContainsFunc(c.siblings, func(other *shape) bool { return r.conforms(other, v) }) {
			n++
		}
	}
	ok := true
	if n < c.least {
		ok = r.fail(s, focus, rdf.Term{}, "QualifiedMinCount", fmt.Sprintf("%d values conform to the shape, at least %d are needed",
			n, c.least))
	}
	if c.most >= 0 && n > c.most {
		ok = r.fail(s, focus, rdf.Term{}, "QualifiedMaxCount", fmt.Sprintf("%d values conform to the shape, at most %d are allowed",
			n, c.most))
	}
	return ok
}
