package rml

import (
	"bytes"
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// flatPom is a predicate-object map of the most common kind, which needs no
// stacks: one constant predicate, one object map, no graph of its own, no join.
type flatPom struct {
	predicate []byte
	object    *generator

	// A plain object is a reference that becomes a literal of a fixed datatype or
	// language. Where a statement is a line, it is written directly behind the
	// subject: middle stands between the two and end behind the object.
	plain       bool
	middle, end []byte
	open, close []byte // the same, with the quotes of the literal

	// whole is what stands behind the subject when the object is a constant.
	whole []byte
}

// singler is implemented by documents that have a fast path for references with
// one value.
type singler interface {
	// Single returns the value of a reference. It reports false if there is not
	// exactly one scalar value, or if the fast path does not apply.
	Single(record input.Node, reference input.Path) (input.Value, bool)
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
		object.datatype == nil && object.language == nil && object.canonical == nil
	if object.kind == constantExpression && object.when == nil {
		f.whole = fmt.Appendf(nil, " %s %s .\n", f.predicate, object.constant)
	}
	f.middle = append(append([]byte{' '}, f.predicate...), ' ')
	f.end = append(append([]byte{}, object.suffix...), " .\n"...)
	f.open = append(bytes.Clone(f.middle), '"')
	f.close = append([]byte{'"'}, f.end...)
	return f
}

// flatten gives the predicate-object maps of a plan their flat form where they
// have one.
func (p *Plan) flatten() {
	if len(p.targets) > 0 {
		return // only the general path supports targets
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
	direct := m.lines && !m.once
	if direct && f.whole != nil {
		if err := m.countLine(len(subject) + len(f.whole)); err != nil {
			return err
		}
		m.out = append(append(m.out, subject...), f.whole...)
		return nil
	}
	if !f.plain {
		return m.flatTerms(f, subject, at)
	}
	v, ok, err := m.flatValue(f, at)
	if err != nil {
		return err
	}
	if !ok {
		return m.flatTerms(f, subject, at)
	}
	if f.object.lexical != nil {
		if v.Text, _, err = m.fitting(f.object, v, at); err != nil {
			return err
		}
	}
	if !direct {
		text := len(m.text)
		m.text = append(m.appendLiteral(m.text, f.object, v), f.object.suffix...)
		err = m.add(subject, f.predicate, m.text[text:], nil)
		m.text = m.text[:text]
		return err
	}
	if err := m.countLine(len(subject) + len(f.predicate) + len(v.Text)); err != nil {
		return err
	}
	m.out = append(m.out, subject...)
	if v.Kind != input.String && !f.object.natural && !f.object.double {
		// Numbers and booleans need no escapes.
		m.out = append(append(append(m.out, f.open...), v.Text...), f.close...)
		return nil
	}
	m.out = m.appendLiteral(append(m.out, f.middle...), f.object, v)
	m.out = append(m.out, f.end...)
	return nil
}

// countLine counts a statement, and its size, against the limits.
func (m *Mapper) countLine(size int) error {
	if err := m.spend(size); err != nil {
		return err
	}
	return m.countStatement()
}

// flatValue returns the value of a plain object if there is just one and it is
// a scalar. A reference without a value is left to flatTerms, too.
func (m *Mapper) flatValue(f *flatPom, at place) (v input.Value, ok bool, err error) {
	in := &m.inputs[at.input]
	if in.single != nil && m.uses == nil {
		v, ok = in.single.Single(at.record, f.object.path)
		return v, ok && (in.nulls == nil || !isNull(v, in.nulls)), m.tick()
	}
	start := len(m.values)
	m.values, err = in.document.Values(m.values, at.record, f.object.path)
	if err != nil {
		return v, false, m.fail(f.object, at, at.record, err)
	}
	if len(m.values) == start+1 && m.values[start].Kind < input.Null {
		v = m.values[start]
		ok = in.nulls == nil || !isNull(v, in.nulls)
		if m.uses != nil {
			m.use(f.object.path, 1)
		}
	}
	m.values = m.values[:start]
	return v, ok, m.tick()
}

// flatTerms is flat for objects of any kind and number.
func (m *Mapper) flatTerms(f *flatPom, subject []byte, at place) error {
	terms, text := len(m.terms), len(m.text)
	if err := m.generate(f.object, at); err != nil {
		return err
	}
	objects := m.terms[terms:]
	once := m.once
	m.once = once || (len(objects) > 1 && m.limit > 0)
	for _, object := range objects {
		if err := m.add(subject, f.predicate, object, nil); err != nil {
			return err
		}
	}
	m.once = once
	m.terms = m.terms[:terms]
	m.text = m.text[:text]
	return nil
}
