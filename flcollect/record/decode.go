package record

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// DecodeMessage reads a message of Flower's protocol. The data of its arrays refers to the message, which
// must not be changed. A message without content has an empty Dict. Errors name the member; they match
// [ErrLimit] if the message exceeds the limits, and [ErrFormat] otherwise.
func DecodeMessage(message flower.Blob, form Form, limits Limits) (Message, error) {
	m, err := readMessage(message, form, limits.budget())
	if err != nil {
		return Message{}, fmt.Errorf("decode a message: %w", malformed(err))
	}
	return m, nil
}

// DecodeTree reads a tree of objects of Flower's protocol, of at most five levels: message, Dict, record,
// array and chunk. Of the limits, Entries holds, for the objects. Errors match [ErrLimit] or [ErrFormat].
func DecodeTree(tree flower.Blob, limits Limits) (Tree, error) {
	t, err := readTree(tree, deepest, limits.budget())
	if err != nil {
		return Tree{}, fmt.Errorf("decode a tree of objects: %w", malformed(err))
	}
	return t, nil
}

// deepest is how many levels a tree of objects has at most.
const deepest = 5

func readTree(data flower.Blob, levels int, left *budget) (Tree, error) {
	if levels == 0 {
		return Tree{}, fmt.Errorf("%w: more than %d levels", ErrLimit, deepest)
	}
	if err := left.count(1); err != nil {
		return Tree{}, err
	}
	var t Tree
	err := wire.NewReader(data).Fields(func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			if v.Number > IDLength {
				return fmt.Errorf("an ID of %d characters", v.Number)
			}
			t.ID, err = v.Text()
		case 2:
			chunks, err := v.View()
			if err != nil {
				return err
			}
			child, err := readTree(chunks, levels-1, left)
			if err != nil {
				return err
			}
			t.Children = append(t.Children, child)
		}
		return err
	})
	if err == nil && !IsID(t.ID) {
		err = fmt.Errorf("%.70q is not an ID of an object", t.ID)
	}
	return t, err
}

func readMessage(data flower.Blob, form Form, left *budget) (Message, error) {
	var m Message
	err := wire.NewReader(data).Fields(func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			err = v.Message(metadataField(&m.Metadata))
		case 2:
			if form == noContent {
				return nil
			}
			m.Content, err = readDict(v, m.Content, form, left)
		case 3:
			if m.Error == nil {
				m.Error = &Error{}
			}
			err = v.Message(errorField(m.Error))
		}
		return err
	})
	if err == nil && m.Error != nil {
		m.Content = nil
	}
	return m, err
}

func metadataField(m *Metadata) func(protowire.Number, wire.Value) error {
	return func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			m.RunID, err = v.Uint()
		case 2:
			m.MessageID, err = shortText(v)
		case 3:
			m.Source, err = v.Uint()
		case 4:
			m.Destination, err = v.Uint()
		case 5:
			m.ReplyTo, err = shortText(v)
		case 6:
			m.GroupID, err = shortText(v)
		case 7:
			m.TTL, err = v.Double()
		case 8:
			m.Type, err = shortText(v)
		case 9:
			m.CreatedAt, err = v.Double()
		case 10:
			m.SourceTask, err = optional(v)
		case 11:
			m.DestinationTask, err = optional(v)
		}
		return err
	}
}

// longestText bounds the texts of metadata, in bytes.
const longestText = 4096

func shortText(v wire.Value) (string, error) {
	if v.Kind == protowire.BytesType && v.Number > longestText {
		return "", fmt.Errorf("%w: a text of %d bytes, at most %d", ErrLimit, v.Number, longestText)
	}
	return v.Text()
}

func optional(v wire.Value) (*uint64, error) {
	n, err := v.Uint()
	return &n, err
}

func errorField(e *Error) func(protowire.Number, wire.Value) error {
	return func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			var n uint64
			n, err = v.Uint()
			e.Code = Code(protowire.DecodeZigZag(n))
		case 2:
			e.Reason, err = v.Text()
		}
		return err
	}
}

// readDict adds the records of a field to a Dict.
func readDict(v wire.Value, d Dict, form Form, left *budget) (Dict, error) {
	if d == nil {
		d = Dict{}
	}
	if err := left.take(int(v.Number)); err != nil {
		return nil, err
	}
	err := v.Message(func(field protowire.Number, v wire.Value) error {
		if field > 3 || form == Items && field > 1 {
			return nil
		}
		if err := left.count(1); err != nil {
			return err
		}
		var made Named[Record]
		err := v.Message(func(inner protowire.Number, v wire.Value) (err error) {
			switch {
			case inner == 1:
				made.Name, err = v.Text()
				return err
			case form == Maps && inner == 2:
				made.Value, err = readRecord(v, field, form, left)
			case form == Items && inner <= 4:
				made.Value, err = readRecord(v, inner-1, form, left)
			}
			if err != nil {
				return fmt.Errorf("record %.100q: %w", made.Name, err)
			}
			return nil
		})
		if err == nil && made.Value == nil {
			err = fmt.Errorf("record %.100q has no value, or one of an unknown type", made.Name)
		}
		d = append(d, made)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, unique(d)
}

// readRecord reads arrays (1), metrics (2) or a configuration (3).
func readRecord(v wire.Value, kind protowire.Number, form Form, left *budget) (Record, error) {
	data, err := v.View()
	if err != nil {
		return nil, err
	}
	switch kind {
	case 1:
		return readArrays(data, form, left)
	case 2:
		return readMetrics(data, left)
	}
	return readConfig(data, left)
}

func readArrays(data flower.Blob, form Form, left *budget) (Arrays, error) {
	names, arrays := []string{}, Arrays{}
	err := wire.NewReader(data).Fields(func(field protowire.Number, v wire.Value) (err error) {
		if field > 2 || form == Items && field > 1 {
			return nil
		}
		if err := left.count(1); err != nil {
			return err
		}
		var made Named[Array]
		switch {
		case form == Maps && field == 1:
			var name string
			name, err = v.Text()
			names = append(names, name)
			return err
		case form == Maps:
			err = v.Message(arrayField(&made.Value))
		default:
			err = v.Message(func(field protowire.Number, v wire.Value) (err error) {
				switch field {
				case 1:
					made.Name, err = v.Text()
				case 2:
					err = v.Message(arrayField(&made.Value))
				}
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("array %d (%.100q): %w", len(arrays), made.Name, err)
		}
		arrays = append(arrays, made)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if form == Maps {
		if len(names) != len(arrays) {
			return nil, fmt.Errorf("%d names for %d arrays", len(names), len(arrays))
		}
		for i, name := range names {
			arrays[i].Name = name
		}
	}
	return arrays, unique(arrays)
}

func arrayField(a *Array) func(protowire.Number, wire.Value) error {
	return func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			a.DType, err = shortText(v)
		case 2:
			a.Shape, err = readAxes(v, a.Shape)
		case 3:
			a.SType, err = shortText(v)
		case 4:
			a.Data, err = v.View()
		}
		return err
	}
}

// readAxes adds the lengths of axes, packed or not.
func readAxes(v wire.Value, shape []int) ([]int, error) {
	add := func(n uint64) error {
		if n > math.MaxInt32 {
			return errors.New("an axis is longer than 2^31-1, or negative")
		}
		shape = append(shape, int(n))
		return checkShape(shape)
	}
	if v.Kind == protowire.VarintType {
		err := add(v.Number)
		return shape, err
	}
	chunks, err := v.View()
	if err != nil {
		return nil, err
	}
	for r := wire.NewReader(chunks); r.Left() > 0; {
		n, err := r.Varint()
		if err == nil {
			err = add(n)
		}
		if err != nil {
			return nil, err
		}
	}
	return shape, nil
}
