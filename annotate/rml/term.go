package rml

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/escape"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// errNotScalar is the error for a reference that selects an object or array
// where a term is expected.
var errNotScalar = errors.New("the reference selects an object or an array: expected a single value")

// valueRange is the part of the value stack that one reference of a template
// selected, and the value that is in use.
type valueRange struct{ start, end, current int }

func (m *Mapper) generateAll(generators []*generator, at place) error {
	for _, g := range generators {
		start := len(m.terms)
		if err := m.generate(g, at); err != nil {
			return err
		}
		if g.first && len(m.terms) > start {
			m.terms = m.terms[:start+1]
		}
		m.mark(start, g.targets)
	}
	return nil
}

// generate pushes the terms that a generator gives for a record.
func (m *Mapper) generate(g *generator, at place) error {
	if g.when != nil {
		if holds, err := m.holds(g.when, at); !holds || err != nil {
			return err
		}
	}
	if g.gather != nil {
		return m.gather(g, at)
	}
	return m.generateNamed(g, at)
}

// generateNamed pushes the terms of the expression itself.
func (m *Mapper) generateNamed(g *generator, at place) error {
	switch g.kind {
	case constantExpression:
		m.terms = append(m.terms, g.constant)
		return nil
	case referenceExpression:
		return m.generateReference(g, at)
	case templateExpression:
		return m.generateTemplate(g, at)
	case functionExpression:
		results, err := m.apply(g, at)
		for i := 0; err == nil && i < len(results); i++ {
			err = m.generateResult(g, results[i], at)
		}
		return err
	}
	m.terms = append(m.terms, m.unnamed(g, at, 0))
	return nil
}

// unnamed renders the nth blank node that a term map without an expression generates
// of a record. Those of a subject map are the same wherever they are referred to.
func (m *Mapper) unnamed(g *generator, at place, nth int) []byte {
	if g.subject == 0 {
		return m.freshBlank()
	}
	start := len(m.text)
	m.text = append(append(append(m.text, '_', ':'), m.digest...), 's')
	for i, part := range [...]int{g.subject, m.inputs[at.input].piece, int(at.record), nth} {
		if i > 0 {
			m.text = append(m.text, '_')
		}
		m.text = strconv.AppendInt(m.text, int64(part), 10)
	}
	return m.text[start:len(m.text):len(m.text)]
}

// freshBlank renders a new blank node that depends on no value.
func (m *Mapper) freshBlank() []byte {
	m.fresh++
	start := len(m.text)
	m.text = append(append(m.text, '_', ':'), m.digest...)
	m.text = strconv.AppendInt(append(m.text, 'n'), int64(m.fresh), 10)
	return m.text[start:len(m.text):len(m.text)]
}

// push turns the text from start on into a term.
func (m *Mapper) push(start int) {
	m.terms = append(m.terms, m.text[start:len(m.text):len(m.text)])
}

// elements is implemented by documents of formats with arrays.
type elements interface {
	Elements(dst []input.Value, array input.Node) []input.Value
}

// evaluate pushes the values of a reference that can become terms. Under the
// legacy vocabulary each element of an array is a value; under the new one an
// array is an error.
func (m *Mapper) evaluate(g *generator, path input.Path, at place) error {
	if err := m.tick(); err != nil {
		return err
	}
	document := m.inputs[at.input].document
	start := len(m.values)
	var err error
	if m.values, err = document.Values(m.values, at.record, path); err != nil {
		return m.fail(g, at, at.record, err)
	}
	if m.uses != nil {
		m.use(path, len(m.values)-start)
	}
	for i := start; i < len(m.values); i++ {
		if m.values[i].Kind >= input.Null {
			err = m.flatten(g, start, at)
			break
		}
	}
	if nulls := m.inputs[at.input].nulls; nulls != nil {
		m.values = withoutNulls(m.values, start, nulls)
	}
	return err
}

// withoutNulls removes the values from start on whose text stands for no value.
func withoutNulls(values []input.Value, start int, nulls []string) []input.Value {
	kept := slices.DeleteFunc(values[start:], func(v input.Value) bool { return isNull(v, nulls) })
	return values[:start+len(kept)]
}

func isNull(v input.Value, nulls []string) bool {
	return slices.ContainsFunc(nulls, func(null string) bool { return string(v.Text) == null })
}

// flatten replaces the values from start on by the scalars among them.
func (m *Mapper) flatten(g *generator, start int, at place) error {
	all := m.values[start:]
	kept := make([]input.Value, 0, len(all))
	for _, v := range all {
		expand, isArray := m.inputs[at.input].document.(elements)
		switch {
		case v.Kind == input.Array && g.expand && isArray:
			for _, element := range expand.Elements(nil, v.Node) {
				switch {
				case element.Kind < input.Null:
					kept = append(kept, element)
				case element.Kind != input.Null:
					return m.fail(g, at, element.Node, errNotScalar)
				}
			}
		case v.Kind < input.Null:
			kept = append(kept, v)
		case v.Kind != input.Null:
			return m.fail(g, at, v.Node, errNotScalar)
		}
	}
	m.values = append(m.values[:start], kept...)
	return nil
}

func (m *Mapper) generateReference(g *generator, at place) error {
	start := len(m.values)
	if err := m.evaluate(g, g.path, at); err != nil {
		return err
	}
	for i := start; i < len(m.values); i++ {
		if err := m.room(); err != nil {
			return err
		}
		if err := m.generateValue(g, m.values[i], at); err != nil {
			return err
		}
	}
	m.values = m.values[:start]
	return nil
}

// generateValue pushes the term that one value becomes.
func (m *Mapper) generateValue(g *generator, v input.Value, at place) error {
	start := len(m.text)
	if g.unscaled && g.form != literalForm {
		v.Text = m.unscaled(v, at)
	}
	switch g.form {
	case iriForm:
		return m.iri(g, v, at)
	case blankForm:
		m.text = m.appendBlank(m.text)
		m.text = escape.AppendLabel(m.text, v.Text)
	case textForm:
		m.text = append(m.text, v.Text...)
	default:
		text, fits, err := m.fitting(g, v, at)
		if err != nil {
			return err
		}
		if v.Text = text; g.canonical != nil && fits {
			v.Text = g.canonical(nil, text)
		}
		m.text = m.appendLiteral(m.text, g, v)
		if g.carml && g.datatype != nil {
			v.Text = m.numeral(v, at)
		}
		return m.finishLiteral(g, start, v.Text, at)
	}
	m.push(start)
	return nil
}

// iri pushes a value as an IRI: unchanged when it is absolute, after the base
// otherwise. Nothing is encoded (R2RML section 11.2).
func (m *Mapper) iri(g *generator, v input.Value, at place) error {
	start := len(m.text)
	m.text = append(m.text, '<')
	if !hasScheme(v.Text) {
		m.text = append(m.text, g.base...)
	}
	m.text = append(m.text, v.Text...)
	return m.finishIRI(g, start, at, v.Node)
}

// hasScheme reports whether an IRI reference is absolute, valid or not.
func hasScheme(iri []byte) bool {
	bad, ok := rdf.ValidIRI(iri)
	return ok || bytes.IndexByte(iri[:bad], ':') >= 0
}

// finishIRI checks the IRI that was rendered from start on and pushes it.
func (m *Mapper) finishIRI(g *generator, start int, at place, n input.Node) error {
	iri := m.text[start+1:]
	if bad, ok := g.valid(iri); !ok {
		m.text = m.text[:start]
		if !g.strict {
			m.tally.LeftOut++
			return nil
		}
		if bad < len(iri) {
			r, _ := utf8.DecodeRune(iri[bad:])
			return m.fail(g, at, n,
				fmt.Errorf("it gives <%s>, which is not a valid IRI: %q is not allowed at byte %d", iri, r, bad))
		}
		return m.fail(g, at, n, fmt.Errorf("it gives <%s>, which is not an absolute IRI", iri))
	}
	m.text = append(m.text, '>')
	m.push(start)
	return nil
}

// valid reports whether an IRI may be written, and otherwise its first invalid
// byte. An unsafe IRI may contain every character that does not end an IRI in a
// syntax of RDF.
func (g *generator) valid(iri []byte) (int, bool) {
	if g.unsafe {
		bad := bytes.IndexFunc(iri, func(r rune) bool { return r < ' ' || r == '<' || r == '>' || r == '"' || r == '\\' })
		return max(bad, 0), bad < 0
	}
	if g.ascii {
		if bad := bytes.IndexFunc(iri, func(r rune) bool { return r >= utf8.RuneSelf }); bad >= 0 {
			return bad, false
		}
	}
	return rdf.ValidIRI(iri)
}

// generateTemplate pushes one term for each combination of the values of the
// references; none when a reference has no value.
func (m *Mapper) generateTemplate(g *generator, at place) error {
	values, ranges := len(m.values), len(m.ranges)
	for i := range g.segments {
		path := g.segments[i].path
		if path == nil {
			continue
		}
		start := len(m.values)
		if err := m.evaluate(g, path, at); err != nil {
			return err
		}
		if len(m.values) == start {
			m.values = m.values[:values]
			m.ranges = m.ranges[:ranges]
			return nil
		}
		m.ranges = append(m.ranges, valueRange{start: start, end: len(m.values), current: start})
	}
	for more := true; more; more = advance(m.ranges[ranges:]) {
		if err := m.room(); err != nil {
			return err
		}
		if err := m.renderTemplate(g, m.ranges[ranges:], at); err != nil {
			return err
		}
	}
	m.values = m.values[:values]
	m.ranges = m.ranges[:ranges]
	return nil
}

// advance goes to the next combination, the last reference first, and reports
// whether there is one.
func advance(ranges []valueRange) bool {
	for i := len(ranges) - 1; i >= 0; i-- {
		r := &ranges[i]
		if r.current++; r.current < r.end {
			return true
		}
		r.current = r.start
	}
	return false
}

// renderTemplate pushes the term for the current combination.
func (m *Mapper) renderTemplate(g *generator, ranges []valueRange, at place) error {
	start := len(m.text)
	switch g.form {
	case iriForm:
		m.text = append(m.text, '<')
	case blankForm:
		m.text = m.appendBlank(m.text)
	case literalForm:
		m.text = append(m.text, '"')
	}
	node := at.record
	for i := range g.segments {
		s := &g.segments[i]
		if s.path == nil {
			m.text = append(m.text, s.text...)
			continue
		}
		v := &m.values[ranges[0].current]
		ranges = ranges[1:]
		node = v.Node
		text := v.Text
		if g.unscaled {
			text = m.unscaled(*v, at)
		}
		switch g.form {
		case iriForm:
			m.text = g.appendPart(m.text, text)
		case blankForm:
			m.text = escape.AppendLabel(m.text, text)
		case literalForm:
			m.text = escape.AppendLiteral(m.text, text)
		default:
			m.text = append(m.text, text...)
		}
	}
	switch g.form {
	case iriForm:
		if g.absolute && !g.unsafe && !g.ascii {
			m.text = append(m.text, '>')
			m.push(start)
			return nil
		}
		m.prependBase(g, start)
		return m.finishIRI(g, start, at, node)
	case literalForm:
		if g.lexical != nil {
			text, _, err := m.fitting(g, input.Value{Text: m.text[start+1:], Node: node}, at)
			if err != nil {
				return err
			}
			m.text = append(m.text[:start+1], text...)
		}
		m.text = append(m.text, '"')
		return m.finishLiteral(g, start, m.text[start+1:len(m.text)-1], at)
	}
	m.push(start)
	return nil
}

// prependBase puts the base before a rendered IRI that is not absolute.
func (m *Mapper) prependBase(g *generator, start int) {
	if hasScheme(m.text[start+1:]) {
		return
	}
	n := len(m.text)
	m.text = append(m.text, g.base...)
	copy(m.text[start+1+len(g.base):], m.text[start+1:n])
	copy(m.text[start+1:], g.base)
}

// appendPart appends a value to an IRI by the term type of the generator:
// percent-encoded for an IRI or for a URI, or unchanged.
func (g *generator) appendPart(dst, value []byte) []byte {
	if !g.ascii {
		if g.unsafe {
			return append(dst, value...)
		}
		if g.carml {
			return escape.AppendCARML(dst, value)
		}
		return escape.AppendIRI(dst, value)
	}
	return escape.AppendURI(dst, value, g.unsafe)
}

// appendBlank appends the beginning of a blank node that is derived from a value:
// the digest of the message, and a letter that distinguishes it from blank
// nodes without a value.
func (m *Mapper) appendBlank(dst []byte) []byte {
	dst = append(dst, '_', ':')
	dst = append(dst, m.digest...)
	return append(dst, 'v')
}
