package ckks

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// blob is bytes that may lie in several chunks.
type blob = [][]byte

// The wire types of protobuf that TenSEAL's messages have.
const (
	varintType  = 0
	fixed64Type = 1
	bytesType   = 2
)

var errCut = errors.New("the message ends in the middle of a field")

// wire reads the fields of a protobuf message without joining its chunks.
type wire struct {
	chunks blob
	left   uint64
}

func newWire(pieces blob) *wire {
	w := &wire{chunks: make(blob, 0, len(pieces))}
	for _, chunk := range pieces {
		if len(chunk) > 0 {
			w.chunks = append(w.chunks, chunk)
			w.left += uint64(len(chunk))
		}
	}
	return w
}

// skip drops n bytes, which the first chunk has.
func (w *wire) skip(n int) {
	w.left -= uint64(n)
	if w.chunks[0] = w.chunks[0][n:]; len(w.chunks[0]) == 0 {
		w.chunks = w.chunks[1:]
	}
}

// varint reads a number of up to 64 bits.
func (w *wire) varint() (uint64, error) {
	var value uint64
	for shift := 0; shift < 70; shift += 7 {
		if w.left == 0 {
			return 0, errCut
		}
		b := w.chunks[0][0]
		w.skip(1)
		if shift == 63 && b > 1 {
			break
		}
		if value |= uint64(b&0x7f) << shift; b < 0x80 {
			return value, nil
		}
	}
	return 0, errors.New("a number of the message has more than 64 bits")
}

// uint32 reads a number of up to 32 bits.
func (w *wire) uint32() (uint32, error) {
	value, err := w.varint()
	if err == nil && value>>32 != 0 {
		err = fmt.Errorf("a number of the message, %d, has more than 32 bits", value)
	}
	return uint32(value), err
}

// tag reads the number and the wire type of the next field.
func (w *wire) tag() (field, kind int, err error) {
	value, err := w.uint32()
	return int(value >> 3), int(value & 7), err
}

// fixed64 reads 8 bytes.
func (w *wire) fixed64() (uint64, error) {
	if w.left < 8 {
		return 0, errCut
	}
	var bytes [8]byte
	for i := range bytes {
		bytes[i] = w.chunks[0][0]
		w.skip(1)
	}
	return binary.LittleEndian.Uint64(bytes[:]), nil
}

// bytes reads the length of a field and returns its bytes without copying them.
func (w *wire) bytes() (blob, int, error) {
	size, err := w.varint()
	if err != nil {
		return nil, 0, err
	}
	if size > w.left {
		return nil, 0, errCut
	}
	var field blob
	for left := int(size); left > 0; {
		n := min(left, len(w.chunks[0]))
		field = append(field, w.chunks[0][:n:n])
		w.skip(n)
		left -= n
	}
	return field, int(size), nil
}

// unexpected is the error of a field that a message does not have, or has with
// another type.
func unexpected(field, kind int) error {
	return fmt.Errorf("the message has no field %d of wire type %d", field, kind)
}
