package jobconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// scalar is text, a number or a truth value: a parameter of a strategy or a setting for
// clients. JSON keeps its type, which matters to clients: a float64 is written with a
// point or an exponent, an int64 without.
type scalar struct{ value any }

func toScalars(values map[string]any) map[string]scalar {
	scalars := make(map[string]scalar, len(values))
	for name, v := range values {
		if v != nil { // null is the same as not given
			scalars[name] = scalar{v}
		}
	}
	return scalars
}

func fromScalars(scalars map[string]scalar) map[string]any {
	if len(scalars) == 0 {
		return nil
	}
	values := make(map[string]any, len(scalars))
	for name, s := range scalars {
		values[name] = s.value
	}
	return values
}

// MarshalJSON implements [json.Marshaler].
func (s scalar) MarshalJSON() ([]byte, error) {
	switch v := s.value.(type) {
	case json.Number:
		return []byte(v), nil
	case string, bool:
		return json.Marshal(v)
	}
	switch v := reflect.ValueOf(s.value); {
	case v.CanInt():
		return strconv.AppendInt(nil, v.Int(), 10), nil
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return strconv.AppendUint(nil, v.Uint(), 10), nil
	case v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return nil, fmt.Errorf("write number %v: not finite", v.Float())
	case v.CanFloat():
		text := strconv.FormatFloat(v.Float(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return []byte(text), nil
	}
	return nil, fmt.Errorf("%v of type %T is neither text, a number that fits in 64 bits, nor a truth value",
		s.value, s.value)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *scalar) UnmarshalJSON(data []byte) (err error) {
	if strings.IndexByte(`"tf`, data[0]) >= 0 {
		return json.Unmarshal(data, &s.value)
	}
	if !bytes.ContainsAny(data, ".eE") {
		s.value, err = strconv.ParseInt(string(data), 10, 64)
		return err
	}
	s.value, err = strconv.ParseFloat(string(data), 64)
	return err
}
