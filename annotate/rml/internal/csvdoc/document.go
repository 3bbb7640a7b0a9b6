package csvdoc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// What a reference resolved to under the present header; other values are
// the index of the column plus one.
const (
	unresolved = 0
	absent     = -1
	ambiguous  = -2
)

// maxListed is the number of column names that an error lists.
const maxListed = 20

const (
	// cellBytes is the memory of a cell, and of the offset of its row.
	cellBytes = 12
	// lenientCellBytes counts the first cell of its row too.
	lenientCellBytes = 16
	// nameBytes is the memory of a column: its cell, its name, a string of its own, and what
	// references resolve to.
	nameBytes = 48
)

// keptCells is the number of cells, and the bytes of scratch, that a document
// always keeps room for. Larger buffers are freed on the first input that could
// not fill an eighth of them.
const keptCells = 1 << 16

// Document is one CSV input: a header and rows. It is reused from input to
// input, by one goroutine at a time.
type Document struct {
	compiler *Compiler
	maxCells int
	maxNames int // columns
	data     []byte
	scratch  []byte   // the text of cells that held doubled or escaped quotes
	cells    []cell   // row after row, width cells each
	starts   []uint32 // the offset of each row
	width    int      // cells in a row, 0 before a header is known

	header   []byte     // the bytes up to and with the header; empty if not reusable
	names    [][]string // the names of the columns, for each header row
	nameLine int        // the line of the header
	nameAt   int        // the offset of the header
	resolved []int32    // per reference id

	before place // what the earlier pieces of this input held
	after  place // the same for the piece that follows
	pieces bool  // LoadRows may follow

	// The lenient mode's:
	scan      scanner
	certain   bool     // whether the header alone decides on the delimiter
	firsts    []uint32 // the first cell of each row, and the end of the last one
	irregular Irregular
	above     int // comments above the header
}

// place counts what stood before a piece of an input.
type place struct{ rows, lines, bytes int }

// Load reads a whole input, or the first piece of one: the header, and the
// rows that follow it in data.
func (d *Document) Load(data []byte) error {
	d.before = place{}
	d.pieces = false
	if err := d.begin(data); err != nil {
		return err
	}
	i, err := d.readHeader()
	if err != nil {
		d.forgetHeader()
		return d.abandon(err)
	}
	return d.finish(i)
}

// LoadRows reads the next piece of the input whose beginning Load has read:
// rows without a header. Lines, offsets and row numbers count on from the
// pieces before, which must have ended where [Compiler.Split] says.
func (d *Document) LoadRows(data []byte) error {
	if !d.pieces {
		return errors.New("load CSV rows: no header was loaded before")
	}
	d.before = d.after
	d.pieces = false
	if err := d.begin(data); err != nil {
		return err
	}
	return d.finish(0)
}

// Bound implements [input.Bounded]. A cell is counted with the offset of a row.
func (d *Document) Bound(bytes int) {
	size := cellBytes
	if d.compiler.dialect.Lenient {
		size = lenientCellBytes
	}
	d.maxCells = input.Within(bytes, size, d.compiler.maxCells)
	d.maxNames = input.Within(bytes, nameBytes, math.MaxInt)
}

// Records appends the index of every row.
func (d *Document) Records(dst []input.Node, iterator input.Path) ([]input.Node, error) {
	if it, ok := iterator.(*rows); !ok || it.owner != d.compiler {
		return dst, fmt.Errorf("iterate CSV rows: the iterator %v was compiled for another source", iterator)
	}
	dst = slices.Grow(dst, len(d.starts))
	for i := range d.starts {
		dst = append(dst, input.Node(i))
	}
	return dst, nil
}

// Values appends the cell of the column in the row of the record, unless the
// cell is null. A column that the header lacks, or has twice, is a
// *[input.SyntaxError] at the header.
func (d *Document) Values(dst []input.Value, record input.Node, reference input.Path) ([]input.Value, error) {
	ref, ok := reference.(*column)
	if !ok || ref.owner != d.compiler {
		return dst, fmt.Errorf("read CSV cell: the reference %v was compiled for another source", reference)
	}
	if record < 0 || int(record) >= len(d.starts) {
		return dst, fmt.Errorf("read CSV cell %q: the row %d does not exist", ref.name, record)
	}
	if ref.id >= len(d.resolved) {
		d.resolved = append(d.resolved, make([]int32, ref.id+1-len(d.resolved))...)
	}
	at := d.resolved[ref.id]
	if at == unresolved {
		at = d.find(ref.name)
		d.resolved[ref.id] = at
	}
	if at < 0 {
		return dst, d.unknown(ref.name, at)
	}
	row := d.row(record)
	if int(at) > len(row) {
		return dst, nil // a short row, in the lenient mode
	}
	text := d.text(row[at-1])
	if d.compiler.null.has(text) {
		return dst, nil
	}
	return append(dst, input.Value{Text: text, Kind: input.String, Node: record}), nil
}

// Place describes a row by its number, the first row after the header being
// 1, and its line.
func (d *Document) Place(n input.Node) string {
	if n < 0 || int(n) >= len(d.starts) {
		return "outside of the rows"
	}
	line, _ := input.Locate(d.data, int(d.starts[n]))
	return fmt.Sprintf("row %d (line %d)", d.before.rows+int(n)+1, d.before.lines+line)
}

// find resolves a name under the present header.
func (d *Document) find(name string) int32 {
	if d.compiler.dialect.Lenient {
		return findLenient(d.names, name)
	}
	var at int32 = absent
	for _, row := range d.names {
		for i, n := range row {
			switch {
			case n != name:
			case at == absent || at == int32(i+1):
				at = int32(i + 1)
			default:
				return ambiguous
			}
		}
	}
	return at
}

// unknown returns why a reference has no column.
func (d *Document) unknown(name string, why int32) error {
	reason := fmt.Sprintf("more than one column is named %q", name)
	if why == absent {
		known := d.names[0]
		more := ""
		if len(known) > maxListed {
			more = fmt.Sprintf(" and %d more", len(known)-maxListed)
			known = known[:maxListed]
		}
		quoted := make([]string, len(known))
		for i, k := range known {
			quoted[i] = fmt.Sprintf("%q", k)
		}
		reason = fmt.Sprintf("the column %q is not in the header, which has %s%s", name, strings.Join(quoted, ", "), more)
		if d.above > 0 {
			reason += fmt.Sprintf("; lines above it that begin with %q are comments", d.scan.comment)
		}
	}
	return &input.SyntaxError{Format: "CSV", Line: d.nameLine, Column: 1, Offset: d.nameAt, Reason: reason}
}

// begin empties the document and takes up data, after what it held before.
func (d *Document) begin(data []byte) error {
	d.data = nil
	d.cells = d.cells[:0]
	d.starts = d.starts[:0]
	d.scratch = d.scratch[:0]
	d.firsts = d.firsts[:0]
	d.irregular = Irregular{}
	if room := max(keptCells, 8*(len(data)+1)); cap(d.cells) > room || cap(d.starts) > room || cap(d.scratch) > room {
		d.cells = nil
		d.starts = nil
		d.scratch = nil
		d.firsts = nil
	}
	if d.compiler.invalid != nil {
		return d.compiler.invalid
	}
	if uint64(len(data)) > maxInput {
		return input.TooLarge("CSV", len(data), maxInput)
	}
	d.data = data
	return d.checkText()
}

// finish reads the rows from offset i on, and counts what the piece held while
// its memory is still the document's.
func (d *Document) finish(i int) error {
	read := d.readRows
	if d.compiler.dialect.Lenient {
		read = d.lenientRows
	}
	if err := read(i); err != nil {
		return d.abandon(err)
	}
	d.pieces = true
	d.after = place{
		rows:  d.before.rows + len(d.starts),
		lines: d.before.lines + bytes.Count(d.data, []byte{'\n'}),
		bytes: d.before.bytes + len(d.data),
	}
	return nil
}

// abandon empties the document after an error.
func (d *Document) abandon(err error) error {
	d.data = nil
	d.cells = d.cells[:0]
	d.starts = d.starts[:0]
	d.firsts = d.firsts[:0]
	return err
}

// forgetHeader has the next Load read its header again.
func (d *Document) forgetHeader() {
	d.header = d.header[:0]
	d.names = nil
	d.width = 0
	clear(d.resolved)
}

// readHeader reads what precedes the first row and returns where that
// begins.
func (d *Document) readHeader() (int, error) {
	from := 0
	if bytes.HasPrefix(d.data, []byte(byteOrderMark)) {
		from = len(byteOrderMark)
	}
	if d.compiler.dialect.Lenient {
		d.lenientDelimiter(from, len(d.header) > 0 && bytes.HasPrefix(d.data[from:], d.header))
	}
	if len(d.header) > 0 && bytes.HasPrefix(d.data[from:], d.header) {
		d.irregular.Comments = d.above
		return from + len(d.header), nil
	}
	i, err := d.skipRows(from)
	if err != nil {
		return 0, err
	}
	dialect := &d.compiler.dialect
	if dialect.NoHeader {
		return i, d.nameColumns(i)
	}
	d.forgetHeader()
	for n := range dialect.HeaderRows {
		i = d.nextRow(i, true)
		if i == len(d.data) {
			return 0, d.fail(i, "the input ended before its header, expected %d rows of column names and read %d",
				dialect.HeaderRows, n)
		}
		start := i
		next, err := d.headRow(i)
		if err != nil {
			return 0, err
		}
		if len(d.cells) > d.maxNames {
			return 0, d.exceed(start, "the header has more than %d columns", d.maxNames)
		}
		if n == 0 {
			d.nameLine, _ = input.Locate(d.data, start)
			d.nameAt = start
			d.width = len(d.cells)
		} else if len(d.cells) != d.width {
			return 0, d.ragged(start, len(d.cells))
		}
		d.names = append(d.names, d.takeNames())
		i = next
	}
	if d.data[i-1] == '\n' {
		d.header = append(d.header, d.data[from:i]...)
	}
	return i, nil
}

// nextRow returns where the next row begins at or after i.
func (d *Document) nextRow(i int, skipEmpty bool) int {
	if !d.compiler.dialect.Lenient {
		return d.skipComments(i, skipEmpty)
	}
	i, d.above = d.scan.skipLines(d.data, i)
	if !d.compiler.dialect.NoHeader { // otherwise the rows are read from here again
		d.irregular.Comments = d.above
	}
	return i
}

// headRow appends the cells of a row that names the columns, or their number.
func (d *Document) headRow(i int) (int, error) {
	if d.compiler.dialect.Lenient {
		next, _, err := d.lenientRow(i)
		return next, err
	}
	return d.readRow(i)
}

// takeNames reads the names in a header row.
func (d *Document) takeNames() []string {
	names := make([]string, len(d.cells))
	for i, c := range d.cells {
		names[i] = string(d.text(c))
	}
	d.cells = d.cells[:0]
	d.scratch = d.scratch[:0]
	return names
}

// skipRows returns the offset after the rows that the dialect skips.
func (d *Document) skipRows(i int) (int, error) {
	count := d.compiler.dialect.SkipRows
	for n := range count {
		if i == len(d.data) {
			return 0, d.fail(i, "the input ended in the %d rows to skip, after %d", count, n)
		}
		next, err := d.skipRow(i)
		if err != nil {
			return 0, err
		}
		i = next
	}
	return i, nil
}

// nameColumns names the columns of an input without a header; unless the
// dialect does it, their number is that of the cells of the first row.
func (d *Document) nameColumns(i int) error {
	d.nameLine = 1
	d.nameAt = 0
	if given := d.compiler.dialect.Columns; len(given) > 0 {
		if d.width == 0 {
			d.names = [][]string{given}
			d.width = len(given)
		}
		return nil
	}
	i = d.nextRow(i, d.compiler.dialect.Blank != KeepBlankRows)
	if i == len(d.data) {
		return d.fail(i, "the input ended before its first row")
	}
	if _, err := d.headRow(i); err != nil {
		return err
	}
	width := len(d.cells)
	d.cells = d.cells[:0]
	d.scratch = d.scratch[:0]
	if width == d.width {
		return nil
	}
	d.forgetHeader()
	names := make([]string, width)
	for n := range names {
		names[n] = fmt.Sprintf("_col.%d", n+1)
	}
	d.names = [][]string{names}
	d.width = width
	return nil
}
