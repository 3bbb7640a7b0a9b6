package rml

import (
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// step runs the nth triples map over the records of its loaded input.
func (m *Mapper) step(nth int, s *step) error {
	records, err := m.records(s.input, s.iterator)
	if err != nil {
		return err
	}
	m.found[nth] += len(records)
	m.once = m.plan.doubtful || len(records) > 1
	for _, record := range records {
		if err := m.record(s, record); err != nil {
			return m.during(s, record, err)
		}
	}
	m.once = true
	return nil
}

// record runs one triples map over one record. The terms of the record lie on
// the stack in this order: graphs of the subject map, subjects, then for each
// predicate-object map in turn its graphs, predicates and objects.
func (m *Mapper) record(s *step, record input.Node) error {
	m.text = m.text[:0]
	m.terms = m.terms[:0]
	at := place{input: s.input, record: record}
	if err := m.generateAll(s.graphs, at); err != nil {
		return err
	}
	graphs := len(m.terms)
	m.graphs = m.terms[:graphs:graphs]
	if graphs == 0 && len(s.graphs) > 0 && !s.placed() {
		return nil
	}
	if err := m.generate(s.subject, at); err != nil {
		return err
	}
	m.mark(graphs, s.subject.targets)
	shared, text := len(m.terms), len(m.text)
	if shared == graphs {
		return nil
	}
	flat := len(s.graphs) == 0 && shared == 1
	for i := range s.poms {
		pom := &s.poms[i]
		if m.tracing {
			m.rule = pom.node
		}
		if flat && pom.flat != nil {
			if err := m.flat(pom.flat, m.terms[0], at); err != nil {
				return err
			}
			continue
		}
		if err := m.predicateObjects(s, pom, at, graphs); err != nil {
			return err
		}
		m.terms = m.terms[:shared]
		m.text = m.text[:text]
	}
	return nil
}

// placed reports whether a predicate-object map has graphs of its own.
func (s *step) placed() bool {
	return slices.ContainsFunc(s.poms, func(pom pomStep) bool { return len(pom.graphs) > 0 })
}

// predicateObjects runs one predicate-object map for the subjects that lie on
// the stack above the graphs of the subject map.
func (m *Mapper) predicateObjects(s *step, pom *pomStep, at place, graphs int) error {
	subjects := m.terms[graphs:]
	m.graphs = m.terms[:graphs:graphs]
	start := len(m.terms)
	if len(pom.graphs) > 0 {
		if err := m.generateAll(pom.graphs, at); err != nil {
			return err
		}
		m.union = append(append(m.union[:0], m.graphs...), m.terms[start:]...)
		m.graphs = m.union
	}
	if len(m.plan.targets) > 0 {
		m.graphMarks = append(append(m.graphMarks[:0], m.marks[:graphs]...), m.marks[start:len(m.terms)]...)
	}
	if len(m.graphs) == 0 && len(s.graphs)+len(pom.graphs) > 0 {
		return nil // its graph maps have no graph for this record
	}
	start = len(m.terms)
	if err := m.generateAll(pom.predicates, at); err != nil {
		return err
	}
	middle := len(m.terms)
	if middle == start {
		return nil
	}
	for i := range pom.objects {
		if err := m.object(&pom.objects[i], at); err != nil {
			return err
		}
	}
	several := len(subjects) > 1 || middle-start > 1 || len(m.terms)-middle > 1 || len(m.graphs) > 1
	if several && !m.once && m.limit > 0 {
		m.once = true
		defer func() { m.once = false }()
	}
	if len(m.plan.targets) > 0 {
		return m.emitProducts(graphs, len(subjects), start, middle)
	}
	for _, subject := range subjects {
		for _, predicate := range m.terms[start:middle] {
			for _, object := range m.terms[middle:] {
				if err := m.emit(subject, predicate, object, m.graphs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// object pushes the objects of one object map.
func (m *Mapper) object(o *objectStep, at place) error {
	start := len(m.terms)
	if o.join != nil {
		err := m.join(o.join, at)
		m.mark(start, o.join.subject.targets)
		return err
	}
	err := m.generate(o.gen, at)
	m.mark(start, o.gen.targets)
	return err
}

// emit adds a statement to each of the graphs, or to the default graph when
// there is none.
func (m *Mapper) emit(s, p, o []byte, graphs [][]byte) error {
	if len(graphs) == 0 {
		return m.add(s, p, o, nil)
	}
	for _, g := range graphs {
		if err := m.add(s, p, o, g); err != nil {
			return err
		}
	}
	return nil
}

// add adds one statement.
func (m *Mapper) add(s, p, o, g []byte) error {
	if len(g) > 0 {
		s, o = m.scoped(s, g, 0), m.scoped(o, g, 1)
		if m.plan.graphless && !m.collect {
			g = nil
		}
	}
	if err := m.spend(len(s) + len(p) + len(o) + len(g)); err != nil {
		return err
	}
	if m.once && !m.made.Add(s, p, o, g) {
		return nil
	}
	if err := m.countStatement(); err != nil {
		return err
	}
	if !m.collect {
		m.out = m.encoder.AppendEncoded(m.out, s, p, o, g)
		return nil
	}
	var q rdf.Quad
	for _, part := range []struct {
		to      *rdf.Term
		encoded []byte
	}{{&q.Subject, s}, {&q.Predicate, p}, {&q.Object, o}, {&q.Graph, g}} {
		if len(part.encoded) == 0 {
			continue
		}
		var err error
		if *part.to, err = rdf.ParseTerm(part.encoded); err != nil {
			return &MessageError{Err: fmt.Errorf("term %s: %w", part.encoded, err)}
		}
	}
	m.quads = append(m.quads, q)
	if m.tracing {
		m.rules = append(m.rules, m.rule)
	}
	return nil
}

// scoped returns a term for a named graph: each graph has its own blank nodes
// (RML-Core, scope of blank nodes).
func (m *Mapper) scoped(term, graph []byte, slot int) []byte {
	if term[0] != '_' {
		return term
	}
	label := append(m.labels[slot][:0], term...)
	label = appendDigest(append(label, "_g"...), graph) // "_g" occurs in no encoded value
	m.labels[slot] = label
	return label
}
