package keep

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// shape is what a type has of JSON members. A nil shape is that of a value that has
// nothing unknown: a text, a number, or a value with a form of its own.
type shape struct {
	// fields are the members of a struct, by name; nil if the value is not a struct.
	fields map[string]field
	// key is the member that an element of a list is recognised by.
	key string
	// elem is the shape of the values of a map, or of the elements of a list.
	elem *shape
	list bool
}

type field struct {
	name  string
	shape *shape
}

// maker creates shapes. It has those of the structs that it has begun, which may contain
// themselves.
type maker map[reflect.Type]*shape

// Form is implemented by types with a JSON form of their own that is the form of another
// value, which has the same members.
type Form interface {
	// StoredForm returns a value of the type whose fields are the members.
	StoredForm() any
}

// shapeFor returns the shape of a type; nil if nothing of it can be unknown.
func (m maker) shapeFor(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if form, ok := reflect.Zero(t).Interface().(Form); ok {
		return m.fields(reflect.TypeOf(form.StoredForm()))
	}
	pointer := reflect.PointerTo(t)
	for _, form := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if pointer.Implements(form) {
			return nil
		}
	}
	return m.fields(t)
}

// fields is shapeFor, whether or not the type has a JSON form of its own.
func (m maker) fields(t reflect.Type) *shape {
	if begun, ok := m[t]; ok {
		return begun
	}
	switch t.Kind() {
	case reflect.Struct:
		s := &shape{fields: map[string]field{}}
		m[t] = s
		m.addFields(s, t)
		return s
	case reflect.Map, reflect.Slice, reflect.Array:
		if elem := m.shapeFor(t.Elem()); elem != nil {
			return &shape{elem: elem, list: t.Kind() != reflect.Map}
		}
	}
	return nil
}

// addFields adds the members of a struct. Those of an embedded struct come after its
// own, which hide them.
func (m maker) addFields(s *shape, t reflect.Type) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
			continue
		case f.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
			continue
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if _, hidden := s.fields[name]; hidden {
			continue
		}
		s.fields[name] = field{name, m.shapeFor(f.Type)}
		if f.Tag.Get("keep") == "key" && s.key == "" {
			s.key = name
		}
	}
	for _, t := range embedded {
		m.addFields(s, t)
	}
}

// field returns the member of a name, and whether the type has it. As with encoding/json
// the case of letters does not count if no name is the same.
func (s *shape) field(name string) (field, bool) {
	for known, found := range s.fields {
		if strings.EqualFold(known, name) {
			return found, true
		}
	}
	return field{}, false
}
