package record

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// Form is how a protobuf message carries records.
type Form int

const (
	// Items is the form of Flower 1.19 and later: records, arrays and values are lists of named items.
	Items Form = iota
	// Maps is the form of Flower 1.13 to 1.18: records are grouped by kind, and values are maps. The
	// order of records of different kinds, and of values, is lost.
	Maps
)

// noContent is the form of a message without its content.
const noContent Form = -1

// EncodeMessage returns a message of Flower's protocol, in chunks that refer to the data of its arrays.
// Errors name the member.
func EncodeMessage(m Message, form Form) (flower.Blob, error) {
	var w wire.Writer
	if err := writeMessage(&w, m, form); err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return w.Chunks(), nil
}

// EncodeHead returns a message of Flower's protocol without its content, as it travels beside the
// message's objects. Flower leaves an empty Dict in its place.
func EncodeHead(m Message) (flower.Blob, error) {
	if m.Error == nil {
		m.Content = Dict{}
	}
	return EncodeMessage(m, Items)
}

// EncodeTree returns a tree of objects of Flower's protocol.
func EncodeTree(t Tree) flower.Blob {
	var w wire.Writer
	writeTree(&w, t)
	return w.Chunks()
}

func writeTree(w *wire.Writer, t Tree) {
	if t.ID != "" {
		w.Bytes(1, [][]byte{[]byte(t.ID)})
	}
	for _, child := range t.Children {
		var inner wire.Writer
		writeTree(&inner, child)
		w.Bytes(2, inner.Chunks())
	}
}

func writeMessage(w *wire.Writer, m Message, form Form) error {
	err := w.Message(1, func(w *wire.Writer) error { return writeMetadata(w, m.Metadata) })
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if m.Error != nil {
		return w.Message(3, func(w *wire.Writer) error { return writeError(w, m.Error) })
	}
	if form == noContent {
		return nil
	}
	return w.Message(2, func(w *wire.Writer) error { return writeDict(w, m.Content, form) })
}

func writeMetadata(w *wire.Writer, m Metadata) error {
	w.Uint(1, m.RunID)
	if err := w.Text(2, m.MessageID); err != nil {
		return err
	}
	w.Uint(3, m.Source)
	w.Uint(4, m.Destination)
	if err := w.Text(5, m.ReplyTo); err != nil {
		return err
	}
	if err := w.Text(6, m.GroupID); err != nil {
		return err
	}
	w.Double(7, m.TTL)
	if err := w.Text(8, m.Type); err != nil {
		return err
	}
	w.Double(9, m.CreatedAt)
	if m.SourceTask != nil {
		w.Always(10, *m.SourceTask)
	}
	if m.DestinationTask != nil {
		w.Always(11, *m.DestinationTask)
	}
	return nil
}

func writeError(w *wire.Writer, e *Error) error {
	w.Uint(1, protowire.EncodeZigZag(int64(e.Code)))
	return w.Text(2, e.Reason)
}

func writeDict(w *wire.Writer, d Dict, form Form) error {
	if err := unique(d); err != nil {
		return err
	}
	for _, member := range d {
		record := member.Value
		if p, ok := record.(*Prepared); ok {
			record = p.record
		}
		fill := func(w *wire.Writer) error { return writeRecord(w, record, form) }
		outer, inner := dictFields(record, form)
		err := w.Message(outer, func(w *wire.Writer) error {
			if err := w.Text(1, member.Name); err != nil {
				return err
			}
			return w.Message(inner, fill)
		})
		if err != nil {
			return fmt.Errorf("record %q: %w", member.Name, err)
		}
	}
	return nil
}

// dictFields returns the field of a named record in a Dict, and that of the record in it.
func dictFields(r Record, form Form) (outer, inner protowire.Number) {
	at := protowire.Number(1)
	switch r.(type) {
	case Metrics:
		at = 2
	case Config:
		at = 3
	}
	if form == Maps {
		return at, 2
	}
	return 1, at + 1
}

func writeRecord(w *wire.Writer, r Record, form Form) error {
	switch r := r.(type) {
	case Arrays:
		return writeArrays(w, r, form)
	case Metrics:
		return writeMetrics(w, r)
	case Config:
		return writeConfig(w, r)
	}
	return fmt.Errorf("a record of type %T", r)
}

func writeArrays(w *wire.Writer, arrays Arrays, form Form) error {
	if err := unique(arrays); err != nil {
		return err
	}
	if form == Maps {
		return writeArraysAsMap(w, arrays)
	}
	for _, member := range arrays {
		fill := func(w *wire.Writer) error { return writeArray(w, member.Value) }
		err := w.Message(1, func(w *wire.Writer) error {
			if err := w.Text(1, member.Name); err != nil {
				return err
			}
			return w.Message(2, fill)
		})
		if err != nil {
			return fmt.Errorf("array %q: %w", member.Name, err)
		}
	}
	return nil
}

// writeArraysAsMap adds the names of the arrays, and the arrays.
func writeArraysAsMap(w *wire.Writer, arrays Arrays) error {
	for _, member := range arrays {
		if err := w.AlwaysText(1, member.Name); err != nil {
			return err
		}
	}
	for _, member := range arrays {
		if err := w.Message(2, func(w *wire.Writer) error { return writeArray(w, member.Value) }); err != nil {
			return fmt.Errorf("array %q: %w", member.Name, err)
		}
	}
	return nil
}

func writeArray(w *wire.Writer, a Array) error {
	if err := w.Text(1, a.DType); err != nil {
		return err
	}
	var packed []byte
	for _, n := range a.Shape {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("an axis of length %d cannot be sent", n)
		}
		packed = protowire.AppendVarint(packed, uint64(n))
	}
	if len(packed) > 0 {
		w.Bytes(2, [][]byte{packed})
	}
	if err := w.Text(3, a.SType); err != nil {
		return err
	}
	if a.Data.Len() > 0 {
		w.Bytes(4, a.Data)
	}
	return nil
}
