package repository

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// record is a JSON object that keeps the order of its members. Its values are
// those that were put in, or json.RawMessage when it was read from storage.
type record []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (r record) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range r {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *record) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(errors.New("not a JSON object"), err)
	}
	*r = nil
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		r.set(name.(string), value) // the decoder takes nothing else for a name
	}
	_, err := decoder.Token()
	return err
}

// set gives a member a value, and adds it if it is not there.
func (r *record) set(name string, value any) {
	if i := r.index(name); i >= 0 {
		(*r)[i].value = value
		return
	}
	*r = append(*r, member{name, value})
}

// without is the record without a member.
func (r record) without(name string) record {
	return slices.DeleteFunc(slices.Clone(r), func(m member) bool { return m.name == name })
}

// text is the value of a member as text: empty if there is none or it is null.
func (r record) text(name string) string {
	i := r.index(name)
	if i < 0 {
		return ""
	}
	switch v := r[i].value.(type) {
	case string:
		return v
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil {
			return text
		}
		return string(v)
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

func (r record) index(name string) int {
	return slices.IndexFunc(r, func(m member) bool { return m.name == name })
}

// decode reads a JSON document that is one value, with numbers as they are
// written.
func decode(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one value")
	}
	return value, nil
}
