package admin

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// MarshalJSON is the entity as Kong shows it: with every field, those that are empty
// as null.
func (r row) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	value := reflect.ValueOf(r.entity).Elem()
	for i, f := range structFields(value.Type()) {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(`"` + f.name + `":`)
		v := value.FieldByIndex(f.Index)
		if f.blank && (v.IsZero() || (v.Kind() == reflect.Slice && v.Len() == 0)) {
			text.WriteString("null")
			continue
		}
		data, err := json.Marshal(v.Interface())
		if err != nil {
			return nil, err
		}
		text.Write(data)
	}
	for _, name := range r.absent() {
		text.WriteString(`,"` + name + `":null`)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// absent are the fields that Kong has and the gateway has not: they are shown as
// not set.
func (r row) absent() []string {
	switch r.entity.(type) {
	case *entity.Service:
		return []string{"client_certificate", "ca_certificates", "tls_verify_depth"}
	case *entity.Route:
		return []string{"sources", "destinations"}
	case *entity.Upstream:
		return []string{"client_certificate", "hash_on_query_arg", "hash_fallback_query_arg", "hash_on_uri_capture", "hash_fallback_uri_capture"}
	}
	return nil
}

// mergeJSON is RFC 7396 for objects, which is how Kong changes a part of the
// configuration of a plugin: objects are merged, null removes, anything else
// replaces.
func mergeJSON(into, change json.RawMessage) json.RawMessage {
	var old, next map[string]json.RawMessage
	if json.Unmarshal(change, &next) != nil || next == nil {
		return change
	}
	if json.Unmarshal(into, &old) != nil || old == nil {
		old = map[string]json.RawMessage{}
	}
	for name, value := range next {
		if string(value) == "null" {
			delete(old, name)
			continue
		}
		old[name] = mergeJSON(old[name], value)
	}
	merged, err := json.Marshal(old)
	if err != nil { // of raw messages that have been read, it never is
		return change
	}
	return merged
}
