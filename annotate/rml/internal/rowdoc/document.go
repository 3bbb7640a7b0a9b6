package rowdoc

import (
	"errors"
	"strconv"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Document is a piece of a table: some of its rows, one after another.
type Document struct {
	width int
	rows  int
	cells []cell
	text  []byte
	first int // number of the first row in the table
}

// cell is a value in the text of the document.
type cell struct {
	start, end int
	kind       input.Kind
}

// errNoMessage is the error of a message for a table.
var errNoMessage = errors.New("a table of a database cannot be read from a message")

// Load returns an error: a table is not a text.
func (d *Document) Load([]byte) error { return errNoMessage }

// Begin empties the document for a table from its start.
func (d *Document) Begin() {
	d.first = 0
	d.rows = 0
	d.Clear()
}

// Clear removes the rows; those that follow are the next of the table.
func (d *Document) Clear() {
	d.first += d.rows
	d.rows = 0
	d.cells = d.cells[:0]
	d.text = d.text[:0]
}

// Add adds a row, which has one value for each column. It copies the texts.
func (d *Document) Add(row []input.Value) {
	for _, v := range row {
		start := len(d.text)
		d.text = append(d.text, v.Text...)
		d.cells = append(d.cells, cell{start: start, end: len(d.text), kind: v.Kind})
	}
	d.rows++
}

// Rows returns the number of rows.
func (d *Document) Rows() int { return d.rows }

// Bytes returns the size of the texts.
func (d *Document) Bytes() int { return len(d.text) }

// Records returns the rows.
func (d *Document) Records(dst []input.Node, _ input.Path) ([]input.Node, error) {
	for i := range d.rows {
		dst = append(dst, input.Node(i))
	}
	return dst, nil
}

// Values returns the cell of a row, unless it is null.
func (d *Document) Values(dst []input.Value, row input.Node, reference input.Path) ([]input.Value, error) {
	c := &d.cells[int(row)*d.width+reference.(path).index]
	if c.kind == input.Null {
		return dst, nil
	}
	return append(dst, input.Value{Text: d.text[c.start:c.end:c.end], Kind: c.kind, Node: row}), nil
}

// Place names a row.
func (d *Document) Place(n input.Node) string { return "row " + strconv.Itoa(d.first+int(n)+1) }
