package flower

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// addScalars adds a map of scalars, in the order of its keys.
func addScalars(w *wire.Writer, field protowire.Number, config Config) error {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		err := w.Message(field, func(w *wire.Writer) error {
			if err := w.Text(1, key); err != nil {
				return err
			}
			return w.Message(2, func(w *wire.Writer) error { return addScalar(w, config[key]) })
		})
		if err != nil {
			return fmt.Errorf("encode %q: %w", key, err)
		}
	}
	return nil
}

// addScalar adds the one field of a scalar, even if it has the default value.
func addScalar(w *wire.Writer, value any) error {
	switch v := value.(type) {
	case float64:
		w.AlwaysDouble(1, v)
	case uint64:
		w.Always(6, v)
	case int64:
		w.Always(8, protowire.EncodeZigZag(v))
	case int:
		w.Always(8, protowire.EncodeZigZag(int64(v)))
	case bool:
		w.Always(13, protowire.EncodeBool(v))
	case string:
		return w.AlwaysText(14, v)
	case []byte:
		w.Bytes(15, [][]byte{v})
	default:
		return fmt.Errorf("a value of type %T cannot be sent", value)
	}
	return nil
}

func addParameters(w *wire.Writer, field protowire.Number, p Parameters) error {
	return w.Message(field, func(w *wire.Writer) error {
		for _, blob := range p.Tensors {
			w.Bytes(1, blob)
		}
		return w.Text(2, p.Type)
	})
}

func addStatus(w *wire.Writer, s Status) error {
	return w.Message(1, func(w *wire.Writer) error {
		w.Uint(1, uint64(s.Code))
		return w.Text(2, s.Message)
	})
}

func (i ReconnectIns) instruct(w *wire.Writer) error {
	return w.Message(1, func(w *wire.Writer) error {
		w.Uint(1, uint64(i.Seconds))
		return nil
	})
}

func (i GetPropertiesIns) instruct(w *wire.Writer) error {
	return w.Message(2, func(w *wire.Writer) error { return addScalars(w, 1, i.Config) })
}

func (i GetParametersIns) instruct(w *wire.Writer) error {
	return w.Message(3, func(w *wire.Writer) error { return addScalars(w, 1, i.Config) })
}

func (i FitIns) instruct(w *wire.Writer) error { return addModel(w, 4, i.Parameters, i.Config) }

func (i EvaluateIns) instruct(w *wire.Writer) error { return addModel(w, 5, i.Parameters, i.Config) }

func addModel(w *wire.Writer, field protowire.Number, p Parameters, config Config) error {
	return w.Message(field, func(w *wire.Writer) error {
		if err := addParameters(w, 1, p); err != nil {
			return err
		}
		return addScalars(w, 2, config)
	})
}

func (r DisconnectRes) reply(w *wire.Writer) error {
	return w.Message(1, func(w *wire.Writer) error {
		w.Uint(1, uint64(r.Reason))
		return nil
	})
}

func (r PropertiesRes) reply(w *wire.Writer) error {
	return w.Message(2, func(w *wire.Writer) error {
		if err := addStatus(w, r.Status); err != nil {
			return err
		}
		return addScalars(w, 2, r.Properties)
	})
}

func (r *ParametersRes) reply(w *wire.Writer) error {
	return w.Message(3, func(w *wire.Writer) error {
		if err := addStatus(w, r.Status); err != nil {
			return err
		}
		return addParameters(w, 2, r.Parameters)
	})
}

func (r *FitRes) reply(w *wire.Writer) error {
	return w.Message(4, func(w *wire.Writer) error {
		if err := addStatus(w, r.Status); err != nil {
			return err
		}
		if err := addParameters(w, 2, r.Parameters); err != nil {
			return err
		}
		w.Uint(3, uint64(r.NumExamples))
		return addScalars(w, 4, r.Metrics)
	})
}

func (r EvaluateRes) reply(w *wire.Writer) error {
	return w.Message(5, func(w *wire.Writer) error {
		if err := addStatus(w, r.Status); err != nil {
			return err
		}
		if bits := math.Float32bits(r.Loss); bits != 0 {
			w.Grow(func(b []byte) []byte {
				return protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), bits)
			})
		}
		w.Uint(3, uint64(r.NumExamples))
		return addScalars(w, 4, r.Metrics)
	})
}
