package rml

import "fmt"

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
	m.tally, m.statements, m.illTyped, m.irregular = Tally{}, 0, m.illTyped[:0], m.irregular[:0]
	clear(m.found)
}
