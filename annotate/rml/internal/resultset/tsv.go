// Package resultset reads the results of SPARQL queries.
package resultset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// FromTSV returns results in TSV (SPARQL 1.1 Query Results CSV and TSV Formats, section 4) as
// CSV of the same variables. A term becomes its text: an IRI without brackets, a literal
// without quotes, language and datatype. A variable without a value is an empty cell. A row may
// have limit bytes.
func FromTSV(r io.Reader, limit int) io.Reader {
	t := &tsv{scanner: bufio.NewScanner(r)}
	t.scanner.Buffer(make([]byte, 0, 64<<10), limit)
	return t
}

// tsv is an io.Reader that converts row by row.
type tsv struct {
	scanner *bufio.Scanner
	columns int
	line    int
	row     []byte // converted
	at      int    // how much of it was read
	err     error
}

// Read implements io.Reader.
func (t *tsv) Read(p []byte) (int, error) {
	for t.at == len(t.row) {
		if t.err != nil {
			return 0, t.err
		}
		t.next()
	}
	n := copy(p, t.row[t.at:])
	t.at += n
	return n, nil
}

// next converts one row.
func (t *tsv) next() {
	t.row = t.row[:0]
	t.at = 0
	if !t.scanner.Scan() {
		if t.err = t.scanner.Err(); t.err == nil {
			t.err = io.EOF
		}
		return
	}
	t.line++
	columns := 0
	for cell := range bytes.SplitSeq(t.scanner.Bytes(), []byte{'\t'}) {
		if columns > 0 {
			t.row = append(t.row, ',')
		}
		columns++
		if err := t.cell(cell); err != nil {
			t.fail("column %d: %w", columns, err)
			return
		}
	}
	if t.line == 1 {
		t.columns = columns
	}
	if columns != t.columns {
		t.fail("it has %d columns, the header has %d", columns, t.columns)
		return
	}
	t.row = append(t.row, '\n')
}

func (t *tsv) fail(format string, args ...any) {
	t.row = t.row[:0]
	t.err = fmt.Errorf("results in TSV, line %d: "+format, append([]any{t.line}, args...)...)
}

// cell converts one variable or term.
func (t *tsv) cell(cell []byte) error {
	if t.line == 1 {
		name, ok := bytes.CutPrefix(cell, []byte{'?'})
		if !ok {
			if name, ok = bytes.CutPrefix(cell, []byte{'$'}); !ok && len(cell) > 0 {
				return fmt.Errorf("the header has %.40q: expected a variable, such as ?name", cell)
			}
		}
		t.row = quote(t.row, name)
		return nil
	}
	if len(cell) == 0 {
		return nil
	}
	switch cell[0] {
	case '<':
		iri, ok := bytes.CutSuffix(cell[1:], []byte{'>'})
		if !ok {
			return errors.New("an IRI has no end")
		}
		return t.text(iri)
	case '"', '\'':
		end := closing(cell)
		if end < 0 {
			return errors.New("a literal has no end")
		}
		return t.text(cell[1:end])
	}
	t.row = quote(t.row, cell)
	return nil
}

// closing returns where the literal that begins a cell ends, or -1.
func closing(cell []byte) int {
	for i := 1; i < len(cell); i++ {
		switch cell[i] {
		case '\\':
			i++
		case cell[0]:
			return i
		}
	}
	return -1
}

// text appends a text with escapes as in Turtle.
func (t *tsv) text(escaped []byte) error {
	if bytes.IndexByte(escaped, '\\') < 0 {
		t.row = quote(t.row, escaped)
		return nil
	}
	text, err := unescape(escaped)
	t.row = quote(t.row, text)
	return err
}

// quote appends a cell of CSV.
func quote(row, text []byte) []byte {
	row = append(row, '"')
	for _, c := range text {
		if c == '"' {
			row = append(row, '"')
		}
		row = append(row, c)
	}
	return append(row, '"')
}

func unescape(escaped []byte) ([]byte, error) {
	text := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '\\' {
			text = append(text, escaped[i])
			continue
		}
		if i++; i == len(escaped) {
			return nil, errors.New("a backslash escapes nothing")
		}
		digits := 0
		switch c := escaped[i]; c {
		case 't':
			text = append(text, '\t')
		case 'n':
			text = append(text, '\n')
		case 'r':
			text = append(text, '\r')
		case 'b':
			text = append(text, '\b')
		case 'f':
			text = append(text, '\f')
		case '"', '\'', '\\':
			text = append(text, c)
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			return nil, fmt.Errorf(`\%c escapes nothing`, c)
		}
		if digits == 0 {
			continue
		}
		if i+digits >= len(escaped) {
			return nil, fmt.Errorf("%d hexadecimal digits are missing", digits)
		}
		code, err := strconv.ParseUint(string(escaped[i+1:i+1+digits]), 16, 32)
		if err != nil || !utf8.ValidRune(rune(code)) {
			return nil, fmt.Errorf("%.10q is not a character", escaped[i+1:i+1+digits])
		}
		text = utf8.AppendRune(text, rune(code))
		i += digits
	}
	return text, nil
}
