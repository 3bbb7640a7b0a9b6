package record

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// Fields of a value.
const (
	fieldDouble  = 1
	fieldInt     = 2
	fieldUint    = 3
	fieldBool    = 4
	fieldText    = 5
	fieldBytes   = 6
	fieldDoubles = 21
	fieldInts    = 22
	fieldUints   = 23
	fieldBools   = 24
	fieldTexts   = 25
	fieldBlobs   = 26
)

func writeMetrics(w *wire.Writer, m Metrics) error {
	for _, member := range m {
		switch member.Value.(type) {
		case int, int64, uint64, float64, []int64, []uint64, []float64:
		default:
			return fmt.Errorf("metric %q: a value of type %T cannot be sent", member.Name, member.Value)
		}
	}
	return writeValues(w, m)
}

func writeConfig(w *wire.Writer, c Config) error { return writeValues(w, c) }

// writeValues adds named values. An item of a list and an entry of a map have the same form.
func writeValues(w *wire.Writer, values []Named[any]) error {
	if err := unique(values); err != nil {
		return err
	}
	for _, member := range values {
		err := w.Message(1, func(w *wire.Writer) error {
			if err := w.Text(1, member.Name); err != nil {
				return err
			}
			return w.Message(2, func(w *wire.Writer) error { return writeValue(w, member.Value) })
		})
		if err != nil {
			return fmt.Errorf("value %q: %w", member.Name, err)
		}
	}
	return nil
}

// writeValue adds the one field of a value, even if it has the default.
func writeValue(w *wire.Writer, value any) error {
	switch v := value.(type) {
	case float64:
		w.AlwaysDouble(fieldDouble, v)
	case int:
		w.Always(fieldInt, protowire.EncodeZigZag(int64(v)))
	case int64:
		w.Always(fieldInt, protowire.EncodeZigZag(v))
	case uint64:
		w.Always(fieldUint, v)
	case bool:
		w.Always(fieldBool, protowire.EncodeBool(v))
	case string:
		return w.AlwaysText(fieldText, v)
	case []byte:
		w.Bytes(fieldBytes, [][]byte{v})
	case []float64:
		writePacked(w, fieldDoubles, v, func(b []byte, v float64) []byte {
			return protowire.AppendFixed64(b, math.Float64bits(v))
		})
	case []int64:
		writePacked(w, fieldInts, v, func(b []byte, v int64) []byte {
			return protowire.AppendVarint(b, protowire.EncodeZigZag(v))
		})
	case []uint64:
		writePacked(w, fieldUints, v, protowire.AppendVarint)
	case []bool:
		writePacked(w, fieldBools, v, func(b []byte, v bool) []byte {
			return protowire.AppendVarint(b, protowire.EncodeBool(v))
		})
	case []string:
		return w.Message(fieldTexts, func(w *wire.Writer) error {
			for _, text := range v {
				if err := w.AlwaysText(1, text); err != nil {
					return err
				}
			}
			return nil
		})
	case [][]byte:
		return w.Message(fieldBlobs, func(w *wire.Writer) error {
			for _, data := range v {
				w.Bytes(1, [][]byte{data})
			}
			return nil
		})
	default:
		return fmt.Errorf("a value of type %T cannot be sent", value)
	}
	return nil
}

// writePacked adds a message with one packed list of numbers.
func writePacked[N any](w *wire.Writer, field protowire.Number, numbers []N, add func([]byte, N) []byte) {
	var inner wire.Writer
	if len(numbers) > 0 {
		var packed []byte
		for _, n := range numbers {
			packed = add(packed, n)
		}
		inner.Bytes(1, [][]byte{packed})
	}
	w.Bytes(field, inner.Chunks())
}

func readMetrics(data flower.Blob, left *budget) (Metrics, error) {
	values, err := readValues(data, left)
	if err != nil {
		return nil, err
	}
	for _, member := range values {
		switch member.Value.(type) {
		case bool, string, []byte, []bool, []string, [][]byte:
			return nil, fmt.Errorf("metric %q is of type %T", member.Name, member.Value)
		}
	}
	return values, nil
}

func readConfig(data flower.Blob, left *budget) (Config, error) { return readValues(data, left) }

// readValues reads named values.
func readValues(data flower.Blob, left *budget) ([]Named[any], error) {
	var values []Named[any]
	err := wire.NewReader(data).Fields(func(field protowire.Number, v wire.Value) error {
		if field != 1 {
			return nil
		}
		if err := left.count(1); err != nil {
			return err
		}
		var name string
		var value any
		err := v.Message(func(field protowire.Number, v wire.Value) (err error) {
			switch field {
			case 1:
				name, err = v.Text()
			case 2:
				err = v.Message(func(field protowire.Number, v wire.Value) error {
					known, err := readValue(field, v, left)
					if known != nil {
						value = known
					}
					return err
				})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("value %.100q: %w", name, err)
		}
		if value == nil {
			return fmt.Errorf("value %.100q: it has none, or one of an unknown type", name)
		}
		values = append(values, Named[any]{name, value})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return values, unique(values)
}

// readValue returns nil for an unknown field.
func readValue(field protowire.Number, v wire.Value, left *budget) (any, error) {
	switch field {
	case fieldDouble:
		return known(v.Double())
	case fieldInt:
		n, err := v.Uint()
		return known(protowire.DecodeZigZag(n), err)
	case fieldUint:
		return known(v.Uint())
	case fieldBool:
		n, err := v.Uint()
		return known(n != 0, err)
	case fieldText:
		return known(v.Text())
	case fieldBytes:
		return known(v.Bytes())
	case fieldDoubles:
		return known(readPacked(v, protowire.Fixed64Type, left, math.Float64frombits))
	case fieldInts:
		return known(readPacked(v, protowire.VarintType, left, protowire.DecodeZigZag))
	case fieldUints:
		return known(readPacked(v, protowire.VarintType, left, func(n uint64) uint64 { return n }))
	case fieldBools:
		return known(readPacked(v, protowire.VarintType, left, func(n uint64) bool { return n != 0 }))
	case fieldTexts:
		return known(readList(v, left, func(v wire.Value) (string, error) { return v.Text() }))
	case fieldBlobs:
		return known(readList(v, left, func(v wire.Value) ([]byte, error) { return v.Bytes() }))
	}
	return nil, nil
}

func known[V any](v V, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// readPacked reads a message with one list of numbers, packed or not.
func readPacked[N any](v wire.Value, kind protowire.Type, left *budget, from func(uint64) N) ([]N, error) {
	numbers := []N{}
	err := v.Message(func(field protowire.Number, v wire.Value) error {
		if field != 1 {
			return nil
		}
		if v.Kind == kind {
			numbers = append(numbers, from(v.Number))
			return left.take(numberSize)
		}
		chunks, err := v.View()
		if err != nil {
			return err
		}
		for r := wire.NewReader(chunks); r.Left() > 0; {
			if err := left.take(numberSize); err != nil {
				return err
			}
			n, err := readNumber(r, kind)
			if err != nil {
				return err
			}
			numbers = append(numbers, from(n))
		}
		return nil
	})
	return numbers, err
}

// numberSize is what a number of a list takes in memory, in bytes: more than the one on the wire.
const numberSize = 8

func readNumber(r *wire.Reader, kind protowire.Type) (uint64, error) {
	if kind == protowire.Fixed64Type {
		return r.Fixed(8)
	}
	return r.Varint()
}

// readList reads a message with one list of texts or bytes.
func readList[V any](v wire.Value, left *budget, read func(wire.Value) (V, error)) ([]V, error) {
	list := []V{}
	err := v.Message(func(field protowire.Number, v wire.Value) error {
		if field != 1 {
			return nil
		}
		if err := left.count(1); err != nil {
			return err
		}
		one, err := read(v)
		if err != nil {
			return err
		}
		list = append(list, one)
		return nil
	})
	return list, err
}

// malformed marks an error of a decoder as one of the form, if it is not of another kind.
func malformed(err error) error {
	if err == nil || errors.Is(err, ErrLimit) || errors.Is(err, ErrMissing) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}
