package rml

import (
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// flatPom is a predicate-object map of the commonest kind, for which the
// stacks of the general way are not needed: one constant predicate, one object
// map, no graph of its own, no join.
type flatPom struct {
	predicate []byte
	object    *generator

	// A plain object is a reference that becomes a literal of a fixed datatype
	// or language. It is written straight behind the subject where a statement
	// is a line: between the two lies middle, behind it end.
	plain       bool
	middle, end []byte
}

// flatten returns the flat form of a predicate-object map, or nil.
func flatten(pom *pomStep) *flatPom {
	if len(pom.predicates) != 1 || len(pom.objects) != 1 || len(pom.graphs) != 0 {
		return nil
	}
	predicate, object := pom.predicates[0], pom.objects[0].gen
	if predicate.kind != constantExpression || predicate.when != nil || predicate.gather != nil {
		return nil
	}
	if object == nil || object.gather != nil {
		return nil
	}
	f := &flatPom{predicate: predicate.constant, object: object}
	f.plain = object.kind == referenceExpression && object.form == literalForm && object.when == nil &&
		object.datatype == nil && object.language == nil
	f.middle = append(append([]byte{' '}, f.predicate...), ' ')
	f.end = append(append([]byte{}, object.suffix...), " .\n"...)
	return f
}

// flatten gives the predicate-object maps of a plan their flat form where they
// have one.
func (p *Plan) flatten() {
	if len(p.targets) > 0 {
		return // the general way knows where statements go
	}
	for _, s := range p.steps {
		for i := range s.poms {
			s.poms[i].flat = flatten(&s.poms[i])
		}
	}
}

// flat runs a flat predicate-object map for the one subject of a record that
// is in the default graph.
func (m *Mapper) flat(f *flatPom, subject []byte, at place) error {
	if !f.plain {
		return m.flatTerms(f, subject, at)
	}
	if err := m.tick(); err != nil {
		return err
	}
	start, text := len(m.values), len(m.text)
	var err error
	m.values, err = m.inputs[at.input].document.Values(m.values, at.record, f.object.path)
	if err != nil {
		return m.fail(f.object, at, at.record, err)
	}
	if m.uses != nil {
		m.use(f.object.path, len(m.values)-start)
	}
	if n := len(m.values); n == start {
		return nil
	} else if n > start+1 || m.values[start].Kind >= input.Null {
		m.values = m.values[:start]
		return m.flatTerms(f, subject, at)
	}
	v := m.values[start]
	m.values = m.values[:start]
	if f.object.lexical != nil && !f.object.lexical(v.Text) {
		return m.notLexical(f.object, v.Text, f.object.suffix[len("^^"):], v.Node, at)
	}
	if !m.lines || m.once {
		m.text = append(m.appendLiteral(m.text, f.object, v), f.object.suffix...)
		err = m.add(subject, f.predicate, m.text[text:], nil)
		m.text = m.text[:text]
		return err
	}
	if err := m.spend(len(subject) + len(f.predicate) + len(v.Text)); err != nil {
		return err
	}
	if err := m.countStatement(); err != nil {
		return err
	}
	m.out = append(m.out, subject...)
	m.out = append(m.out, f.middle...)
	m.out = m.appendLiteral(m.out, f.object, v)
	m.out = append(m.out, f.end...)
	return nil
}

// flatTerms is flat for objects of any kind and number.
func (m *Mapper) flatTerms(f *flatPom, subject []byte, at place) error {
	terms, text := len(m.terms), len(m.text)
	if err := m.generate(f.object, at); err != nil {
		return err
	}
	objects := m.terms[terms:]
	once := m.once
	m.once = once || len(objects) > 1 && m.limit > 0
	for _, object := range objects {
		if err := m.add(subject, f.predicate, object, nil); err != nil {
			return err
		}
	}
	m.once = once
	m.terms, m.text = m.terms[:terms], m.text[:text]
	return nil
}
