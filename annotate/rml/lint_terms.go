package rml

import (
	"bytes"
	"slices"
	"strings"
)

// datatypeNames are the datatypes of XML Schema that RDF 1.1 knows.
func datatypeNames() []string {
	return strings.Fields(`string boolean decimal integer double float date time dateTime dateTimeStamp gYear gMonth gDay
		gYearMonth gMonthDay duration yearMonthDuration dayTimeDuration byte short int long unsignedByte unsignedShort
		unsignedInt unsignedLong positiveInteger nonNegativeInteger negativeInteger nonPositiveInteger hexBinary
		base64Binary anyURI language normalizedString token NMTOKEN Name NCName`)
}

// rdfNames are the terms of the RDF vocabulary, container members aside.
func rdfNames() []string {
	return strings.Fields(`type subject predicate object value first rest nil language direction reifies
		Property Statement Bag Seq Alt List langString dirLangString HTML XMLLiteral JSON PlainLiteral CompoundLiteral`)
}

// unknownTerms reports terms of the closed vocabularies, XML Schema and RDF,
// that those do not have: nobody will find what is said with them.
func (l *linter) unknownTerms(g *generator) {
	for _, vocabulary := range []struct {
		namespace, name string
		terms           []string
	}{{nsXSD, "XML Schema", datatypeNames()}, {nsRDF, "RDF", rdfNames()}} {
		for _, term := range [][]byte{g.constant, bytes.TrimPrefix(g.suffix, []byte("^^"))} {
			name, ok := strings.CutPrefix(string(bytes.Trim(term, "<>")), vocabulary.namespace)
			if !ok || slices.Contains(vocabulary.terms, name) || strings.HasPrefix(name, "_") {
				continue
			}
			l.add(g.node, "%s has no term %q: is it a misspelling?", vocabulary.name, name)
		}
	}
}
