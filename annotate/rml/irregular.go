package rml

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/csvdoc"
)

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
