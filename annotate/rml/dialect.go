package rml

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/document"
)

// Dialect is the reading of mappings and messages where engines differ.
type Dialect uint8

// The dialects.
const (
	// DialectRML reads expressions, messages and terms as RML, RFC 9535, RFC 8259, RFC 4180
	// and XPath 3.1 have them, the last in its mode that is compatible with XPath 1.0.
	DialectRML Dialect = iota
	// DialectCARML reads them as CARML 0.3.2 does, with Jayway's JSONPath, CSV whose delimiter
	// is detected, and XPath 3.1. Graphs that CARML has generated keep their terms, but for large and
	// small numbers in IRIs and decimals, which CARML writes with an exponent.
	DialectCARML
)

// ParseDialect returns the dialect of a name, "rml" or "carml".
func ParseDialect(name string) (Dialect, error) {
	for _, d := range []Dialect{DialectRML, DialectCARML} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, fmt.Errorf("dialect %q: expected rml or carml", name)
}

// String returns the name of the dialect.
func (d Dialect) String() string {
	if d == DialectCARML {
		return "carml"
	}
	return "rml"
}

// Dialect returns the dialect that the vocabulary of the mapping asks for: that of CARML if all
// its triples maps and sources use the legacy vocabulary only.
func (m *Mapping) Dialect() Dialect {
	for _, tm := range m.maps {
		if tm.vocab != document.Legacy || tm.source.vocab != document.Legacy {
			return DialectRML
		}
	}
	return DialectCARML
}
