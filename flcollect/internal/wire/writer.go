package wire

import (
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// smallPiece is the largest part that is copied, in bytes.
const smallPiece = 512

// Writer collects the wire form of a protobuf message in chunks. It refers to
// large parts instead of copying them. The zero value is an empty message.
type Writer struct {
	chunks [][]byte
	size   int
	open   bool // the last chunk belongs to the writer and may grow
}

// Len returns the number of bytes.
func (w *Writer) Len() int { return w.size }

// Chunks returns the message. The writer must not be used afterwards.
func (w *Writer) Chunks() [][]byte { return w.chunks }

// Grow adds what the function appends.
func (w *Writer) Grow(with func([]byte) []byte) {
	if !w.open {
		w.chunks, w.open = append(w.chunks, nil), true
	}
	last := &w.chunks[len(w.chunks)-1]
	before := len(*last)
	*last = with(*last)
	w.size += len(*last) - before
}

// Refer adds bytes that must not be changed afterwards.
func (w *Writer) Refer(data []byte) {
	if len(data) <= smallPiece {
		w.Grow(func(b []byte) []byte { return append(b, data...) })
		return
	}
	w.chunks, w.size, w.open = append(w.chunks, data), w.size+len(data), false
}

// Message adds a field that is a message, even if it is empty.
func (w *Writer) Message(field protowire.Number, fill func(*Writer) error) error {
	var inner Writer
	if err := fill(&inner); err != nil {
		return err
	}
	w.Bytes(field, inner.chunks)
	return nil
}

// Bytes adds a field of bytes, even if it is empty.
func (w *Writer) Bytes(field protowire.Number, chunks [][]byte) {
	size := 0
	for _, chunk := range chunks {
		size += len(chunk)
	}
	w.Header(field, size)
	for _, chunk := range chunks {
		w.Refer(chunk)
	}
}

// Header adds the tag and the length of a field of size bytes.
func (w *Writer) Header(field protowire.Number, size int) {
	w.Grow(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	})
}

// Uint adds an integer. It adds nothing for 0, the default of proto3.
func (w *Writer) Uint(field protowire.Number, v uint64) {
	if v != 0 {
		w.Always(field, v)
	}
}

// Always adds an integer, even if it is 0.
func (w *Writer) Always(field protowire.Number, v uint64) {
	w.Grow(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	})
}

// Double adds a number of 64 bits. It adds nothing for 0, the default of proto3.
func (w *Writer) Double(field protowire.Number, v float64) {
	if math.Float64bits(v) != 0 {
		w.AlwaysDouble(field, v)
	}
}

// AlwaysDouble adds a number of 64 bits, even if it is 0.
func (w *Writer) AlwaysDouble(field protowire.Number, v float64) {
	w.Grow(func(b []byte) []byte {
		return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
	})
}

// Text adds text. It adds nothing for an empty string, the default of proto3.
func (w *Writer) Text(field protowire.Number, v string) error {
	if v == "" {
		return nil
	}
	return w.AlwaysText(field, v)
}

// AlwaysText adds text, even if it is empty.
func (w *Writer) AlwaysText(field protowire.Number, v string) error {
	if !utf8.ValidString(v) {
		return fmt.Errorf("%q is not UTF-8", v)
	}
	w.Header(field, len(v))
	w.Refer([]byte(v))
	return nil
}
