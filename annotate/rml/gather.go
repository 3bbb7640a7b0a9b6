package rml

import (
	"strconv"

	"github.com/iotenablers/enablers/annotate/rdf"
)

// gatherMap generates collections and containers (RML-CC).
type gatherMap struct {
	node       node
	as         string // IRI of rdf:List, rdf:Bag, rdf:Seq or rdf:Alt
	maps       []*objectMap
	cartesian  bool // one collection for each combination of terms
	allowEmpty bool
}

// gatherPlan is a gather map, compiled.
type gatherPlan struct {
	list       bool
	class      []byte // type of a container, rendered
	members    []objectStep
	cartesian  bool
	allowEmpty bool
}

// The terms of collections, rendered.
var (
	typeTerm  = rdf.AppendTerm(nil, rdf.NewIRI(rdf.Type))
	firstTerm = rdf.AppendTerm(nil, rdf.NewIRI(rdf.First))
	restTerm  = rdf.AppendTerm(nil, rdf.NewIRI(rdf.Rest))
	nilTerm   = rdf.AppendTerm(nil, rdf.NewIRI(rdf.Nil))
)

// memberPrefix begins the properties rdf:_1, rdf:_2 and so on.
const memberPrefix = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#_"

func (c generatorCompiler) gather(tm *gatherMap) (*gatherPlan, error) {
	if c.gathering++; c.gathering > maxNesting {
		return nil, tm.node.errorf("it gathers itself, or is nested more than %d deep", maxNesting)
	}
	if c.gathered++; c.gathered > maxNested {
		return nil, tm.node.errorf("with it, the mapping has more than %d lists, as often as they are used", maxNested)
	}
	defer func() { c.gathering-- }()
	plan := &gatherPlan{
		list: tm.as == rdfList, class: rdf.AppendTerm(nil, rdf.NewIRI(tm.as)),
		cartesian: tm.cartesian, allowEmpty: tm.allowEmpty,
	}
	for _, om := range tm.maps {
		step, err := c.object(om)
		if err != nil {
			return nil, err
		}
		plan.members = append(plan.members, step)
	}
	c.plan.blanks = true // the cells of lists, and heads without a name
	return plan, nil
}

// collection is a named collection or container. It grows until the end of the
// message or the batch: heads that are equal and in the same graphs name one
// collection.
type collection struct {
	plan    *gatherPlan
	head    []byte
	targets targetSet
	graphs  [][]byte
	members [][]byte
	rule    node // what Trace names
}

// gather pushes the heads of the collections that a gather map generates from a
// record.
func (m *Mapper) gather(g *generator, at place) error {
	bottom := len(m.terms)
	if g.kind != noExpression {
		if err := m.generateNamed(g, at); err != nil {
			return err
		}
	}
	names := m.terms[bottom:len(m.terms):len(m.terms)]
	first := len(m.terms)
	ranges := len(m.ranges)
	complete := true
	for i := range g.gather.members {
		start := len(m.terms)
		if err := m.object(&g.gather.members[i], at); err != nil {
			return err
		}
		m.ranges = append(m.ranges, valueRange{start: start, end: len(m.terms), current: start})
		complete = complete && len(m.terms) > start
	}
	members := m.terms[first:len(m.terms):len(m.terms)]
	sets := m.ranges[ranges:]
	m.ranges = m.ranges[:ranges]
	m.terms = m.terms[:bottom]
	m.agreed.Reset() // the names among the heads
	switch {
	case g.kind != noExpression && len(names) == 0:
		return nil
	case len(members) == 0 || (g.gather.cartesian && !complete):
		return m.emptyCollection(g, at, names)
	}
	var heads [][]byte
	if !g.gather.cartesian {
		return m.pushHeads(m.collect1(g, at, names, members, heads))
	}
	tuple := make([][]byte, len(sets))
	for more := true; more; more = advance(sets) {
		for i, r := range sets {
			tuple[i] = members[r.current-first]
		}
		var err error
		if heads, err = m.collect1(g, at, names, tuple, heads); err != nil {
			return err
		}
	}
	return m.pushHeads(heads, nil)
}

func (m *Mapper) pushHeads(heads [][]byte, err error) error {
	m.terms = append(m.terms, heads...)
	return err
}

// emptyCollection pushes the term of a collection without members: rdf:nil or a
// container that has only a type. It pushes nothing unless the mapping allows
// empty collections.
func (m *Mapper) emptyCollection(g *generator, at place, names [][]byte) error {
	switch {
	case !g.gather.allowEmpty:
		return nil
	case g.gather.list:
		m.terms = append(m.terms, nilTerm)
		return nil
	}
	return m.pushHeads(m.collect1(g, at, names, nil, nil))
}

// collect1 generates one collection of members and adds its heads to others.
func (m *Mapper) collect1(g *generator, at place, names, members, heads [][]byte) ([][]byte, error) {
	if g.kind == noExpression {
		head := m.unnamed(g, at, len(heads))
		if heads = append(heads, head); g.mention {
			return heads, nil
		}
		return heads, m.emitCollection(&collection{
			plan:    g.gather,
			head:    head,
			targets: g.targets,
			graphs:  m.graphs,
			members: members,
		})
	}
	for _, name := range names {
		if m.agreed.Add(name) {
			heads = append(heads, name)
		}
		if g.mention {
			continue
		}
		c := m.named(g, name)
		for _, member := range members {
			if err := m.spend(len(name) + len(member)); err != nil {
				return heads, err
			}
			c.members = append(c.members, append([]byte(nil), member...))
		}
	}
	return heads, nil
}

// named returns the collection of that name in the current graphs.
func (m *Mapper) named(g *generator, head []byte) *collection {
	key := string(head)
	for _, graph := range m.graphs {
		key += "\x00" + string(graph)
	}
	if i, known := m.collected[key]; known {
		return m.collections[i]
	}
	c := &collection{plan: g.gather, head: append([]byte(nil), head...), targets: g.targets, rule: m.rule}
	for _, graph := range m.graphs {
		c.graphs = append(c.graphs, append([]byte(nil), graph...))
	}
	if m.collected == nil {
		m.collected = make(map[string]int)
	}
	m.collected[key] = len(m.collections)
	m.collections = append(m.collections, c)
	return c
}

// finishCollections emits the named collections after all members are known.
func (m *Mapper) finishCollections() error {
	for _, c := range m.collections {
		m.text = m.text[:0]
		m.rule = c.rule
		if err := m.emitCollection(c); err != nil {
			return err
		}
	}
	return nil
}

// emitCollection emits the statements of one collection or container.
func (m *Mapper) emitCollection(c *collection) error {
	if !c.plan.list {
		if err := m.emitMember(c, c.head, typeTerm, c.plan.class); err != nil {
			return err
		}
		start := len(m.text)
		for i, member := range c.members {
			m.text = strconv.AppendInt(append(m.text[:start], memberPrefix...), int64(i+1), 10)
			m.text = append(m.text, '>')
			if err := m.emitMember(c, c.head, m.text[start:], member); err != nil {
				return err
			}
		}
		return nil
	}
	cell := c.head
	for i, member := range c.members {
		if err := m.emitMember(c, cell, firstTerm, member); err != nil {
			return err
		}
		next := nilTerm
		if i+1 < len(c.members) {
			next = m.freshBlank()
		}
		if err := m.emitMember(c, cell, restTerm, next); err != nil {
			return err
		}
		cell = next
	}
	return nil
}

// emitMember is emit for a statement of a collection. It goes to the targets
// and graphs of the statements with its head.
func (m *Mapper) emitMember(c *collection, s, p, o []byte) error {
	if c.targets == 0 {
		return m.emit(s, p, o, c.graphs)
	}
	if len(c.graphs) == 0 {
		return m.send(c.targets, s, p, o, nil)
	}
	for _, graph := range c.graphs {
		if err := m.send(c.targets, s, p, o, graph); err != nil {
			return err
		}
	}
	return nil
}
