package csvdoc

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

const (
	// maxInput is the longest input, for offsets are 32 bits wide.
	maxInput = math.MaxUint32
	// rewritten marks the cells whose text is in the scratch buffer.
	rewritten = 1 << 31
)

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\xEF\xBB\xBF"

// cell is the place of a cell's text in the data, or in the scratch buffer
// when the length bears the rewritten mark.
type cell struct{ start, length uint32 }

// text returns the text of a cell.
func (d *Document) text(c cell) []byte {
	if c.length&rewritten != 0 {
		end := c.start + c.length&^rewritten
		return d.scratch[c.start:end:end]
	}
	end := uint64(c.start) + uint64(c.length)
	return d.data[c.start:end:end]
}

// readRows reads rows from offset i to the end.
func (d *Document) readRows(i int) error {
	skipEmpty := d.compiler.dialect.Blank != KeepBlankRows
	for {
		i = d.skipComments(i, skipEmpty)
		if i == len(d.data) {
			return nil
		}
		before := len(d.cells)
		next, err := d.readRow(i)
		if err != nil {
			return err
		}
		if d.compiler.dialect.Blank == SkipBlankRows && d.blank(before) {
			d.cells = d.cells[:before]
			i = next
			continue
		}
		read := len(d.cells) - before
		if read != d.width {
			if read != 1 || d.lineEnd(i) == 0 {
				return d.ragged(i, read)
			}
			for range d.width - 1 {
				d.cells = append(d.cells, cell{start: uint32(i)})
			}
		}
		if len(d.starts) == math.MaxInt32 {
			return d.exceed(i, "the input has more than %d rows", math.MaxInt32)
		}
		d.starts = append(d.starts, uint32(i))
		i = next
	}
}

// blank reports whether all cells from an index on are empty.
func (d *Document) blank(from int) bool {
	for _, c := range d.cells[from:] {
		if c.length&^rewritten != 0 {
			return false
		}
	}
	return true
}

// skipComments returns where the next row begins at or after i, behind comments
// and, optionally, empty lines.
func (d *Document) skipComments(i int, skipEmpty bool) int {
	comment := d.compiler.dialect.Comment
	for i < len(d.data) {
		if skipEmpty {
			if n := d.lineEnd(i); n > 0 {
				i += n
				continue
			}
		}
		if comment == 0 || d.data[i] != comment {
			return i
		}
		n := bytes.IndexByte(d.data[i:], '\n')
		if n < 0 {
			return len(d.data)
		}
		i += n + 1
	}
	return i
}

// lineEnd returns the length of the line end at i, or 0.
func (d *Document) lineEnd(i int) int {
	switch {
	case i < len(d.data) && d.data[i] == '\n':
		return 1
	case i+1 < len(d.data) && d.data[i] == '\r' && d.data[i+1] == '\n':
		return 2
	}
	return 0
}

// skipRow returns the offset after the row at i, a comment line being a row;
// only its quotes and line ends are read.
func (d *Document) skipRow(i int) (int, error) {
	dialect := &d.compiler.dialect
	if dialect.Comment != 0 && d.data[i] == dialect.Comment {
		if n := bytes.IndexByte(d.data[i:], '\n'); n >= 0 {
			return i + n + 1, nil
		}
		return len(d.data), nil
	}
	open := -1
	for ; i < len(d.data); i++ {
		switch b := d.data[i]; {
		case open >= 0 && dialect.Escape != 0 && b == dialect.Escape:
			i++
		case !dialect.NoQuotes && b == dialect.Quote:
			if open < 0 {
				open = i
			} else {
				open = -1
			}
		case b == '\n' && open < 0:
			return i + 1, nil
		}
	}
	if open >= 0 {
		return 0, d.fail(open, "the quote that begins here is never closed")
	}
	return len(d.data), nil
}

// readRow appends the cells of the row at i and returns the offset after its
// line end.
func (d *Document) readRow(i int) (int, error) {
	data := d.data
	special := &d.compiler.special
	dialect := &d.compiler.dialect
	for {
		start := i
		if dialect.Trim&TrimStart != 0 {
			i = d.skipSpaces(i)
		}
		if i < len(data) && data[i] == dialect.Quote && !dialect.NoQuotes {
			end, err := d.readQuoted(i)
			if err != nil {
				return 0, err
			}
			i = end
		} else {
			i = start
			for i < len(data) && !special[data[i]] {
				i++
			}
			if int64(i-start) >= rewritten {
				return 0, d.exceed(start, "the cell is longer than %d bytes", rewritten-1)
			}
			if len(d.cells) == cap(d.cells) {
				d.growCells(i)
			}
			d.cells = append(d.cells, d.trimmed(cell{uint32(start), uint32(i - start)}))
		}
		if len(d.cells) > d.maxCells {
			return 0, d.exceed(start, "the input has more than %d cells", d.maxCells)
		}
		if i == len(data) {
			return i, nil
		}
		switch b := data[i]; {
		case b == dialect.Delimiter:
			i++
		case b == '\n':
			return i + 1, nil
		case b == '\r':
			if i+1 < len(data) && data[i+1] == '\n' {
				return i + 2, nil
			}
			return 0, d.fail(i, "a carriage return must be followed by a line feed, or be inside quotes")
		default:
			return 0, d.fail(i, "a quote in a cell that does not begin with one; such a cell must be quoted, and the "+
				"quotes in it %s", d.escaped())
		}
	}
}

// growCells reserves room for the cells that begin after i: for twice as many as there are,
// or for all that the rest can hold if that is less.
func (d *Document) growCells(i int) {
	room := max(64, len(d.cells))
	if len(d.cells) >= keptCells {
		rest := d.data[i:]
		room = min(room, 1+bytes.Count(rest, []byte{d.compiler.dialect.Delimiter})+bytes.Count(rest, []byte{'\n'}))
	}
	larger := make([]cell, len(d.cells), len(d.cells)+room)
	copy(larger, d.cells)
	d.cells = larger
}

// readQuoted appends the quoted cell at i and returns the offset after it.
func (d *Document) readQuoted(i int) (int, error) {
	data := d.data
	quote := d.compiler.dialect.Quote
	escape := d.compiler.dialect.Escape
	open := i
	i++
	from, kept := i, len(d.scratch) // what is not copied yet, where the copy begins
	for {
		if escape == 0 {
			n := bytes.IndexByte(data[i:], quote)
			if n < 0 {
				i = len(data)
			} else {
				i += n
			}
		} else {
			for i < len(data) && data[i] != quote && data[i] != escape {
				i++
			}
		}
		if i == len(data) {
			return 0, d.fail(open, "the quote that begins here is never closed")
		}
		follows := i+1 < len(data) && (data[i+1] == quote || (escape != 0 && data[i+1] == escape))
		switch {
		case escape == 0 && follows:
			d.scratch = append(d.scratch, data[from:i+1]...)
			i += 2
			from = i
			continue
		case escape != 0 && data[i] == escape && follows:
			d.scratch = append(d.scratch, data[from:i]...)
			from = i + 1
			i += 2
			continue
		case data[i] != quote:
			i++
			continue
		}
		break
	}
	if int64(i-open) > rewritten {
		return 0, d.exceed(open, "the cell is longer than %d bytes", rewritten-1)
	}
	c := cell{uint32(open + 1), uint32(i - open - 1)}
	if from > open+1 {
		d.scratch = append(d.scratch, data[from:i]...)
		c = cell{uint32(kept), uint32(len(d.scratch)-kept) | rewritten}
	}
	if len(d.cells) == cap(d.cells) {
		d.growCells(i)
	}
	d.cells = append(d.cells, d.trimmed(c))
	i++
	if d.compiler.dialect.Trim&TrimEnd != 0 {
		i = d.skipSpaces(i)
	}
	if i < len(data) && data[i] != d.compiler.dialect.Delimiter && data[i] != '\n' && data[i] != '\r' {
		return 0, d.fail(i, "text after a closing quote, expected %q or the end of the line; quotes inside quotes %s",
			d.compiler.dialect.Delimiter, d.escaped())
	}
	return i, nil
}

// skipSpaces returns the offset after the spaces and tabs at i, none of which
// may be the delimiter.
func (d *Document) skipSpaces(i int) int {
	for i < len(d.data) && (d.data[i] == ' ' || d.data[i] == '\t') && d.data[i] != d.compiler.dialect.Delimiter {
		i++
	}
	return i
}

// trimmed returns the cell without the spaces and tabs that the dialect trims.
func (d *Document) trimmed(c cell) cell {
	trim := d.compiler.dialect.Trim
	if trim == TrimNone {
		return c
	}
	text := d.text(c)
	if trim&TrimEnd != 0 {
		n := uint32(len(text))
		text = bytes.TrimRight(text, " \t")
		c.length -= n - uint32(len(text))
	}
	if trim&TrimStart != 0 {
		n := uint32(len(text))
		text = bytes.TrimLeft(text, " \t")
		c.start += n - uint32(len(text))
		c.length -= n - uint32(len(text))
	}
	return c
}

// escaped describes how quotes are written inside quotes.
func (d *Document) escaped() string {
	if e := d.compiler.dialect.Escape; e != 0 {
		return fmt.Sprintf("must follow a %q", e)
	}
	return "must be doubled"
}

// checkText returns an error for data that is not UTF-8.
func (d *Document) checkText() error {
	if utf8.Valid(d.data) {
		return nil
	}
	for i := 0; i < len(d.data); {
		r, n := utf8.DecodeRune(d.data[i:])
		if r == utf8.RuneError && n == 1 {
			return d.abandon(d.fail(i, "the byte 0x%02X is not UTF-8, the only encoding that is read", d.data[i]))
		}
		i += n
	}
	return nil
}

// ragged is the error for a row of another width.
func (d *Document) ragged(i, read int) error {
	return d.fail(i, "the row has %d cells, expected %d as in the header", read, d.width)
}

// exceed is fail for an input that exceeds a limit.
func (d *Document) exceed(offset int, format string, args ...any) error {
	err := d.fail(offset, format, args...)
	err.Limit = true
	return err
}

// fail returns the error for an offset of the data.
func (d *Document) fail(offset int, format string, args ...any) *input.SyntaxError {
	line, col := input.Locate(d.data, offset)
	return &input.SyntaxError{
		Format: "CSV",
		Line:   d.before.lines + line, Column: col,
		Offset: d.before.bytes + offset,
		Reason: fmt.Sprintf(format, args...),
	}
}
