package jsondoc

import (
	"bytes"
	"unicode/utf8"
)

// permit reads a text that is not JSON as json-smart does in its permissive mode: strings in
// single quotes or without quotes, NaN, numbers with zeros before them, commas too many, control
// characters in strings, which are left out, and text after the value, which is ignored. The text is
// written as JSON and read again; its fault is returned if that is not possible. Other than
// json-smart it takes only objects and arrays: any text is a string there, and would be a message
// without a record here, where it is a fault.
func (d *Document) permit(data []byte, bad *fault) *fault {
	if d.isLimit(bad) {
		return bad
	}
	r := permissive{data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), depth: d.maxDepth}
	r.space()
	if c := r.peek(); (c != '{' && c != '[') || !r.value("") {
		return bad
	}
	d.tape = d.tape[:0]
	d.escaped = d.escaped[:0]
	d.data = r.out
	tape, again := d.scan(r.out)
	d.tape = tape
	if again != nil {
		d.data = data
		return bad
	}
	return nil
}

// permissive writes a text as JSON.
type permissive struct {
	data, out []byte
	at        int
	depth     int
}

func (r *permissive) space() {
	for r.at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n"), r.data[r.at]) >= 0 {
		r.at++
	}
}

func (r *permissive) peek() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// value writes one value. Text without quotes ends before one of the stops.
func (r *permissive) value(stops string) bool {
	r.space()
	switch r.peek() {
	case 0:
		return false
	case '{':
		return r.container('}')
	case '[':
		return r.container(']')
	case '"', '\'':
		return r.quoted()
	}
	return r.bare(stops, true)
}

// container writes an object or an array up to its closing bracket.
func (r *permissive) container(closing byte) bool {
	if r.depth--; r.depth < 0 {
		return false
	}
	defer func() { r.depth++ }()
	r.out = append(r.out, r.data[r.at])
	r.at++
	for first := true; ; first = false {
		for r.space(); r.peek() == ','; r.space() {
			r.at++
		}
		if r.peek() == closing {
			r.out = append(r.out, closing)
			r.at++
			return true
		}
		if !first {
			r.out = append(r.out, ',')
		}
		if closing == '}' && !r.name() {
			return false
		}
		if !r.value("," + string(rune(closing))) {
			return false
		}
		r.space()
		if c := r.peek(); c != ',' && c != closing {
			return false
		}
	}
}

// name writes a member name and its colon.
func (r *permissive) name() bool {
	ok := false
	if c := r.peek(); c == '"' || c == '\'' {
		ok = r.quoted()
	} else {
		ok = r.bare(":", false)
	}
	r.space()
	if !ok || r.peek() != ':' {
		return false
	}
	r.at++
	r.out = append(r.out, ':')
	return true
}

// bare writes text without quotes: a number, a word of JSON, or a string.
func (r *permissive) bare(stops string, words bool) bool {
	end := bytes.IndexAny(r.data[r.at:], stops)
	if end < 0 || stops == "" {
		if stops != "" {
			return false // the container does not end
		}
		end = len(r.data) - r.at
	}
	text := bytes.TrimSpace(r.data[r.at : r.at+end])
	r.at += end
	if len(text) == 0 {
		return false
	}
	if words {
		if number := repaired(text); number != nil {
			r.out = append(r.out, number...)
			return true
		}
		if word := string(text); word == "true" || word == "false" || word == "null" {
			r.out = append(r.out, word...)
			return true
		}
	}
	r.out = append(r.out, '"')
	for i := 0; i < len(text); {
		i += r.character(text[i:])
	}
	r.out = append(r.out, '"')
	return true
}

// repaired returns a number without zeros before it and with digits behind its point, or nil
// when the text is not a number.
func repaired(text []byte) []byte {
	digits := func(s []byte) int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	var number []byte
	if text[0] == '-' {
		number, text = append(number, '-'), text[1:]
	}
	n := digits(text)
	if n == 0 {
		return nil
	}
	whole := bytes.TrimLeft(text[:n], "0")
	if len(whole) == 0 {
		whole = []byte("0")
	}
	number, text = append(number, whole...), text[n:]
	if len(text) > 0 && text[0] == '.' {
		n = digits(text[1:])
		number = append(number, text[:n+1]...)
		if n == 0 {
			number = append(number, '0')
		}
		text = text[n+1:]
	}
	if len(text) > 0 && text[0]|0x20 == 'e' {
		sign := 1
		if len(text) > 1 && (text[1] == '+' || text[1] == '-') {
			sign = 2
		}
		n = digits(text[sign:])
		if n == 0 {
			return nil
		}
		number, text = append(number, text[:sign+n]...), text[sign+n:]
	}
	if len(text) > 0 {
		return nil
	}
	return number
}

// quoted writes a string in single or double quotes.
func (r *permissive) quoted() bool {
	quote := r.data[r.at]
	r.at++
	r.out = append(r.out, '"')
	for r.at < len(r.data) {
		rest := r.data[r.at:]
		switch {
		case rest[0] == quote:
			r.at++
			r.out = append(r.out, '"')
			return true
		case rest[0] == '\\':
			if len(rest) < 2 {
				return false
			}
			r.escape(rest)
		default:
			r.at += r.character(rest)
		}
	}
	return false
}

// escape writes an escape sequence. Half of a surrogate pair becomes U+FFFD; of an escape that does
// not exist the character stays.
func (r *permissive) escape(rest []byte) {
	if size, _ := checkEscape(rest); size > 0 {
		r.out = append(r.out, rest[:size]...)
		r.at += size
		return
	}
	if _, ok := hexUnit(rest); ok {
		r.out = append(r.out, `\ufffd`...)
		r.at += 6
		return
	}
	r.at += 1 + r.character(rest[1:])
}

// character writes one character of a string and returns its length.
func (r *permissive) character(text []byte) int {
	c, size := utf8.DecodeRune(text)
	switch {
	case c == utf8.RuneError && size == 1:
		r.out = append(r.out, `\ufffd`...)
	case c == '"' || c == '\\':
		r.out = append(r.out, '\\', byte(c))
	case c < ' ' || c == 0x7F:
	default:
		r.out = append(r.out, text[:size]...)
	}
	return size
}
