package shacl

import (
	"strconv"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// constrain compiles the constraints of a shape (SHACL, section 4).
func (c *compiler) constrain(s *shape, depth int) error {
	for _, step := range []func(*shape) error{c.typed, c.counted, c.ranged, c.textual, c.paired, c.listed} {
		if err := step(s); err != nil {
			return err
		}
	}
	return c.nested(s, depth)
}

func (s *shape) add(c constraint) { s.constraints = append(s.constraints, c) }

func (c *compiler) iris(s *shape, name string) ([]rdf.Term, error) {
	values := c.doc.all(s.node, name)
	for _, v := range values {
		if v.Kind != rdf.IRI {
			return nil, c.doc.errorf(s.node, "sh:%s %s: expected an IRI", name, show(v))
		}
	}
	return values, nil
}

func (c *compiler) typed(s *shape) error {
	classes, err := c.iris(s, "class")
	if err != nil {
		return err
	}
	for _, class := range classes {
		s.add(&classConstraint{c.constant(class), show(class)})
	}
	if _, err := c.iris(s, "datatype"); err != nil {
		return err
	}
	datatype, err := c.doc.one(s.node, "datatype")
	if err != nil {
		return err
	}
	if !datatype.IsZero() {
		s.add(&valueConstraint{component: "Datatype", message: "the value is not a literal of the datatype " + show(datatype),
			test: datatypeTest(datatype.Value)})
	}
	kind, err := c.doc.one(s.node, "nodeKind")
	if err != nil || kind.IsZero() {
		return err
	}
	var allowed []rdf.Kind
	switch name, _ := shaclName(kind); name {
	case "IRI":
		allowed = []rdf.Kind{rdf.IRI}
	case "BlankNode":
		allowed = []rdf.Kind{rdf.Blank}
	case "Literal":
		allowed = []rdf.Kind{rdf.Literal}
	case "BlankNodeOrIRI":
		allowed = []rdf.Kind{rdf.Blank, rdf.IRI}
	case "BlankNodeOrLiteral":
		allowed = []rdf.Kind{rdf.Blank, rdf.Literal}
	case "IRIOrLiteral":
		allowed = []rdf.Kind{rdf.IRI, rdf.Literal}
	default:
		return c.doc.errorf(s.node, "sh:nodeKind %s: not a kind of node", show(kind))
	}
	s.add(&valueConstraint{
		component: "NodeKind",
		message:   "the value is not of the kind " + show(kind),
		test:      kindTest(allowed),
	})
	return nil
}

// number returns a parameter that is a count, and whether it is there.
func (c *compiler) number(s *shape, name string) (int, bool, error) {
	v, err := c.doc.one(s.node, name)
	if err != nil || v.IsZero() {
		return 0, false, err
	}
	n, err := strconv.Atoi(v.Value)
	if err != nil || v.Datatype != rdf.XSDInteger || n < 0 {
		return 0, false, c.doc.errorf(s.node, "sh:%s %s: expected an integer from 0", name, show(v))
	}
	return n, true, nil
}

// onlyProperties refuses parameters that node shapes must not have.
func (c *compiler) onlyProperties(s *shape, names ...string) error {
	for _, name := range names {
		if s.path == nil && c.doc.has(s.node, name) {
			return c.doc.errorf(s.node, "sh:%s needs a property shape, and this shape has no sh:path", name)
		}
	}
	return nil
}

func (c *compiler) counted(s *shape) error {
	if err := c.onlyProperties(s, "minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals"); err != nil {
		return err
	}
	for _, name := range []string{"minCount", "maxCount"} {
		n, ok, err := c.number(s, name)
		if err != nil {
			return err
		}
		if ok {
			s.add(&countConstraint{n, name == "maxCount"})
		}
	}
	unique, err := c.flag(s.node, "uniqueLang")
	// The suite of the W3C wants the text true: "1" has no effect.
	if unique && c.doc.all(s.node, "uniqueLang")[0].Value == "true" {
		s.add(uniqueLangConstraint{})
	}
	return err
}

func (c *compiler) ranged(s *shape) error {
	for _, bound := range []struct{ name, component, text string }{
		{"minExclusive", "MinExclusive", "greater than"}, {"minInclusive", "MinInclusive", "at least"},
		{"maxExclusive", "MaxExclusive", "less than"}, {"maxInclusive", "MaxInclusive", "at most"},
	} {
		v, err := c.doc.one(s.node, bound.name)
		if err != nil {
			return err
		}
		if v.IsZero() {
			continue
		}
		if v.Kind != rdf.Literal || v.Lang != "" {
			return c.doc.errorf(s.node, "sh:%s %s: expected a literal that has an order", bound.name, show(v))
		}
		if _, ok := xsd.Compare(v.Value, v.Datatype, v.Value, v.Datatype); !ok {
			return c.doc.errorf(s.node, "sh:%s %s: values of this datatype have no order, or the text is not one", bound.name, show(v))
		}
		s.add(&valueConstraint{
			component: bound.component,
			message:   "the value is not " + bound.text + " " + show(v),
			test:      rangeTest(bound.name, v),
		})
	}
	return nil
}

func (c *compiler) textual(s *shape) error {
	for _, name := range []string{"minLength", "maxLength"} {
		n, ok, err := c.number(s, name)
		if err != nil {
			return err
		}
		if ok && name == "minLength" {
			s.add(&valueConstraint{
				component: "MinLength",
				message:   "the value has fewer than " + strconv.Itoa(n) + " characters",
				test:      lengthTest(n, -1),
			})
		} else if ok {
			s.add(&valueConstraint{
				component: "MaxLength",
				message:   "the value has more than " + strconv.Itoa(n) + " characters",
				test:      lengthTest(0, n),
			})
		}
	}
	flags, err := c.doc.one(s.node, "flags")
	if err != nil {
		return err
	}
	pattern, err := c.doc.one(s.node, "pattern")
	if err != nil {
		return err
	}
	if !pattern.IsZero() {
		if pattern.Kind != rdf.Literal {
			return c.doc.errorf(s.node, "sh:pattern %s: expected a text", show(pattern))
		}
		re, err := compilePattern(pattern.Value, flags.Value)
		if err != nil {
			return c.doc.errorf(s.node, "%v", err)
		}
		s.add(&valueConstraint{
			component: "Pattern",
			message:   "the value does not match " + strconv.Quote(pattern.Value),
			test:      patternTest(re),
		})
	}
	head, err := c.doc.one(s.node, "languageIn")
	if err != nil || head.IsZero() {
		return err
	}
	tags, err := c.doc.list(s.node, "languageIn", head)
	if err != nil {
		return err
	}
	s.add(&valueConstraint{
		component: "LanguageIn",
		message:   "the value has none of the languages of sh:languageIn",
		test:      languageTest(tags),
	})
	return nil
}

func (c *compiler) paired(s *shape) error {
	for _, name := range []string{"equals", "disjoint", "lessThan", "lessThanOrEquals"} {
		others, err := c.iris(s, name)
		if err != nil {
			return err
		}
		for _, other := range others {
			s.add(&pairConstraint{name: name, other: c.constant(other), text: show(other)})
		}
	}
	return nil
}

func (c *compiler) listed(s *shape) error {
	for _, v := range c.doc.all(s.node, "hasValue") {
		s.add(&hasValueConstraint{c.constant(v), show(v)})
	}
	head, err := c.doc.one(s.node, "in")
	if err != nil {
		return err
	}
	if !head.IsZero() {
		members, err := c.doc.list(s.node, "in", head)
		if err != nil {
			return err
		}
		s.add(&inConstraint{distinct(c.constantIDs(members))})
	}
	closed, err := c.flag(s.node, "closed")
	if err != nil || !closed {
		return err
	}
	var allowed []id
	if head, err = c.doc.one(s.node, "ignoredProperties"); err != nil {
		return err
	}
	if !head.IsZero() {
		ignored, err := c.doc.list(s.node, "ignoredProperties", head)
		if err != nil {
			return err
		}
		allowed = c.constantIDs(ignored)
	}
	for _, property := range c.doc.all(s.node, "property") {
		for _, p := range c.doc.all(property, "path") {
			if p.Kind == rdf.IRI {
				allowed = append(allowed, c.constant(p))
			}
		}
	}
	s.add(&closedConstraint{distinct(allowed)})
	return nil
}

// nested compiles the constraints that refer to shapes.
func (c *compiler) nested(s *shape, depth int) error {
	for _, name := range []string{"not", "node", "property"} {
		for _, node := range c.doc.all(s.node, name) {
			inner, err := c.shape(node, depth+1)
			if err != nil {
				return err
			}
			switch {
			case name == "node" && inner.path != nil:
				return c.doc.errorf(s.node, "sh:node refers to the shape %s, which has a sh:path; "+
					"put it into a node shape: [ sh:property … ]", show(node))
			case name != "property":
				s.add(&shapeConstraint{inner, name == "not"})
			case inner.path == nil:
				return c.doc.errorf(s.node, "sh:property refers to the shape %s, which has no sh:path", show(node))
			default:
				s.properties = append(s.properties, inner)
			}
		}
	}
	for _, name := range []string{"and", "or", "xone"} {
		for _, head := range c.doc.all(s.node, name) {
			members, err := c.doc.list(s.node, name, head)
			if err != nil {
				return err
			}
			all, err := c.each(members, depth)
			if err != nil {
				return err
			}
			s.add(&logicalConstraint{name, all})
		}
	}
	return c.qualified(s, depth)
}

func (c *compiler) each(nodes []rdf.Term, depth int) ([]*shape, error) {
	all := make([]*shape, len(nodes))
	for i, node := range nodes {
		var err error
		if all[i], err = c.shape(node, depth+1); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// qualified compiles sh:qualifiedValueShape. On a node shape its parameters have no effect.
func (c *compiler) qualified(s *shape, depth int) error {
	node, err := c.doc.one(s.node, "qualifiedValueShape")
	if err != nil || node.IsZero() || s.path == nil {
		return err
	}
	q := &qualifiedConstraint{most: -1}
	if q.shape, err = c.shape(node, depth+1); err != nil {
		return err
	}
	var hasLeast, hasMost bool
	if q.least, hasLeast, err = c.number(s, "qualifiedMinCount"); err != nil {
		return err
	}
	most, hasMost, err := c.number(s, "qualifiedMaxCount")
	if err != nil {
		return err
	}
	if hasMost {
		q.most = most
	}
	if !hasLeast && !hasMost {
		return c.doc.errorf(s.node, "sh:qualifiedValueShape needs sh:qualifiedMinCount or sh:qualifiedMaxCount")
	}
	disjoint, err := c.flag(s.node, "qualifiedValueShapesDisjoint")
	if err != nil {
		return err
	}
	seen := map[rdf.Term]bool{node: true}
	for _, parent := range c.doc.used[s.node] {
		for _, property := range c.doc.all(parent, "property") {
			for _, other := range c.doc.all(property, "qualifiedValueShape") {
				if disjoint && !seen[other] {
					seen[other] = true
					sibling, err := c.shape(other, depth+1)
					if err != nil {
						return err
					}
					q.siblings = append(q.siblings, sibling)
				}
			}
		}
	}
	s.add(q)
	return nil
}
