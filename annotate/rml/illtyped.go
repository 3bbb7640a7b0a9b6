package rml

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// IllTyped describes the literals of a term map whose text is outside the lexical space of their
// datatype, by the first of them.
type IllTyped struct {
	// Node names the term map and its line in the mapping.
	Node string
	// Place is where the text stands in the input.
	Place string
	// Text is the text, without its end if it is longer than 100 bytes, and Datatype the IRI of the datatype.
	Text, Datatype string
	// Count is the number of literals.
	Count int
}

// String returns the text, its datatype and its place.
func (i IllTyped) String() string {
	return fmt.Sprintf("%q at %s, which %s does not have", i.Text, i.Place, shortDatatype(i.Datatype))
}

const (
	maxIllTyped     = 20  // term maps that are described of a run
	maxIllTypedText = 100 // bytes of a text
)

// illTyped is a description, with the term map that it is of.
type illTyped struct {
	generator *generator
	IllTyped
}

// IllTyped describes the literals that [Tally].IllTyped counts: for each term map the first one,
// for 20 term maps at most.
func (m *Mapper) IllTyped() []IllTyped {
	found := make([]IllTyped, len(m.illTyped))
	for i, described := range m.illTyped {
		found[i] = described.IllTyped
	}
	return found
}

// countIllTyped counts a literal outside the lexical space of its datatype.
func (m *Mapper) countIllTyped(g *generator, text, datatype []byte, n input.Node, at place) {
	m.tally.IllTyped++
	for i := range m.illTyped {
		if m.illTyped[i].generator == g {
			m.illTyped[i].Count++
			return
		}
	}
	if len(m.illTyped) == maxIllTyped {
		return
	}
	m.illTyped = append(m.illTyped, illTyped{g, IllTyped{
		Node: g.node.String(), Place: m.inputs[at.input].document.Place(n),
		Text: string(text[:min(len(text), maxIllTypedText)]), Datatype: string(datatype[1 : len(datatype)-1]), Count: 1,
	}})
}

// illTypedReason returns what is wrong with a literal whose text its datatype does not have, or "".
func illTypedReason(t rdf.Term) string {
	if t.Kind != rdf.Literal || t.Datatype == "" {
		return ""
	}
	if lexical := xsd.LexicalSpaceOf(t.Datatype); lexical == nil || lexical([]byte(t.Value)) {
		return ""
	}
	return fmt.Sprintf("%s does not have this text", shortDatatype(t.Datatype))
}

// shortDatatype writes a datatype of XML Schema with its usual prefix.
func shortDatatype(iri string) string {
	if len(iri) > len(xsd.Namespace) && iri[:len(xsd.Namespace)] == xsd.Namespace {
		return "xsd:" + iri[len(xsd.Namespace):]
	}
	return "<" + iri + ">"
}
