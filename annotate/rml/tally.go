package rml

import "fmt"

// Tally counts what the newest [Mapper.Append], [Mapper.Quads], [Mapper.Run] or
// [Mapper.RunLines] came to.
type Tally struct {
	// Records is the number of records that the iterators selected. A record
	// that two triples maps read counts twice.
	Records int
	// Statements is the number of statements that were given out.
	Statements int
	// IllTyped is the number of literals whose text their datatype of XML
	// Schema does not have. They are given out as they are: only the legacy
	// vocabulary has them, the new one makes an error of such a text.
	IllTyped int
	// LeftOut is the number of terms that could not be made, and whose
	// statements were left out. There are none with [Options].Strict.
	LeftOut int
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

// Unmatched describes each triples map whose logical source gave no record in
// what [Mapper.Tally] counts, in the order of the mapping.
func (m *Mapper) Unmatched() []string {
	var unmatched []string
	for i, s := range m.plan.steps {
		if m.found[i] > 0 {
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
	m.tally, m.statements = Tally{}, 0
	clear(m.found)
}
