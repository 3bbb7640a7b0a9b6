package rml

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/internal/xsd"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Tally has the counts of the last [Mapper.Append], [Mapper.Quads],
// [Mapper.Run] or [Mapper.RunLines].
type Tally struct {
	// Records is the number of records that the iterators selected. A record
	// that two triples maps read counts twice.
	Records int
	// Statements is the number of statements of the output.
	Statements int
	// IllTyped is the number of literals whose text is outside the lexical space
	// of their datatype of XML Schema, and not a number in another notation, which
	// is converted. They are written unchanged. Only the legacy
	// vocabulary has them; under the new one such text is an error.
	IllTyped int
	// LeftOut is the number of invalid terms whose statements were left out. It is
	// zero with [Options].Strict.
	LeftOut int
	// LongRows, ShortRows, TornRows and CommentRows count what [DialectCARML] passes over in CSV: rows
	// with more cells than the header, where those beyond it are not read, rows with fewer
	// cells, which have no value in the other columns, rows with a quoted cell of several lines that has
	// text after its closing quote, as a row has that is cut inside quotes, with the rows after it, and
	// lines that begin with "#", which are comments. What is read several times, for joins, counts as
	// often. [Mapper.IrregularRows] describes the rows.
	LongRows, ShortRows, TornRows, CommentRows int
}

// Tally returns the counts. After an error they are those up to the error.
func (m *Mapper) Tally() Tally {
	t := m.tally
	t.Statements += m.statements
	for _, n := range m.found {
		t.Records += n
	}
	return t
}

// Unmatched describes each triples map whose logical source had no record in
// the run that [Mapper.Tally] counts, in the order of the mapping.
func (m *Mapper) Unmatched() []string {
	var unmatched []string
	for i, s := range m.plan.steps {
		if m.found[i] > 0 || s.joint {
			continue
		}
		what := "its logical source has no record"
		if expr := m.plan.inputs[s.input].iterators[s.iterator].String(); expr != "" {
			what = fmt.Sprintf("its iterator %q selects no record", expr)
		}
		unmatched = append(unmatched, fmt.Sprintf("%s: %s", s.node, what))
	}
	return unmatched
}

func (m *Mapper) beginTally() {
	m.tally = Tally{}
	m.statements = 0
	m.illTyped = m.illTyped[:0]
	m.irregular = m.irregular[:0]
	clear(m.found)
}

// IllTyped describes the literals of a term map whose text is outside the lexical space of their
// datatype, by the first of them.
type IllTyped struct {
	// Node names the term map and its line in the mapping.
	Node string
	// Place is the place of the text in the input.
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
	if lexical := xsd.FindLexicalSpace(t.Datatype); lexical == nil || lexical([]byte(t.Value)) {
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

// IrregularRows describes the rows of CSV in one source that do not have the cells of its header, in one
// way, by the first of them.
type IrregularRows struct {
	// Source names the file, or is empty for a message of a stream.
	Source string
	// Fault is what the rows have in place of the cells of the header.
	Fault string
	// Place is the number and the line of the first row.
	Place string
	// Count is the number of rows. What is read several times, for joins, counts as often.
	Count int
	// Cells is the number of cells of the first row, and Columns that of the header.
	Cells, Columns int
}

// String returns the number of rows, the fault, and the place and the cells of the first row.
func (r IrregularRows) String() string {
	text := fmt.Sprintf("%s of CSV with %s, such as %s, with %s where the header has %d", count(r.Count, "row"), r.Fault,
		r.Place, count(r.Cells, "cell"), r.Columns)
	if r.Source != "" {
		return r.Source + ": " + text
	}
	return text
}

// irregularRows is a description, with the input that it is of.
type irregularRows struct {
	input int
	IrregularRows
}

// IrregularRows describes the rows that [Tally].LongRows, ShortRows and TornRows count: the first of each kind
// in each source. Only [DialectCARML] reads such rows; they are errors otherwise.
func (m *Mapper) IrregularRows() []IrregularRows {
	rows := make([]IrregularRows, len(m.irregular))
	for i, described := range m.irregular {
		rows[i] = described.IrregularRows
	}
	return rows
}

// countIrregular counts the irregular rows of what an input has loaded.
func (m *Mapper) countIrregular(in int) {
	d, ok := m.inputs[in].document.(*csvdoc.Document)
	if !ok {
		return
	}
	irregular := d.Irregular()
	m.tally.CommentRows += irregular.Comments
	m.addIrregular(in, &m.tally.LongRows, irregular.Long, "more cells than the header, which are not read")
	m.addIrregular(in, &m.tally.ShortRows, irregular.Short, "fewer cells than the header, and no value in the other columns")
	m.addIrregular(in, &m.tally.TornRows, irregular.Torn,
		"a quoted cell of several lines with text after its closing quote, as when a row is cut inside quotes")
}

// addIrregular adds rows of one kind to their count in the tally, and to their description.
func (m *Mapper) addIrregular(in int, tally *int, rows csvdoc.IrregularRows, fault string) {
	if rows.Count == 0 {
		return
	}
	*tally += rows.Count
	for i := range m.irregular {
		if known := &m.irregular[i]; known.input == in && known.Fault == fault {
			known.Count += rows.Count
			return
		}
	}
	document := m.inputs[in].document.(*csvdoc.Document)
	m.irregular = append(m.irregular, irregularRows{in, IrregularRows{
		Source: m.inputError(in, nil).Source, Fault: fault, Place: document.Place(rows.First), Count: rows.Count,
		Cells: rows.Cells, Columns: document.Width(),
	}})
}
