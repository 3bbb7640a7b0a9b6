package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/iotenablers/enablers/apimgmt/position"
)

// Limits bound a document. Zero fields mean the defaults.
type Limits struct {
	// Bytes is the greatest length of the text; 8 MiB.
	Bytes int
	// Depth is the greatest depth of nested values; 100.
	Depth int
	// Values is the greatest number of values, aliases of YAML counted as often as
	// they are used; 500000. Text with more marks that could begin a value than
	// four times as many is not even parsed.
	Values int
}

// The defaults of [Limits].
const (
	defaultBytes  = 8 << 20
	defaultDepth  = 100
	defaultValues = 500_000
)

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = defaultDepth
	}
	if l.Values <= 0 {
		l.Values = defaultValues
	}
	return l
}

// Format is the format of a document.
type Format int

// The formats. The zero value is JSON.
const (
	JSON Format = iota
	YAML
)

// Parse reads a document of either format: text that begins with a brace or a
// bracket and is JSON is JSON, any other is YAML. Errors are of type [*position.Error].
func Parse(data []byte, limits Limits) (*Node, Format, error) {
	limits = limits.withDefaults()
	if len(data) > limits.Bytes {
		return nil, JSON, &position.Error{Err: fmt.Errorf("%w: the document has %d bytes, more than %d", ErrLimit, len(data), limits.Bytes)}
	}
	if !utf8.Valid(data) {
		return nil, JSON, &position.Error{Line: lineOfInvalid(data), Err: fmt.Errorf("the text is not UTF-8")}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if marks := countMarks(data); marks > 4*limits.Values {
		return nil, JSON, &position.Error{Err: fmt.Errorf("%w: the document may have %d values, more than %d", ErrLimit, marks, 4*limits.Values)}
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		root, err := parseJSON(data, limits)
		if err == nil || !isSyntax(err) {
			return root, JSON, err
		}
		if root, yamlErr := parseYAML(data, limits); yamlErr == nil {
			return root, YAML, nil
		}
		return nil, JSON, err
	}
	root, err := parseYAML(data, limits)
	return root, YAML, err
}

// countMarks is at least how many values a text can have: each but the first
// follows a mark. It is what bounds the memory of a parser that builds all of its
// tree before its values can be counted.
func countMarks(data []byte) int {
	n := 0
	for i, c := range data {
		switch c {
		case ',', '[', '{', '\n', '&', '!':
			n++
		case '-', ':', '?':
			if i+1 == len(data) || data[i+1] <= ' ' || data[i+1] == '"' || data[i+1] == '\'' {
				n++
			}
		}
	}
	return n
}

func lineOfInvalid(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}

// budget counts the values of a tree while it is built.
type budget struct {
	limits Limits
	values int
	text   int
}

// spend counts the bytes of keys and strings, which aliases repeat too.
func (b *budget) spend(text string) error {
	b.text += len(text)
	if most := 4 * b.limits.Bytes; b.text > most {
		return fmt.Errorf("%w: the keys and strings have more than %d bytes together", ErrLimit, most)
	}
	return nil
}

// take counts one value at a depth.
func (b *budget) take(depth int) error {
	b.values++
	if b.values > b.limits.Values {
		return fmt.Errorf("%w: more than %d values", ErrLimit, b.limits.Values)
	}
	if depth > b.limits.Depth {
		return fmt.Errorf("%w: values are nested deeper than %d", ErrLimit, b.limits.Depth)
	}
	return nil
}
