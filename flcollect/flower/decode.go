package flower

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// mostEntries bounds the tensors of a message and the entries of its
// configuration. Each takes a few bytes on the wire and many more in memory.
const mostEntries = 1 << 16

// decodeAnswer decodes a message of a client. The answer refers to data.
func decodeAnswer(blob Blob) (answer, error) {
	var made answer
	err := newCursor(blob).fields(func(field protowire.Number, v value) error {
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
		return v.message(reading(made))
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
func reading(into answer) func(protowire.Number, value) error {
	switch r := into.(type) {
	case *DisconnectRes:
		return func(field protowire.Number, v value) (err error) {
			if field == 1 {
				err = enum(v, &r.Reason)
			}
			return err
		}
	case *PropertiesRes:
		return func(field protowire.Number, v value) error {
			switch field {
			case 1:
				return v.message(r.Status.field)
			case 2:
				return entry(v, &r.Properties)
			}
			return nil
		}
	case *ParametersRes:
		return func(field protowire.Number, v value) error {
			switch field {
			case 1:
				return v.message(r.Status.field)
			case 2:
				return v.message(r.Parameters.field)
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

func (r *FitRes) field(field protowire.Number, v value) error {
	switch field {
	case 1:
		return v.message(r.Status.field)
	case 2:
		return v.message(r.Parameters.field)
	case 3:
		return signed(v, &r.NumExamples)
	case 4:
		return entry(v, &r.Metrics)
	}
	return nil
}

func (r *EvaluateRes) field(field protowire.Number, v value) error {
	switch field {
	case 1:
		return v.message(r.Status.field)
	case 2:
		if v.kind != protowire.Fixed32Type {
			return errKind
		}
		r.Loss = math.Float32frombits(uint32(v.number))
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
	err := newCursor(blob).fields(func(field protowire.Number, v value) error {
		var config Config
		var p Parameters
		var seconds int64
		one := func(field protowire.Number, v value) error {
			if field == 1 {
				return entry(v, &config)
			}
			return nil
		}
		two := func(field protowire.Number, v value) error {
			switch field {
			case 1:
				return v.message(p.field)
			case 2:
				return entry(v, &config)
			}
			return nil
		}
		var err error
		switch field {
		case 1:
			err = v.message(func(field protowire.Number, v value) error {
				if field == 1 {
					return signed(v, &seconds)
				}
				return nil
			})
			made = ReconnectIns{seconds}
		case 2:
			err = v.message(one)
			made = GetPropertiesIns{config}
		case 3:
			err = v.message(one)
			made = GetParametersIns{config}
		case 4:
			err = v.message(two)
			made = FitIns{Parameters: p, Config: config}
		case 5:
			err = v.message(two)
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

func (s *Status) field(field protowire.Number, v value) (err error) {
	switch field {
	case 1:
		err = enum(v, &s.Code)
	case 2:
		s.Message, err = v.text()
	}
	return err
}

func (p *Parameters) field(field protowire.Number, v value) (err error) {
	switch field {
	case 1:
		if v.kind != protowire.BytesType {
			return errKind
		}
		if len(p.Tensors) == mostEntries {
			return fmt.Errorf("more than %d tensors", mostEntries)
		}
		p.Tensors = append(p.Tensors, v.blob)
	case 2:
		p.Type, err = v.text()
	}
	return err
}

// entry reads an entry of a map of scalars.
func entry(v value, into *Config) error {
	var key string
	var scalar any
	err := v.message(func(field protowire.Number, v value) (err error) {
		switch field {
		case 1:
			key, err = v.text()
		case 2:
			err = v.message(func(field protowire.Number, v value) (err error) {
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
func readScalar(field protowire.Number, v value) (any, error) {
	switch field {
	case 1:
		if v.kind != protowire.Fixed64Type {
			return nil, errKind
		}
		return math.Float64frombits(v.number), nil
	case 6:
		n, err := v.whole()
		return n, err
	case 8:
		n, err := v.whole()
		return protowire.DecodeZigZag(n), err
	case 13:
		n, err := v.whole()
		return n != 0, err
	case 14:
		text, err := v.text()
		return text, err
	case 15:
		data, err := v.bytes()
		return data, err
	}
	return nil, nil
}

func signed(v value, into *int64) error {
	n, err := v.whole()
	*into = int64(n)
	return err
}

func enum[E ~int32](v value, into *E) error {
	n, err := v.whole()
	*into = E(int32(n))
	return err
}
