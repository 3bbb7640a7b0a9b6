package rml

import (
	"bytes"
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

// finishLiteral completes the quoted text from start on with its datatype
// or language and pushes the literal. The numeral is the text with all digits
// that a number has. A map that gives several datatypes or languages gives as
// many literals (RML-Core: the Cartesian product).
func (m *Mapper) finishLiteral(g *generator, start int, numeral []byte, at place) error {
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
		text := quoted[1 : len(quoted)-1]
		if part == g.datatype {
			var fits bool
			var err error
			if text, fits, err = m.fittingDatatype(g, text, numeral, suffix, at); err != nil {
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
		m.text = append(append(append(m.text, '"'), text...), '"')
		if part == g.language || string(suffix) != "<"+rdf.XSDString+">" {
			m.text = append(append(m.text, mark...), suffix...)
		}
		m.terms[made] = m.text[from:len(m.text):len(m.text)]
		made++
	}
	m.terms = m.terms[:made]
	return nil
}

// fittingDatatype returns text, or the numeral converted where that is necessary and possible, and
// whether it may have a datatype that the record names. Texts in the lexical spaces need no escapes, so the text
// may be escaped.
func (m *Mapper) fittingDatatype(g *generator, text, numeral, datatype []byte, at place) ([]byte, bool, error) {
	iri := string(datatype[1 : len(datatype)-1])
	if iri == rdf.LangString {
		if g.strict {
			return nil, false, m.fail(g, at, at.record, errLangString)
		}
		return nil, false, nil
	}
	lexical := xsd.FindLexicalSpace(iri)
	if lexical == nil || lexical(text) {
		return text, true, nil
	}
	if number, ok := m.converted(xsd.NumberFormat(iri), lexical, numeral); ok {
		return number, true, nil
	}
	return text, true, m.notLexical(g, text, datatype, at.record, at)
}

// fitting returns the text of a literal of a fixed datatype, and whether it is in the lexical space of
// that. A number in another notation than the one of the datatype is converted where no digit is lost
// (R2RML, section 10.2). The text is valid until the next number is converted.
func (m *Mapper) fitting(g *generator, v input.Value, at place) (text []byte, fits bool, err error) {
	if g.lexical == nil || g.lexical(v.Text) {
		return v.Text, true, nil
	}
	numeral := v.Text
	if g.unscaled {
		numeral = m.numeral(v, at)
	}
	if number, ok := m.converted(g.number, g.lexical, numeral); ok {
		return number, true, nil
	}
	return v.Text, false, m.notLexical(g, v.Text, g.suffix[len("^^"):], v.Node, at)
}

// converted returns a number in the lexical space of a datatype.
func (m *Mapper) converted(
	convert func(dst, text []byte) ([]byte, bool), lexical xsd.LexicalSpace, text []byte,
) ([]byte, bool) {
	if convert == nil {
		return nil, false
	}
	number, ok := convert(m.number[:0], text)
	m.number = number
	return number, ok && lexical(number)
}

// numerals is implemented by documents that give numbers another notation than the input has.
type numerals interface {
	// Numeral returns a value in the notation of the input if it is a number there, and its text otherwise.
	Numeral(v input.Value) []byte
}

// numeral returns a number in the notation of the input, and the text of another value.
func (m *Mapper) numeral(v input.Value, at place) []byte {
	if document, ok := m.inputs[at.input].document.(numerals); ok && v.Kind == input.Double {
		return document.Numeral(v)
	}
	return v.Text
}

// unscaled returns the text of a value. A number that Java writes with an exponent has none, and all its
// digits. The text is valid until the next number is converted.
func (m *Mapper) unscaled(v input.Value, at place) []byte {
	if v.Kind != input.Double || !bytes.ContainsAny(v.Text, "eE") {
		return v.Text
	}
	number, ok := xsd.AppendPlain(m.number[:0], m.numeral(v, at))
	if !ok {
		return v.Text
	}
	if bytes.IndexByte(number, '.') < 0 {
		number = append(number, ".0"...) // as Java writes smaller numbers
	}
	m.number = number
	return number
}

// notLexical returns an error for text outside the lexical space of its
// datatype. Under the legacy vocabulary the literal is written unchanged and
// counted.
func (m *Mapper) notLexical(g *generator, text, datatype []byte, n input.Node, at place) error {
	if !g.checked {
		m.countIllTyped(g, text, datatype, n, at)
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
