package csvdoc

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// Candidates are the delimiters that are detected, those before others in a draw.
const Candidates = ",;\t|"

const (
	// sampleRows is the number of rows, the header included, in which a delimiter is detected.
	sampleRows = 20
	// sampleBytes is the length of the beginning of an input that holds them.
	sampleBytes = 64 << 10
)

// Irregular counts what the lenient mode passed over in the last Load or LoadRows.
type Irregular struct {
	Long  IrregularRows // rows with more cells than the header, which are not read
	Short IrregularRows // rows with fewer cells than the header
	// Torn are rows with a quoted cell of several lines that has text after its closing quote, of any number of
	// cells. A row that is cut inside quotes is one, with the rows up to the next quote.
	Torn     IrregularRows
	Comments int // lines that are comments
}

// IrregularRows counts rows of one kind.
type IrregularRows struct {
	Count int
	First input.Node // the first one
	Cells int        // of the first one
}

// add counts a row.
func (r *IrregularRows) add(row, cells int) {
	if r.Count == 0 {
		r.First = input.Node(row)
		r.Cells = cells
	}
	r.Count++
}

// Irregular returns the counts for the last Load or LoadRows.
func (d *Document) Irregular() Irregular { return d.irregular }

// Width returns the number of columns.
func (d *Document) Width() int { return d.width }

// Explain describes what the lenient mode does that a reader of the mapping does not see, a
// sentence each. In the strict mode there is nothing.
func (c *Compiler) Explain() []string {
	d := c.dialect
	if !d.Lenient {
		return nil
	}
	lines := make([]string, 0, 4)
	if d.Delimiter == 0 {
		lines = append(lines, fmt.Sprintf("the delimiter, one of %q, is detected in the header and the rows after it", Candidates))
	} else {
		lines = append(lines, fmt.Sprintf("the delimiter is %q", d.Delimiter))
	}
	lines = append(lines,
		"names of columns are compared without regard to case; of two columns with one name the last is read",
		"cells beyond the header are not read, cells that a row lacks have no value; such rows are counted")
	if d.Comment != 0 {
		lines = append(lines, fmt.Sprintf("lines that begin with %q are comments, and counted", d.Comment))
	}
	return lines
}

// scanner finds the cells of a text in the lenient mode.
type scanner struct {
	delimiter, quote, comment byte
	ends                      [256]bool // the bytes that end an unquoted cell
}

func newScanner(dialect *Dialect, delimiter byte) scanner {
	s := scanner{delimiter: delimiter, comment: dialect.Comment}
	if !dialect.NoQuotes {
		s.quote = dialect.Quote
	}
	s.ends['\n'] = true
	s.ends['\r'] = true
	s.ends[delimiter] = true
	return s
}

// extent is the place of a cell.
type extent struct {
	from, to int  // the text: without quotes around it and the spaces at its ends
	end      int  // the delimiter or line end after the cell, or the end of the data
	closing  int  // the closing quote of a quoted cell; 0 for none
	doubled  bool // whether quotes in it are doubled
	open     bool // whether its quote is never closed
}

// cell finds the cell at i.
func (s *scanner) cell(data []byte, i int) extent {
	i = s.skipSpaces(data, i)
	if s.quote != 0 && i < len(data) && data[i] == s.quote {
		return s.quoted(data, i)
	}
	return s.plain(data, i, i)
}

// plain returns the cell from an offset that ends at the first delimiter or line end at
// or after i.
func (s *scanner) plain(data []byte, from, i int) extent {
	for i < len(data) && !s.ends[data[i]] {
		i++
	}
	to := i
	for to > from && data[to-1] <= ' ' {
		to--
	}
	return extent{from: from, to: to, end: i}
}

// quoted returns the cell that begins with the quote at open. Where text follows the
// closing quote, the quotes are part of the text, which ends as an unquoted one does.
func (s *scanner) quoted(data []byte, open int) extent {
	doubled := false
	i := open + 1
	for {
		n := bytes.IndexByte(data[i:], s.quote)
		if n < 0 {
			return extent{from: open, to: len(data), end: len(data), open: true}
		}
		i += n
		if i+1 == len(data) || data[i+1] != s.quote {
			break
		}
		doubled = true
		i += 2
	}
	end := s.skipSpaces(data, i+1)
	if end == len(data) || s.ends[data[end]] {
		return extent{from: open + 1, to: i, end: end, closing: i, doubled: doubled}
	}
	c := s.plain(data, open, i+1)
	c.closing = i
	c.doubled = doubled
	return c
}

// skipSpaces returns the offset after the characters up to the space at i that do not end a cell.
func (s *scanner) skipSpaces(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' && !s.ends[data[i]] {
		i++
	}
	return i
}

// row returns how many cells the row at i has, where the next line begins, and whether
// its line end, or the end of the data, was reached outside of quotes.
func (s *scanner) row(data []byte, i int) (cells, next int, closed bool) {
	for {
		c := s.cell(data, i)
		cells++
		switch {
		case c.open:
			return cells, c.end, false
		case c.end == len(data):
			return cells, c.end, true
		case data[c.end] != s.delimiter:
			return cells, c.end + lineEnd(data, c.end), true
		}
		i = c.end + 1
	}
}

// lineEnd returns the length of the line end at i: a line feed, a carriage return, or both.
func lineEnd(data []byte, i int) int {
	if data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n' {
		return 2
	}
	return 1
}

// skipLines returns where the next row begins at or after i, behind comments and lines
// of spaces, and how many comments there are.
func (s *scanner) skipLines(data []byte, i int) (row, comments int) {
	for i < len(data) {
		at := s.skipSpaces(data, i)
		switch {
		case s.comment != 0 && data[i] == s.comment:
			comments++
			n := bytes.IndexAny(data[i:], "\r\n")
			if n < 0 {
				return len(data), comments
			}
			i += n + lineEnd(data, i+n)
		case at == len(data):
			return at, comments
		case data[at] == '\n' || data[at] == '\r':
			i = at + lineEnd(data, at)
		default:
			return i, comments
		}
	}
	return i, comments
}

// detect returns the delimiter of a text: among the candidates in its first row the one
// that divides the most of the rows in the sample into as many cells. It reports whether
// the first row has only one of them, so that other rows have no effect.
func (c *Compiler) detect(data []byte) (delimiter byte, certain bool) {
	dialect := &c.dialect
	if dialect.Delimiter != 0 {
		return dialect.Delimiter, true
	}
	sample := data[:min(len(data), c.sample)]
	delimiter = Candidates[0]
	certain = true
	most, widest := 0, 1
	for _, candidate := range []byte(Candidates) {
		if candidate == dialect.Comment || (!dialect.NoQuotes && candidate == dialect.Quote) {
			continue
		}
		s := newScanner(dialect, candidate)
		width, agree := s.agreement(sample, len(sample) == len(data))
		if width < 2 {
			continue
		}
		if widest > 1 {
			certain = false
		}
		if agree > most || (agree == most && width > widest) {
			delimiter = candidate
			most = agree
			widest = width
		}
	}
	return delimiter, certain
}

// agreement returns how many cells the first row of a sample has, and how many of the
// complete rows of the sample have as many.
func (s *scanner) agreement(sample []byte, whole bool) (width, agree int) {
	i, _ := s.skipLines(sample, 0)
	for n := 0; n < sampleRows && i < len(sample); n++ {
		cells, next, closed := s.row(sample, i)
		if n == 0 {
			width = cells
		}
		if complete := closed && (whole || next < len(sample) || ended(sample)); complete && cells == width {
			agree++
		}
		i, _ = s.skipLines(sample, next)
	}
	return width, agree
}

// ended reports whether a text ends with a line end.
func ended(text []byte) bool {
	last := text[len(text)-1]
	return last == '\n' || last == '\r'
}

// Split returns the offset after the last complete row of data, which begins where a row
// begins; of the first piece of an input, which is for Load, or of another, for LoadRows.
// See [Compiler.Split], which serves the strict mode.
func (d *Document) Split(data []byte, first bool) int {
	if !d.compiler.dialect.Lenient {
		return d.compiler.Split(data)
	}
	i, s := 0, &d.scan
	if first {
		if bytes.HasPrefix(data, []byte(byteOrderMark)) {
			i = len(byteOrderMark)
		}
		delimiter, _ := d.compiler.detect(data[i:])
		detected := newScanner(&d.compiler.dialect, delimiter)
		s = &detected
	}
	end := 0
	for {
		if i, _ = s.skipLines(data, i); i == len(data) {
			break
		}
		_, next, closed := s.row(data, i)
		if !closed || next == len(data) {
			if closed && data[next-1] == '\n' {
				end = next
			}
			break
		}
		i, end = next, next
	}
	return end
}

// lenientDelimiter detects the delimiter of the data from an offset on, unless the header
// is the one before and says which it is.
func (d *Document) lenientDelimiter(from int, known bool) {
	if known && d.certain {
		return
	}
	delimiter, certain := d.compiler.detect(d.data[from:])
	d.certain = certain
	if delimiter != d.scan.delimiter {
		d.scan = newScanner(&d.compiler.dialect, delimiter)
		d.forgetHeader()
	}
}

// lenientRows reads rows from offset i to the end.
func (d *Document) lenientRows(i int) error {
	d.firsts = append(d.firsts, uint32(len(d.cells)))
	for {
		var comments int
		i, comments = d.scan.skipLines(d.data, i)
		d.irregular.Comments += comments
		if i == len(d.data) {
			return nil
		}
		before := len(d.cells)
		next, torn, err := d.lenientRow(i)
		if err != nil {
			return err
		}
		if d.compiler.dialect.Blank == SkipBlankRows && d.blank(before) {
			d.cells = d.cells[:before]
			i = next
			continue
		}
		read, row := len(d.cells)-before, len(d.starts)
		d.cells = d.cells[:before+min(read, d.width)]
		switch {
		case torn:
			d.irregular.Torn.add(row, read)
		case read > d.width:
			d.irregular.Long.add(row, read)
		case read < d.width:
			d.irregular.Short.add(row, read)
		}
		if len(d.starts) == math.MaxInt32 {
			return d.exceed(i, "the input has more than %d rows", math.MaxInt32)
		}
		d.starts = append(d.starts, uint32(i))
		d.firsts = append(d.firsts, uint32(len(d.cells)))
		i = next
	}
}

// lenientRow appends the cells of the row at i and returns the offset after its line end, and whether
// one of them is torn, see [Irregular].
func (d *Document) lenientRow(i int) (next int, torn bool, err error) {
	for {
		c := d.scan.cell(d.data, i)
		switch {
		case c.open:
			return 0, false, d.fail(c.from, "the quote that begins here is never closed")
		case int64(c.to-c.from) >= rewritten:
			return 0, false, d.exceed(i, "the cell is longer than %d bytes", rewritten-1)
		case len(d.cells) == d.maxCells:
			return 0, false, d.exceed(i, "the input has more than %d cells", d.maxCells)
		}
		torn = torn || (c.closing > 0 && c.to > c.closing && bytes.ContainsAny(d.data[c.from:c.closing], "\r\n"))
		d.cells = append(d.cells, d.lenientText(c))
		switch {
		case c.end == len(d.data):
			return c.end, torn, nil
		case d.data[c.end] != d.scan.delimiter:
			return c.end + lineEnd(d.data, c.end), torn, nil
		}
		i = c.end + 1
	}
}

// lenientText returns the text of a cell, with a single quote for each doubled one.
func (d *Document) lenientText(c extent) cell {
	out := cell{uint32(c.from), uint32(c.to - c.from)}
	if c.doubled {
		kept := len(d.scratch)
		quote := []byte{d.scan.quote}
		from := c.from
		if d.data[from] == d.scan.quote && c.to > c.closing { // the opening quote is part of the text
			d.scratch = append(d.scratch, d.scan.quote)
			from++
		}
		for i := from; i < c.closing; {
			n := bytes.Index(d.data[i:c.closing], quote)
			if n < 0 {
				d.scratch = append(d.scratch, d.data[i:c.closing]...)
				break
			}
			d.scratch = append(d.scratch, d.data[i:i+n+1]...)
			i += n + 2
		}
		d.scratch = append(d.scratch, d.data[c.closing:c.to]...)
		out = cell{uint32(kept), uint32(len(d.scratch)-kept) | rewritten}
	}
	if d.compiler.dialect.Trim != TrimNone {
		return d.trimmed(out)
	}
	return out
}

// findLenient resolves a name without regard to case and to the spaces around it. Of
// columns with one name it is the last, and a name in the same case precedes others.
func findLenient(names [][]string, name string) int32 {
	name = strings.TrimSpace(name)
	var exact, folded int32 = absent, absent
	for _, row := range names {
		for i, n := range row {
			switch n = strings.TrimSpace(n); {
			case n == name:
				exact = int32(i + 1)
			case strings.EqualFold(n, name):
				folded = int32(i + 1)
			}
		}
	}
	if exact != absent {
		return exact
	}
	return folded
}

// row returns the cells of a row.
func (d *Document) row(n input.Node) []cell {
	if d.compiler.dialect.Lenient {
		return d.cells[d.firsts[n]:d.firsts[n+1]]
	}
	return d.cells[int(n)*d.width : (int(n)+1)*d.width]
}

// validateLenient returns what a dialect has that the lenient mode does not read.
func (d Dialect) validateLenient() []string {
	if !d.Lenient {
		return nil
	}
	fields := map[string]bool{
		"escape": d.Escape != 0, "skip rows": d.SkipRows != 0, "header rows": d.HeaderRows > 1,
		"blank": d.Blank == KeepBlankRows,
	}
	var out []string
	for field, set := range fields {
		if set {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out
}
