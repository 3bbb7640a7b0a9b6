// Package wire reads and writes the wire form of protobuf messages that lie in several
// chunks, without joining the chunks and without copying large values.
package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Errors of messages that are not well-formed.
var (
	// ErrCut is returned for a message that ends in the middle of a field.
	ErrCut = errors.New("it ends in the middle")
	// ErrKind is returned for a value of another wire type than its field has.
	ErrKind = errors.New("a value of another wire type")
)

// Reader reads a message that lies in several chunks.
type Reader struct {
	chunks [][]byte // no chunk is empty
	left   int
}

// NewReader returns a Reader of the chunks, which must not be changed: values refer to them.
func NewReader(chunks [][]byte) *Reader {
	r := &Reader{chunks: make([][]byte, 0, len(chunks))}
	for _, chunk := range chunks {
		if len(chunk) > 0 {
			r.chunks, r.left = append(r.chunks, chunk), r.left+len(chunk)
		}
	}
	return r
}

// next returns one byte.
func (r *Reader) next() (byte, error) {
	if r.left == 0 {
		return 0, ErrCut
	}
	b := r.chunks[0][0]
	r.advance(1)
	return b, nil
}

// advance drops n bytes of the first chunk.
func (r *Reader) advance(n int) {
	r.left -= n
	if n == len(r.chunks[0]) {
		r.chunks = r.chunks[1:]
	} else {
		r.chunks[0] = r.chunks[0][n:]
	}
}

// Left returns the number of bytes that are not yet read.
func (r *Reader) Left() int { return r.left }

// Take returns the next n bytes, without copying them.
func (r *Reader) Take(n uint64) ([][]byte, error) {
	if n > uint64(r.left) {
		return nil, ErrCut
	}
	chunks := [][]byte{}
	for left := int(n); left > 0; {
		part := min(left, len(r.chunks[0]))
		chunks = append(chunks, r.chunks[0][:part:part])
		r.advance(part)
		left -= part
	}
	return chunks, nil
}

// Varint returns the next integer of variable length.
func (r *Reader) Varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b, err := r.next()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			break
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, nil
		}
	}
	return 0, errors.New("a whole number has more than 64 bits")
}

// Fixed returns the next little-endian number, of n bytes.
func (r *Reader) Fixed(n int) (uint64, error) {
	var v uint64
	for k := range n {
		b, err := r.next()
		if err != nil {
			return 0, err
		}
		v |= uint64(b) << (8 * k)
	}
	return v, nil
}

// Fields calls use for every field. As protobuf demands, use skips fields with
// unknown numbers.
func (r *Reader) Fields(use func(field protowire.Number, v Value) error) error {
	for r.left > 0 {
		tag, err := r.Varint()
		if err != nil {
			return err
		}
		field, kind := protowire.DecodeTag(tag)
		if field < protowire.MinValidNumber {
			return fmt.Errorf("a field has the number %d", field)
		}
		v := Value{Kind: kind}
		switch kind {
		case protowire.VarintType:
			v.Number, err = r.Varint()
		case protowire.Fixed32Type:
			v.Number, err = r.Fixed(4)
		case protowire.Fixed64Type:
			v.Number, err = r.Fixed(8)
		case protowire.BytesType:
			if v.Number, err = r.Varint(); err == nil {
				v.Chunks, err = r.Take(v.Number)
			}
		default:
			err = fmt.Errorf("wire type %d", kind)
		}
		if err == nil {
			err = use(field, v)
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", field, err)
		}
	}
	return nil
}

// Value is the value of a field: a number, or bytes.
type Value struct {
	// Kind is the wire type.
	Kind protowire.Type
	// Number is a number as it lies on the wire.
	Number uint64
	// Chunks are bytes: views of the message.
	Chunks [][]byte
}

// Message reads the value as a message.
func (v Value) Message(use func(field protowire.Number, v Value) error) error {
	if v.Kind != protowire.BytesType {
		return ErrKind
	}
	return NewReader(v.Chunks).Fields(use)
}

// View returns the value as bytes that are views of the message.
func (v Value) View() ([][]byte, error) {
	if v.Kind != protowire.BytesType {
		return nil, ErrKind
	}
	return v.Chunks, nil
}

// Bytes returns a copy of the value as bytes.
func (v Value) Bytes() ([]byte, error) {
	if v.Kind != protowire.BytesType {
		return nil, ErrKind
	}
	joined := make([]byte, 0, v.Number)
	for _, chunk := range v.Chunks {
		joined = append(joined, chunk...)
	}
	return joined, nil
}

// Text returns the value as text.
func (v Value) Text() (string, error) {
	text, err := v.Bytes()
	if err == nil && !utf8.Valid(text) {
		err = errors.New("text that is not UTF-8")
	}
	return string(text), err
}

// Uint returns the value as an integer.
func (v Value) Uint() (uint64, error) {
	if v.Kind != protowire.VarintType {
		return 0, ErrKind
	}
	return v.Number, nil
}

// Double returns the value as a number of 64 bits.
func (v Value) Double() (float64, error) {
	if v.Kind != protowire.Fixed64Type {
		return 0, ErrKind
	}
	return math.Float64frombits(v.Number), nil
}
