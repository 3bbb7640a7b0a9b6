package entity

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/internal/document"
)

// Decode reads one entity, or another structure of this package, from JSON or
// YAML of up to 1 MiB. Fields that it does not have are errors, fields that are
// null are as if they were not there, references may be a string (an id or a
// name) or an object, and a [Service] may have "url" for its protocol, host, port
// and path. Fields that the text does not name keep the value they have, so that
// a change of some fields can be decoded onto the entity. The error is a
// [*position.Error].
func Decode(data []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode an entity: %T is not a pointer", into)
	}
	root, _, err := document.Parse(data, document.Limits{Bytes: maxConfig, Values: 50_000})
	if err != nil {
		return fmt.Errorf("decode an entity: %w", err)
	}
	if err := decodeInto(root, target.Elem(), nil); err != nil {
		return fmt.Errorf("decode an entity: %w", err)
	}
	return nil
}

// nested takes the members of an object that are not fields of the structure. It
// returns whether it took one.
type nested func(key string, value *document.Node) (bool, error)

// decodeInto reads a value into what reflection can set.
func decodeInto(n *document.Node, v reflect.Value, more nested) error {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes(n.AppendJSON(nil))
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if n.Kind == document.Null {
			v.SetZero()
			return nil
		}
		made := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			made.Elem().Set(v.Elem())
		}
		if v.Type() == reflect.TypeFor[*Ref]() {
			made.Elem().SetZero()
		}
		v.Set(made)
		return decodeInto(n, made.Elem(), more)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Ref]() && n.Kind == document.String {
			v.Set(reflect.ValueOf(newRef(n.Text)))
			return nil
		}
		return decodeObject(n, v, more)
	case reflect.Slice:
		return decodeList(n, v)
	case reflect.Map:
		return decodeMap(n, v)
	}
	return decodeScalar(n, v)
}

// newRef is a reference that is written as a string.
func newRef(text string) Ref {
	if isUUID(text) {
		return Ref{ID: text}
	}
	return Ref{Name: text}
}

func decodeObject(n *document.Node, v reflect.Value, more nested) error {
	if n.Kind != document.Object {
		return n.Errorf("an object is needed, this is %s", n.Kind)
	}
	fields := map[string]reflect.Value{}
	collectFields(v, fields)
	for _, member := range n.Members {
		if member.Value.Kind == document.Null {
			if field, ok := fields[member.Key]; ok {
				field.SetZero()
			}
			continue
		}
		if field, ok := fields[member.Key]; ok {
			if err := decodeInto(member.Value, field, nil); err != nil {
				return err
			}
			continue
		}
		if service, ok := v.Addr().Interface().(*Service); ok && member.Key == "url" {
			address, isString := member.Value.Str()
			if !isString {
				return member.Value.Errorf("a string is needed, this is %s", member.Value.Kind)
			}
			if err := service.SetURL(address); err != nil {
				return member.Value.Errorf("%w", err)
			}
			continue
		}
		if more != nil {
			if took, err := more(member.Key, member.Value); err != nil || took {
				if err != nil {
					return err
				}
				continue
			}
		}
		return member.Value.Errorf("there is no such field")
	}
	return nil
}

// collectFields finds the fields of a structure and of those embedded by their JSON names.
func collectFields(v reflect.Value, fields map[string]reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			collectFields(v.Field(i), fields)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" && field.IsExported() {
			fields[name] = v.Field(i)
		}
	}
}

func decodeList(n *document.Node, v reflect.Value) error {
	if n.Kind != document.Array {
		if n.Kind == document.Object && len(n.Members) == 0 { // as Lua writes an empty list
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			return nil
		}
		return n.Errorf("an array is needed, this is %s", n.Kind)
	}
	made := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		if err := decodeInto(item, made.Index(i), nil); err != nil {
			return err
		}
	}
	v.Set(made)
	return nil
}

func decodeMap(n *document.Node, v reflect.Value) error {
	if n.Kind != document.Object {
		return n.Errorf("an object is needed, this is %s", n.Kind)
	}
	made := reflect.MakeMapWithSize(v.Type(), len(n.Members))
	for _, member := range n.Members {
		value := reflect.New(v.Type().Elem()).Elem()
		if err := decodeInto(member.Value, value, nil); err != nil {
			return err
		}
		made.SetMapIndex(reflect.ValueOf(member.Key), value)
	}
	v.Set(made)
	return nil
}

func decodeScalar(n *document.Node, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if n.Kind != document.String {
			return n.Errorf("a string is needed, this is %s", n.Kind)
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if n.Kind != document.Bool {
			return n.Errorf("a boolean is needed, this is %s", n.Kind)
		}
		v.SetBool(n.Text == "true")
	case reflect.Int, reflect.Int64:
		if n.Kind != document.Number {
			return n.Errorf("an integer is needed, this is %s", n.Kind)
		}
		value, err := strconv.ParseInt(strings.TrimSuffix(n.Text, ".0"), 10, 64)
		if err != nil {
			return n.Errorf("%s is not an integer", n.Text)
		}
		v.SetInt(value)
	case reflect.Float64:
		if n.Kind != document.Number {
			return n.Errorf("a number is needed, this is %s", n.Kind)
		}
		value, err := strconv.ParseFloat(n.Text, 64)
		if err != nil {
			return n.Errorf("%s is not a number of 64 bits", n.Text)
		}
		v.SetFloat(value)
	default:
		return n.Errorf("a field of the type %s cannot be read", v.Type())
	}
	return nil
}
