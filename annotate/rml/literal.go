package rml

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// errLangString is the error for the datatype rdf:langString, which needs a
// language.
var errLangString = errors.New("its datatype is rdf:langString: expected a language in its place")

// appendLiteral appends the quoted form of a value. It includes a natural
// datatype, but not a fixed one.
func (m *Mapper) appendLiteral(dst []byte, g *generator, v input.Value) []byte {
	switch {
	case g.natural:
		return appendNatural(dst, v)
	case g.double && (v.Kind == input.Integer || v.Kind == input.Double):
		return append(xsd.AppendDouble(append(dst, '"'), v.Text), '"')
	}
	return rdf.AppendLiteral(dst, v.Text)
}

// finishLiteral makes the quoted text from start on a literal with its datatype
// or language and pushes it. A map that gives several of those makes as many
// literals (RML-Core: the Cartesian product).
func (m *Mapper) finishLiteral(g *generator, start int, at place) error {
	if g.datatype == nil && g.language == nil {
		m.text = append(m.text, g.suffix...)
		m.push(start)
		return nil
	}
	quoted := m.text[start:len(m.text):len(m.text)]
	part, mark := g.datatype, "^^"
	if part == nil {
		part, mark = g.language, "@"
	}
	terms := len(m.terms)
	if err := m.generate(part, at); err != nil {
		return err
	}
	// The literals replace the datatypes or languages on the stack.
	made := terms
	for i := terms; i < len(m.terms); i++ {
		suffix := m.terms[i]
		if part == g.language && !rdf.ValidLangTag(suffix) {
			if g.strict {
				return m.fail(g, at, at.record, fmt.Errorf("its language map gives %q, which is not a language tag", suffix))
			}
			m.tally.LeftOut++
			continue
		}
		if part == g.datatype {
			if fits, err := m.datatypeFits(g, quoted[1:len(quoted)-1], suffix, at); err != nil {
				return err
			} else if !fits {
				m.tally.LeftOut++
				continue
			}
		}
		if err := m.room(); err != nil {
			return err
		}
		from := len(m.text)
		m.text = append(m.text, quoted...)
		if part == g.language || string(suffix) != "<"+rdf.XSDString+">" {
			m.text = append(append(m.text, mark...), suffix...)
		}
		m.terms[made] = m.text[from:len(m.text):len(m.text)]
		made++
	}
	m.terms = m.terms[:made]
	return nil
}

// datatypeFits reports whether text may have a datatype that the record names.
// Texts in the lexical spaces need no escapes, so the text may be escaped.
func (m *Mapper) datatypeFits(g *generator, text, datatype []byte, at place) (bool, error) {
	iri := string(datatype[1 : len(datatype)-1])
	if iri == rdf.LangString {
		if g.strict {
			return false, m.fail(g, at, at.record, errLangString)
		}
		return false, nil
	}
	if lexical := xsd.LexicalSpaceOf(iri); lexical != nil && !lexical(text) {
		if err := m.notLexical(g, text, datatype, at.record, at); err != nil {
			return false, err
		}
	}
	return true, nil
}

// notLexical returns an error for text outside the lexical space of its
// datatype. Under the legacy vocabulary the literal is written unchanged and
// counted.
func (m *Mapper) notLexical(g *generator, text, datatype []byte, n input.Node, at place) error {
	if !g.checked {
		m.tally.IllTyped++
		return nil
	}
	return m.fail(g, at, n, fmt.Errorf("%q is not in the lexical space of its datatype %s", text, datatype))
}

const xsdNamespace = "http://www.w3.org/2001/XMLSchema#"

// sqlDatatypes are the natural datatypes from input.Decimal on (R2RML, section
// 10.2).
var sqlDatatypes = [...]string{"decimal", "date", "time", "dateTime", "hexBinary"}

// appendNatural appends a value as a literal of its natural datatype (RML-Core,
// section on natural mapping).
func appendNatural(dst []byte, v input.Value) []byte {
	switch v.Kind {
	case input.Integer:
		return append(append(append(dst, '"'), v.Text...), `"^^<`+rdf.XSDInteger+`>`...)
	case input.Double:
		return append(xsd.AppendDouble(append(dst, '"'), v.Text), `"^^<`+rdf.XSDDouble+`>`...)
	case input.Boolean:
		return append(append(append(dst, '"'), v.Text...), `"^^<`+rdf.XSDBoolean+`>`...)
	case input.Decimal, input.Date, input.Time, input.DateTime, input.Binary:
		dst = append(append(append(dst, '"'), v.Text...), `"^^<`+xsdNamespace...)
		return append(append(dst, sqlDatatypes[v.Kind-input.Decimal]...), '>')
	}
	return rdf.AppendLiteral(dst, v.Text)
}
