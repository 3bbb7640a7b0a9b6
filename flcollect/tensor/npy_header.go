package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// header is the header of a .npy file: a Python dictionary literal of three
// keys.
type header struct {
	dtype     DType
	bigEndian bool
	fortran   bool
	shape     []int
}

// mostAxes is the limit of NumPy.
const mostAxes = 64

// bytes returns the header of a version 1 file as numpy.save writes it: padded
// with spaces, room for the first axis to grow to 21 digits included, so that
// the elements begin at a multiple of 64 bytes, and ended by a line break.
func (h header) bytes() []byte {
	var axes strings.Builder
	for i, n := range h.shape {
		if i > 0 {
			axes.WriteString(", ")
		}
		axes.WriteString(strconv.Itoa(n))
	}
	room := 0
	if len(h.shape) > 0 {
		room = 21 - len(strconv.Itoa(h.shape[0]))
	}
	if len(h.shape) == 1 {
		axes.WriteByte(',')
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }%s", h.dtype.descr(), axes.String(),
		strings.Repeat(" ", room))
	before := len(magic) + 2 + 2
	text += strings.Repeat(" ", 63-(before+len(text))%64) + "\n"
	out := append(make([]byte, 0, before+len(text)), magic+"\x01\x00"...)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...)
}

// parseHeader reads the dictionary.
func parseHeader(text string) (header, error) {
	var h header
	p := literalParser{rest: text}
	seen := map[string]bool{}
	err := p.dict(func(key string) error {
		if seen[key] {
			return fmt.Errorf("header key %q comes twice", key)
		}
		seen[key] = true
		return h.read(key, &p)
	})
	if err != nil {
		return header{}, err
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return header{}, fmt.Errorf("header without key %q", key)
		}
	}
	return h, nil
}

// read reads the value of one key.
func (h *header) read(key string, p *literalParser) (err error) {
	switch key {
	case "descr":
		if p.peek('[') {
			return errors.New("dtype with fields, which is not read")
		}
		var descr string
		if descr, err = p.text(); err == nil {
			h.dtype, h.bigEndian, err = parseDescr(descr)
		}
	case "fortran_order":
		h.fortran, err = p.truth()
	case "shape":
		h.shape, err = p.tuple()
	default:
		return fmt.Errorf("unknown header key %q", key)
	}
	return err
}

// literalParser reads the few Python literals that occur in headers.
type literalParser struct{ rest string }

func (p *literalParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *literalParser) peek(c byte) bool {
	p.space()
	return p.rest != "" && p.rest[0] == c
}

func (p *literalParser) accept(c byte) bool {
	if !p.peek(c) {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *literalParser) expect(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("header: expected %q before %.20q", c, p.rest)
	}
	return nil
}

// dict reads a dictionary and calls value where the value of a key begins.
func (p *literalParser) dict(value func(key string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for !p.accept('}') {
		key, err := p.text()
		if err == nil {
			err = p.expect(':')
		}
		if err == nil {
			err = value(key)
		}
		if err != nil {
			return err
		}
		if !p.accept(',') && !p.peek('}') {
			return fmt.Errorf("header: expected a comma before %.20q", p.rest)
		}
	}
	if p.space(); strings.Trim(p.rest, "\x00") != "" {
		return fmt.Errorf("header: %.20q after its end", p.rest)
	}
	return nil
}

// text reads a string without escapes.
func (p *literalParser) text() (string, error) {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", fmt.Errorf("header: expected a string before %.20q", p.rest)
	}
	text, rest, found := strings.Cut(p.rest[1:], p.rest[:1])
	if !found || strings.Contains(text, `\`) {
		return "", errors.New("header: a string that does not end or has escapes")
	}
	p.rest = rest
	return text, nil
}

func (p *literalParser) truth() (bool, error) {
	p.space()
	for _, word := range []string{"True", "False"} {
		if rest, ok := strings.CutPrefix(p.rest, word); ok {
			p.rest = rest
			return word == "True", nil
		}
	}
	return false, fmt.Errorf("header: expected True or False before %.20q", p.rest)
}

// tuple reads integers in parentheses.
func (p *literalParser) tuple() ([]int, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	axes := []int{}
	for !p.accept(')') {
		p.space()
		digits := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
		n, err := strconv.Atoi(p.rest[:digits])
		if err != nil {
			return nil, fmt.Errorf("header: expected the length of an axis before %.24q", p.rest)
		}
		p.rest = strings.TrimPrefix(p.rest[digits:], "L") // as Python 2 wrote it
		if axes = append(axes, n); len(axes) > mostAxes {
			return nil, fmt.Errorf("header: more than %d axes", mostAxes)
		}
		if !p.accept(',') && !p.peek(')') {
			return nil, fmt.Errorf("header: expected a comma before %.20q", p.rest)
		}
	}
	return axes, nil
}
