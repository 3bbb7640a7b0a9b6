package channelform

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object whose members keep their order. Those of drivers
// are not known when the program is compiled.
type Object struct {
	text bytes.Buffer
	err  error
}

// Add adds a member.
func (o *Object) Add(name string, value any) {
	key, err := json.Marshal(name)
	o.note(err)
	data, err := json.Marshal(value)
	o.note(err)
	o.comma()
	o.text.Write(key)
	o.text.WriteByte(':')
	o.text.Write(data)
}

// AddMembers adds the members of a value that encodes as an object.
func (o *Object) AddMembers(value any) {
	data, err := json.Marshal(value)
	o.note(err)
	if members := bytes.TrimSuffix(bytes.TrimPrefix(data, []byte("{")), []byte("}")); len(members) > 0 {
		o.comma()
		o.text.Write(members)
	}
}

func (o *Object) comma() {
	if o.text.Len() > 0 {
		o.text.WriteByte(',')
	}
}

func (o *Object) note(err error) {
	if o.err == nil {
		o.err = err
	}
}

// MarshalJSON implements json.Marshaler.
func (o *Object) MarshalJSON() ([]byte, error) {
	return append(append([]byte{'{'}, o.text.Bytes()...), '}'), o.err
}
