package flower

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// mostEntries bounds the tensors of a message and the entries of its
// configuration. Each takes a few bytes on the wire and many more in memory.
const mostEntries = 1 << 16

// decodeAnswer decodes a message of a client. The answer refers to data.
func decodeAnswer(blob Blob) (answer, error) {
	var made answer
	err := wire.NewReader(blob).Fields(func(field protowire.Number, v wire.Value) error {
		switch field {
		case 1:
			made = &DisconnectRes{}
		case 2:
			made = &PropertiesRes{}
		case 3:
			made = &ParametersRes{}
		case 4:
			made = &FitRes{}
		case 5:
			made = &EvaluateRes{}
		default:
			return nil
		}
		return v.Message(reading(made))
	})
	if err == nil && made == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: message of a client: %w", ErrProtocol, err)
	}
	return made, nil
}

// reading returns the answer for a field number and the function that reads its
// fields.
func reading(into answer) func(protowire.Number, wire.Value) error {
	switch r := into.(type) {
	case *DisconnectRes:
		return func(field protowire.Number, v wire.Value) (err error) {
			if field == 1 {
				err = enum(v, &r.Reason)
			}
			return err
		}
	case *PropertiesRes:
		return func(field protowire.Number, v wire.Value) error {
			switch field {
			case 1:
				return v.Message(r.Status.field)
			case 2:
				return entry(v, &r.Properties)
			}
			return nil
		}
	case *ParametersRes:
		return func(field protowire.Number, v wire.Value) error {
			switch field {
			case 1:
				return v.Message(r.Status.field)
			case 2:
				return v.Message(r.Parameters.field)
			}
			return nil
		}
	case *FitRes:
		return r.field
	case *EvaluateRes:
		return r.field
	}
	panic(fmt.Sprintf("flower: answer of type %T", into))
}

func (r *FitRes) field(field protowire.Number, v wire.Value) error {
	switch field {
	case 1:
		return v.Message(r.Status.field)
	case 2:
		return v.Message(r.Parameters.field)
	case 3:
		return signed(v, &r.NumExamples)
	case 4:
		return entry(v, &r.Metrics)
	}
	return nil
}

func (r *EvaluateRes) field(field protowire.Number, v wire.Value) error {
	switch field {
	case 1:
		return v.Message(r.Status.field)
	case 2:
		if v.Kind != protowire.Fixed32Type {
			return wire.ErrKind
		}
		r.Loss = math.Float32frombits(uint32(v.Number))
	case 3:
		return signed(v, &r.NumExamples)
	case 4:
		return entry(v, &r.Metrics)
	}
	return nil
}

// decodeInstruction decodes a message of a server. The instruction refers to
// data.
func decodeInstruction(blob Blob) (instruction, error) {
	var made instruction
	err := wire.NewReader(blob).Fields(func(field protowire.Number, v wire.Value) error {
		var config Config
		var p Parameters
		var seconds int64
		one := func(field protowire.Number, v wire.Value) error {
			if field == 1 {
				return entry(v, &config)
			}
			return nil
		}
		two := func(field protowire.Number, v wire.Value) error {
			switch field {
			case 1:
				return v.Message(p.field)
			case 2:
				return entry(v, &config)
			}
			return nil
		}
		var err error
		switch field {
		case 1:
			err = v.Message(func(field protowire.Number, v wire.Value) error {
				if field == 1 {
					return signed(v, &seconds)
				}
				return nil
			})
			made = ReconnectIns{seconds}
		case 2:
			err = v.Message(one)
			made = GetPropertiesIns{config}
		case 3:
			err = v.Message(one)
			made = GetParametersIns{config}
		case 4:
			err = v.Message(two)
			made = FitIns{Parameters: p, Config: config}
		case 5:
			err = v.Message(two)
			made = EvaluateIns{p, config}
		}
		return err
	})
	if err == nil && made == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: message of the server: %w", ErrProtocol, err)
	}
	return made, nil
}

func (s *Status) field(field protowire.Number, v wire.Value) (err error) {
	switch field {
	case 1:
		err = enum(v, &s.Code)
	case 2:
		s.Message, err = v.Text()
	}
	return err
}

func (p *Parameters) field(field protowire.Number, v wire.Value) (err error) {
	switch field {
	case 1:
		blob, err := v.View()
		if err != nil {
			return err
		}
		if len(p.Tensors) == mostEntries {
			return fmt.Errorf("more than %d tensors", mostEntries)
		}
		p.Tensors = append(p.Tensors, blob)
	case 2:
		p.Type, err = v.Text()
	}
	return err
}

// entry reads an entry of a map of scalars.
func entry(v wire.Value, into *Config) error {
	var key string
	var scalar any
	err := v.Message(func(field protowire.Number, v wire.Value) (err error) {
		switch field {
		case 1:
			key, err = v.Text()
		case 2:
			err = v.Message(func(field protowire.Number, v wire.Value) (err error) {
				if known, err := readScalar(field, v); known != nil || err != nil {
					scalar = known
					return err
				}
				return nil
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if *into == nil {
		*into = Config{}
	}
	if len(*into) == mostEntries {
		return fmt.Errorf("more than %d entries", mostEntries)
	}
	if scalar != nil { // an unknown type, or no value
		(*into)[key] = scalar
	}
	return nil
}

// readScalar returns nil for an unknown field.
func readScalar(field protowire.Number, v wire.Value) (any, error) {
	switch field {
	case 1:
		return v.Double()
	case 6:
		n, err := v.Uint()
		return n, err
	case 8:
		n, err := v.Uint()
		return protowire.DecodeZigZag(n), err
	case 13:
		n, err := v.Uint()
		return n != 0, err
	case 14:
		text, err := v.Text()
		return text, err
	case 15:
		data, err := v.Bytes()
		return data, err
	}
	return nil, nil
}

func signed(v wire.Value, into *int64) error {
	n, err := v.Uint()
	*into = int64(n)
	return err
}

func enum[E ~int32](v wire.Value, into *E) error {
	n, err := v.Uint()
	*into = E(int32(n))
	return err
}
