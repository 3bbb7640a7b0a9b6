package flower

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// cursor reads the wire form of a protobuf message that lies in several chunks,
// without joining them.
type cursor struct {
	chunks [][]byte // no chunk is empty
	left   int
}

var errCut = errors.New("it ends in the middle")

func newCursor(blob Blob) *cursor {
	c := &cursor{chunks: make([][]byte, 0, len(blob))}
	for _, chunk := range blob {
		if len(chunk) > 0 {
			c.chunks, c.left = append(c.chunks, chunk), c.left+len(chunk)
		}
	}
	return c
}

// next returns one byte.
func (c *cursor) next() (byte, error) {
	if c.left == 0 {
		return 0, errCut
	}
	b := c.chunks[0][0]
	c.advance(1)
	return b, nil
}

// advance drops n bytes of the first chunk.
func (c *cursor) advance(n int) {
	c.left -= n
	if n == len(c.chunks[0]) {
		c.chunks = c.chunks[1:]
	} else {
		c.chunks[0] = c.chunks[0][n:]
	}
}

// take returns the next n bytes, without copying them.
func (c *cursor) take(n uint64) (Blob, error) {
	if n > uint64(c.left) {
		return nil, errCut
	}
	blob := Blob{}
	for left := int(n); left > 0; {
		part := min(left, len(c.chunks[0]))
		blob = append(blob, c.chunks[0][:part:part])
		c.advance(part)
		left -= part
	}
	return blob, nil
}

func (c *cursor) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		b, err := c.next()
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

// fixed returns a little-endian number of n bytes.
func (c *cursor) fixed(n int) (uint64, error) {
	var v uint64
	for k := range n {
		b, err := c.next()
		if err != nil {
			return 0, err
		}
		v |= uint64(b) << (8 * k)
	}
	return v, nil
}

// value is the value of a field: a number, or bytes.
type value struct {
	kind   protowire.Type
	number uint64
	blob   Blob
}

// fields calls use for every field. As protobuf demands, use skips fields with
// unknown numbers.
func (c *cursor) fields(use func(field protowire.Number, v value) error) error {
	for c.left > 0 {
		tag, err := c.varint()
		if err != nil {
			return err
		}
		field, kind := protowire.DecodeTag(tag)
		if field < protowire.MinValidNumber {
			return fmt.Errorf("a field has the number %d", field)
		}
		v := value{kind: kind}
		switch kind {
		case protowire.VarintType:
			v.number, err = c.varint()
		case protowire.Fixed32Type:
			v.number, err = c.fixed(4)
		case protowire.Fixed64Type:
			v.number, err = c.fixed(8)
		case protowire.BytesType:
			if v.number, err = c.varint(); err == nil {
				v.blob, err = c.take(v.number)
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

// message reads the value as a message.
func (v value) message(use func(field protowire.Number, v value) error) error {
	if v.kind != protowire.BytesType {
		return errKind
	}
	return newCursor(v.blob).fields(use)
}

var errKind = errors.New("a value of another wire type")

// bytes returns a copy of the value as bytes.
func (v value) bytes() ([]byte, error) {
	if v.kind != protowire.BytesType {
		return nil, errKind
	}
	joined := make([]byte, 0, v.blob.Len())
	for _, chunk := range v.blob {
		joined = append(joined, chunk...)
	}
	return joined, nil
}

// text returns the value as text.
func (v value) text() (string, error) {
	text, err := v.bytes()
	if err == nil && !utf8.Valid(text) {
		err = errors.New("text that is not UTF-8")
	}
	return string(text), err
}

// whole returns the value as an integer.
func (v value) whole() (uint64, error) {
	if v.kind != protowire.VarintType {
		return 0, errKind
	}
	return v.number, nil
}
