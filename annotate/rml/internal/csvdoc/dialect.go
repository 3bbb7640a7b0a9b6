package csvdoc

import (
	"errors"
	"fmt"
	"slices"
)

// Trim is the ends of a cell at which spaces and tabs are removed.
type Trim uint8

// The ends at which cells are trimmed.
const (
	TrimNone Trim = iota
	TrimStart
	TrimEnd
	TrimBoth
)

// Blank is the treatment of rows without any text.
type Blank uint8

// The treatments of blank rows.
const (
	// SkipEmptyLines skips lines of no characters; a row of empty cells
	// (",,") is a row.
	SkipEmptyLines Blank = iota
	// SkipBlankRows skips empty lines and rows of empty cells.
	SkipBlankRows
	// KeepBlankRows reads an empty line as a row of empty cells.
	KeepBlankRows
)

// Dialect is the format of a CSV text. The zero value is RFC 4180 with a header
// row: comma, double quote, quotes doubled inside quoted cells, no comments,
// empty lines skipped, nothing trimmed, empty cells null.
type Dialect struct {
	// Lenient reads as the CSV parser of CARML 0.3.2 does. The zero Delimiter is then
	// detected in the header and the rows after it, among [Candidates], and the zero Comment
	// is '#', as long as neither the delimiter nor the quote is. Unquoted cells lose the spaces
	// at their ends. A quoted cell with text after its closing quote is an unquoted one. A lone
	// carriage return ends a line, and lines of spaces are skipped. A row may be shorter
	// than the header, when it has no value in the columns after its end, or longer, when
	// the cells beyond the header are not read; [Document.Irregular] counts both. Names of columns
	// are compared without regard to case and spaces around them, and of two columns with
	// one name the last is read. Iterators have no effect. Escape, SkipRows, HeaderRows
	// and KeepBlankRows may not be set.
	Lenient bool
	// Delimiter stands between cells: an ASCII character, or 0 for a comma.
	Delimiter byte
	// Quote stands around cells that hold delimiters, line ends or quotes: an
	// ASCII character, or 0 for the double quote.
	Quote byte
	// NoQuotes treats the quote as an ordinary character.
	NoQuotes bool
	// Escape, when not 0, precedes a quote or another Escape inside a
	// quoted cell, in place of doubling the quote.
	Escape byte
	// Comment, when not 0, begins a line that is skipped.
	Comment byte
	// SkipRows is the number of rows before the header to skip.
	SkipRows int
	// NoHeader means that the first row is data. Columns has the names then.
	NoHeader bool
	// HeaderRows is the number of header rows, 0 for one. A column has its names
	// in all of them.
	HeaderRows int
	// Columns are the names of the columns when NoHeader is set; when empty,
	// the columns are called _col.1, _col.2 and so on.
	Columns []string
	// Blank is the treatment of blank rows.
	Blank Blank
	// Trim is the ends at which cells and column names are trimmed.
	Trim Trim
	// Null are the cells, compared as they are after trimming and unquoting,
	// that hold no value. Nil means the empty cell; an empty list that is not
	// nil means that every cell is a value.
	Null []string
}

// Validate checks the dialect. Its error names the field.
func (d Dialect) Validate() error {
	d = d.filled()
	var errs []error
	for _, field := range d.validateLenient() {
		errs = append(errs, fmt.Errorf("dialect %s: may not be set in the lenient mode", field))
	}
	special := map[byte]string{}
	for _, c := range []struct {
		field string
		char  byte
		used  bool
	}{
		{"delimiter", d.Delimiter, d.Delimiter != 0},
		{"quote", d.Quote, !d.NoQuotes},
		{"escape", d.Escape, d.Escape != 0},
		{"comment", d.Comment, d.Comment != 0},
	} {
		switch {
		case !c.used:
			continue
		case c.char >= 0x80 || c.char == '\r' || c.char == '\n':
			errs = append(errs, fmt.Errorf("dialect %s %q: must be an ASCII character other than a line end", c.field, c.char))
		case special[c.char] != "":
			errs = append(errs, fmt.Errorf("dialect %s %q: is the %s already", c.field, c.char, special[c.char]))
		}
		special[c.char] = c.field
	}
	if d.NoQuotes && d.Escape != 0 {
		errs = append(errs, errors.New("dialect escape: has no meaning without quotes"))
	}
	if d.Trim != TrimNone && (d.Delimiter == ' ' || (!d.NoQuotes && (d.Quote == ' ' || d.Quote == '\t'))) {
		errs = append(errs, errors.New("dialect trim: the delimiter or the quote is a space"))
	}
	if d.SkipRows < 0 {
		errs = append(errs, fmt.Errorf("dialect skip rows %d: must not be negative", d.SkipRows))
	}
	if d.HeaderRows < 0 {
		errs = append(errs, fmt.Errorf("dialect header rows %d: must not be negative", d.HeaderRows))
	}
	if d.Trim > TrimBoth {
		errs = append(errs, fmt.Errorf("dialect trim %d: must be one of the four constants", d.Trim))
	}
	if d.Blank > KeepBlankRows {
		errs = append(errs, fmt.Errorf("dialect blank %d: must be one of the three constants", d.Blank))
	}
	if len(d.Columns) > 0 && !d.NoHeader {
		errs = append(errs, errors.New("dialect columns: may only be given when there is no header"))
	}
	return errors.Join(errs...)
}

// filled returns the dialect with its defaults written out.
func (d Dialect) filled() Dialect {
	if d.Quote == 0 {
		d.Quote = '"'
	}
	switch {
	case !d.Lenient:
		if d.Delimiter == 0 {
			d.Delimiter = ','
		}
	case d.Comment == 0 && d.Delimiter != '#' && (d.NoQuotes || d.Quote != '#'):
		d.Comment = '#'
	}
	switch {
	case d.NoHeader:
		d.HeaderRows = 0
	case d.HeaderRows == 0:
		d.HeaderRows = 1
	}
	d.Columns = slices.Clone(d.Columns)
	d.Null = slices.Clone(d.Null)
	if d.Null == nil {
		d.Null = []string{""}
	}
	return d
}
