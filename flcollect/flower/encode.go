package flower

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// writer collects the wire form of a protobuf message in pieces. It refers to
// large parts instead of copying them. The zero value is an empty message.
type writer struct {
	pieces [][]byte
	size   int
	open   bool // the last piece belongs to the writer and may grow
}

// smallPiece is the largest part that is copied, in bytes.
const smallPiece = 512

func (w *writer) grow(with func([]byte) []byte) {
	if !w.open {
		w.pieces, w.open = append(w.pieces, nil), true
	}
	last := &w.pieces[len(w.pieces)-1]
	before := len(*last)
	*last = with(*last)
	w.size += len(*last) - before
}

// refer adds bytes that must not be changed afterwards.
func (w *writer) refer(data []byte) {
	if len(data) <= smallPiece {
		w.grow(func(b []byte) []byte { return append(b, data...) })
		return
	}
	w.pieces, w.size, w.open = append(w.pieces, data), w.size+len(data), false
}

// message adds a field that is a message.
func (w *writer) message(field protowire.Number, fill func(*writer) error) error {
	var inner writer
	if err := fill(&inner); err != nil {
		return err
	}
	w.header(field, inner.size)
	for _, piece := range inner.pieces {
		w.refer(piece)
	}
	return nil
}

// header adds the tag and the length of a field of size bytes.
func (w *writer) header(field protowire.Number, size int) {
	w.grow(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	})
}

// varint adds an integer. It adds nothing for 0, the default of proto3.
func (w *writer) varint(field protowire.Number, v uint64) {
	if v != 0 {
		w.always(field, v)
	}
}

// always adds an integer, even if it is 0.
func (w *writer) always(field protowire.Number, v uint64) {
	w.grow(func(b []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
	})
}

// text adds text. It adds nothing for an empty string.
func (w *writer) text(field protowire.Number, v string) error {
	if !utf8.ValidString(v) {
		return fmt.Errorf("%q is not UTF-8", v)
	}
	if v != "" {
		w.header(field, len(v))
		w.refer([]byte(v))
	}
	return nil
}

// scalars adds a map of scalars, in the order of its keys.
func (w *writer) scalars(field protowire.Number, config Config) error {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		err := w.message(field, func(w *writer) error {
			if err := w.text(1, key); err != nil {
				return err
			}
			return w.message(2, func(w *writer) error { return w.scalar(config[key]) })
		})
		if err != nil {
			return fmt.Errorf("encode %q: %w", key, err)
		}
	}
	return nil
}

// scalar adds the one field of a scalar, even if it has the default value.
func (w *writer) scalar(value any) error {
	switch v := value.(type) {
	case float64:
		w.grow(func(b []byte) []byte {
			return protowire.AppendFixed64(protowire.AppendTag(b, 1, protowire.Fixed64Type), math.Float64bits(v))
		})
	case uint64:
		w.always(6, v)
	case int64:
		w.always(8, protowire.EncodeZigZag(v))
	case int:
		w.always(8, protowire.EncodeZigZag(int64(v)))
	case bool:
		w.always(13, protowire.EncodeBool(v))
	case string:
		if !utf8.ValidString(v) {
			return fmt.Errorf("%q is not UTF-8", v)
		}
		w.header(14, len(v))
		w.refer([]byte(v))
	case []byte:
		w.header(15, len(v))
		w.refer(v)
	default:
		return fmt.Errorf("a value of type %T cannot be sent", value)
	}
	return nil
}

func (w *writer) parameters(field protowire.Number, p Parameters) error {
	return w.message(field, func(w *writer) error {
		for _, blob := range p.Tensors {
			w.header(1, blob.Len())
			for _, chunk := range blob {
				w.refer(chunk)
			}
		}
		return w.text(2, p.Type)
	})
}

func (w *writer) status(s Status) error {
	return w.message(1, func(w *writer) error {
		w.varint(1, uint64(s.Code))
		return w.text(2, s.Message)
	})
}

func (i ReconnectIns) instruct(w *writer) error {
	return w.message(1, func(w *writer) error {
		w.varint(1, uint64(i.Seconds))
		return nil
	})
}

func (i GetPropertiesIns) instruct(w *writer) error {
	return w.message(2, func(w *writer) error { return w.scalars(1, i.Config) })
}

func (i GetParametersIns) instruct(w *writer) error {
	return w.message(3, func(w *writer) error { return w.scalars(1, i.Config) })
}

func (i FitIns) instruct(w *writer) error { return w.model(4, i.Parameters, i.Config) }

func (i EvaluateIns) instruct(w *writer) error { return w.model(5, i.Parameters, i.Config) }

func (w *writer) model(field protowire.Number, p Parameters, config Config) error {
	return w.message(field, func(w *writer) error {
		if err := w.parameters(1, p); err != nil {
			return err
		}
		return w.scalars(2, config)
	})
}

func (r DisconnectRes) reply(w *writer) error {
	return w.message(1, func(w *writer) error {
		w.varint(1, uint64(r.Reason))
		return nil
	})
}

func (r PropertiesRes) reply(w *writer) error {
	return w.message(2, func(w *writer) error {
		if err := w.status(r.Status); err != nil {
			return err
		}
		return w.scalars(2, r.Properties)
	})
}

func (r *ParametersRes) reply(w *writer) error {
	return w.message(3, func(w *writer) error {
		if err := w.status(r.Status); err != nil {
			return err
		}
		return w.parameters(2, r.Parameters)
	})
}

func (r *FitRes) reply(w *writer) error {
	return w.message(4, func(w *writer) error {
		if err := w.status(r.Status); err != nil {
			return err
		}
		if err := w.parameters(2, r.Parameters); err != nil {
			return err
		}
		w.varint(3, uint64(r.NumExamples))
		return w.scalars(4, r.Metrics)
	})
}

func (r EvaluateRes) reply(w *writer) error {
	return w.message(5, func(w *writer) error {
		if err := w.status(r.Status); err != nil {
			return err
		}
		if bits := math.Float32bits(r.Loss); bits != 0 {
			w.grow(func(b []byte) []byte {
				return protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), bits)
			})
		}
		w.varint(3, uint64(r.NumExamples))
		return w.scalars(4, r.Metrics)
	})
}
