package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
)

// text is a string of a configuration that may also be given as a number or a
// boolean: definitions written by hand have all three.
type text string

// UnmarshalJSON reads a scalar.
func (t *text) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		return json.Unmarshal(data, (*string)(t))
	case '{', '[':
		return &json.UnmarshalTypeError{Value: jsonShape(data), Type: reflect.TypeFor[string]()}
	}
	*t = text(data)
	return nil
}

// flag is a boolean of a configuration that may also be given as "yes" or "no",
// which is how the specification of the extension writes it.
type flag bool

// UnmarshalJSON reads yes, no, true, false, 1 and 0, as strings or not.
func (f *flag) UnmarshalJSON(data []byte) error {
	switch strings.ToLower(strings.Trim(string(data), `"`)) {
	case "null":
	case "yes", "true", "1", "on":
		*f = true
	case "no", "false", "0", "off":
		*f = false
	default:
		return &json.UnmarshalTypeError{Value: jsonShape(data), Type: reflect.TypeFor[bool]()}
	}
	return nil
}

// list is a list of strings that may also be given as a single one.
type list []string

// UnmarshalJSON reads a string or a list.
func (l *list) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case 'n':
		return nil
	case '"':
		*l = make([]string, 1)
		return json.Unmarshal(data, &(*l)[0])
	case '[':
		return json.Unmarshal(data, (*[]string)(l))
	}
	return &json.UnmarshalTypeError{Value: jsonShape(data), Type: reflect.TypeFor[[]string]()}
}

// jsonShape reports what a value is, without the value: it may be a secret.
func jsonShape(data []byte) string {
	switch data[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	}
	return "number"
}
