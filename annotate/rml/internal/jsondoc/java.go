package jsondoc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
)

// plainNumber reports whether Java writes a number, or true or false, as it is written.
func (d *Document) plainNumber(t *node) bool {
	text := d.data[t.start:t.end]
	switch t.kind {
	case input.Boolean:
		return true
	case input.Integer:
		return string(text) != "-0"
	}
	text = bytes.TrimPrefix(text, []byte("-"))
	point := bytes.IndexByte(text, '.')
	if point < 0 || point > 7 || len(text) > 15 || bytes.ContainsAny(text, "eE") {
		return false
	}
	fraction := text[point+1:]
	if string(text[:point]) == "0" && (len(fraction) > 1 && fraction[0] == '0') {
		return false // perhaps less than 0.001
	}
	return len(fraction) == 1 || fraction[len(fraction)-1] != '0'
}

// appendJavaNumber appends a number as json-smart and Java write it: up to 18 characters a
// double, more digits as they stand.
func appendJavaNumber(dst []byte, kind input.Kind, text []byte) []byte {
	if kind == input.Integer {
		if string(text) == "-0" {
			return append(dst, '0')
		}
		return append(dst, text...)
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if len(text) > 18 || err != nil {
		return append(dst, text...)
	}
	return appendJavaDouble(dst, x)
}

// Numeral returns the number that a value is in the notation of the input, where the text of the value
// is what Java writes for it. Other values have their text.
func (d *Document) Numeral(v input.Value) []byte {
	if !d.has(v.Node) || d.tape[v.Node].kind != input.Double {
		return v.Text
	}
	t := &d.tape[v.Node]
	text := d.data[t.start:t.end:t.end]
	d.java = appendJavaNumber(d.java[:0], t.kind, text)
	if !bytes.Equal(d.java, v.Text) {
		return v.Text // computed by a function
	}
	return text
}

// appendJavaDouble appends a number as Double.toString of Java writes it.
func appendJavaDouble(dst []byte, x float64) []byte {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 0):
		if x < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	case size != 0 && (size < 1e-3 || size >= 1e7):
		text := strconv.FormatFloat(x, 'E', -1, 64)
		mantissa, exponent, _ := bytes.Cut([]byte(text), []byte("E"))
		dst = append(dst, mantissa...)
		if !bytes.Contains(mantissa, []byte(".")) {
			dst = append(dst, ".0"...)
		}
		power, _ := strconv.Atoi(string(exponent))
		return strconv.AppendInt(append(dst, 'E'), int64(power), 10)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, x, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendJava appends a value as the toString of Java: an object as a map, {a=b, c=d}, an array
// as compact JSON.
func (d *Document) appendJava(dst []byte, n input.Node) []byte {
	switch t := &d.tape[n]; t.kind {
	case input.Object:
		dst = append(dst, '{')
		for i, m := range d.members(n) {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(append(dst, d.key(&d.tape[m])...), '=')
			dst = d.appendJava(dst, m)
		}
		return append(dst, '}')
	case input.Array:
		return d.appendJSON(dst, n)
	case input.Null:
		return append(dst, "null"...)
	case input.String:
		return append(dst, d.text(n)...)
	case input.Integer, input.Double:
		return appendJavaNumber(dst, t.kind, d.data[t.start:t.end])
	default:
		return append(dst, d.data[t.start:t.end]...)
	}
}

// appendMerged appends the members of an object that have the names, as a map of Java.
func (d *Document) appendMerged(dst []byte, names []selector, object input.Node) []byte {
	dst = append(dst, '{')
	for i := range names {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, names[i].name...), '=')
		if m := d.member(object, &names[i]); m != noNode {
			dst = d.appendJava(dst, m)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return append(dst, '}')
}

// appendJSON appends a value as json-smart writes it.
func (d *Document) appendJSON(dst []byte, n input.Node) []byte {
	t := &d.tape[n]
	switch t.kind {
	case input.Object:
		dst = append(dst, '{')
		for i, m := range d.members(n) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJavaString(dst, d.key(&d.tape[m])), ':')
			dst = d.appendJSON(dst, m)
		}
		return append(dst, '}')
	case input.Array:
		dst = append(dst, '[')
		for c, end := n+1, input.Node(t.next); c < end; c = input.Node(d.tape[c].next) {
			if c > n+1 {
				dst = append(dst, ',')
			}
			dst = d.appendJSON(dst, c)
		}
		return append(dst, ']')
	case input.String:
		return appendJavaString(dst, d.text(n))
	}
	return d.appendJava(dst, n)
}

// members returns the members of an object. A name that repeats has its first place with
// its last value.
func (d *Document) members(object input.Node) []input.Node {
	var list []input.Node
	places := make(map[string]int)
	for m, end := object+1, input.Node(d.tape[object].next); m < end; m = input.Node(d.tape[m].next) {
		key := d.key(&d.tape[m])
		if at, again := places[string(key)]; again {
			list[at] = m
			continue
		}
		places[string(key)] = len(list)
		list = append(list, m)
	}
	return list
}

// appendJavaString appends a string as json-smart writes it, with the solidus and some
// characters beyond ASCII escaped.
func appendJavaString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, r := range string(text) {
		switch {
		case r == '"' || r == '\\' || r == '/':
			dst = append(dst, '\\', byte(r))
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r < ' ', r >= 0x7F && r <= 0x9F, r >= 0x2000 && r <= 0x20FF:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
