// Package members reads the members of a JSON object and reports what is wrong
// with them by name. The drivers of brokers read their settings with it, and
// the REST interface of package manager reads channels.
package members

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate"
)

// Object is a JSON object. Create one with [Parse]. Its methods return the
// value of a member in the type that is expected. The first error anywhere in
// the document is kept for [Object.Err]; after it the methods return zero
// values. A member that is null counts as absent.
type Object struct {
	path    string
	members map[string]any
	err     *error // of the document
}

// Parse reads a JSON object. The error is an [*annotate.FieldError] about the
// document: it is not JSON, not an object, or has text after the object.
func Parse(data []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return Object{}, &annotate.FieldError{Reason: syntaxReason(err, data)}
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Object{}, &annotate.FieldError{Reason: fmt.Sprintf("unexpected text after the JSON object, which ends at byte %d", end)}
	}
	members, ok := document.(map[string]any)
	if !ok {
		return Object{}, &annotate.FieldError{Reason: "expected a JSON object, got " + describe(document)}
	}
	return Object{members: members, err: new(error)}, nil
}

func syntaxReason(err error, data []byte) string {
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "expected a JSON object, got nothing"
	case errors.As(err, &syntax):
		before := data[:min(int(syntax.Offset), len(data))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
		return fmt.Sprintf("not JSON: %s at line %d, column %d", syntax.Error(), line, max(column, 1))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "not JSON: the text ends in the middle"
	}
	return "not JSON: " + err.Error()
}

// Err returns the first error about any object of the document, an
// [*annotate.FieldError] with the path of the member, or nil.
func (o Object) Err() error { return *o.err }

// Path returns where the object is in the document; empty for the document.
func (o Object) Path() string { return o.path }

// Fail records an error about the object: of a part of it where it is an
// [*annotate.FieldError] with a field.
func (o Object) Fail(err error) {
	if *o.err == nil {
		*o.err = annotate.Below(o.path, err)
	}
}

// JSON returns the object as JSON, for a decoder of its own.
func (o Object) JSON() []byte {
	data, _ := json.Marshal(o.members) // it was read from JSON
	return data
}

// member returns the first of the names that is present.
func (o Object) member(names ...string) (value any, path string, ok bool) {
	for _, name := range names {
		if value := o.members[name]; value != nil {
			return value, o.join(name), true
		}
	}
	return nil, o.join(names[0]), false
}

func (o Object) join(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o Object) fail(path, format string, args ...any) {
	if *o.err == nil {
		*o.err = &annotate.FieldError{Field: path, Reason: fmt.Sprintf(format, args...)}
	}
}

// Text returns a string; empty when the member is absent.
func (o Object) Text(name string) string {
	value, path, ok := o.member(name)
	if !ok {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		o.fail(path, "expected a string, got %s", describe(value))
	}
	return text
}

// RequiredText returns a string that must be there and not be blank.
func (o Object) RequiredText(name string) string {
	_, path, ok := o.member(name)
	text := o.Text(name)
	if !ok {
		o.fail(path, "required, expected a string")
	} else if strings.TrimSpace(text) == "" {
		o.fail(path, "required, must not be empty")
	}
	return text
}

// OneOf returns a string that must be there and be one of those allowed.
func (o Object) OneOf(name string, allowed ...string) string {
	text := o.RequiredText(name)
	for _, a := range allowed {
		if text == a {
			return text
		}
	}
	o.fail(o.join(name), "expected one of %s, got %q", strings.Join(allowed, ", "), text)
	return ""
}

// Choice is OneOf for a member that may be absent, and is empty then.
func (o Object) Choice(name string, allowed ...string) string {
	if _, _, ok := o.member(name); !ok {
		return ""
	}
	return o.OneOf(name, allowed...)
}

// Integer returns an integer in the range; 0 when the member is absent.
func (o Object) Integer(name string, low, high int) int {
	value, path, ok := o.member(name)
	if !ok {
		return 0
	}
	number, ok := value.(json.Number)
	if !ok {
		o.fail(path, "expected an integer, got %s", describe(value))
		return 0
	}
	i, err := strconv.Atoi(number.String())
	if err != nil || i < low || i > high {
		o.fail(path, "expected an integer from %d to %d, got %s", low, high, number)
		return 0
	}
	return i
}

// RequiredInteger returns an integer in the range that must be there.
func (o Object) RequiredInteger(name string, low, high int) int {
	if _, path, ok := o.member(name); !ok {
		o.fail(path, "required, expected an integer")
	}
	return o.Integer(name, low, high)
}

// Bool returns the truth value in the first of the names that is present; ok is
// false when none is.
func (o Object) Bool(names ...string) (value, ok bool) {
	found, path, ok := o.member(names...)
	if !ok {
		return false, false
	}
	value, isBool := found.(bool)
	if !isBool {
		o.fail(path, "expected true or false, got %s", describe(found))
	}
	return value, true
}

// True reports whether the member is there and true.
func (o Object) True(name string) bool {
	value, _ := o.Bool(name)
	return value
}

// Has reports whether the member is there.
func (o Object) Has(name string) bool {
	_, _, ok := o.member(name)
	return ok
}

// Texts returns an array of strings; nil when the member is absent.
func (o Object) Texts(name string) []string {
	value, path, ok := o.member(name)
	if !ok {
		return nil
	}
	array, ok := value.([]any)
	if !ok {
		o.fail(path, "expected an array of strings, got %s", describe(value))
		return nil
	}
	var texts []string
	for i, element := range array {
		text, ok := element.(string)
		if !ok {
			o.fail(fmt.Sprintf("%s[%d]", path, i), "expected a string, got %s", describe(element))
		}
		texts = append(texts, text)
	}
	return texts
}

// OptionalObject returns the object in the first of the names that is present; ok
// is false when none is.
func (o Object) OptionalObject(names ...string) (Object, bool) {
	value, path, ok := o.member(names...)
	if !ok {
		return Object{path: path, err: o.err}, false
	}
	members, isObject := value.(map[string]any)
	if !isObject {
		o.fail(path, "expected an object, got %s", describe(value))
	}
	return Object{path: path, members: members, err: o.err}, true
}

// Object returns an object that must be there.
func (o Object) Object(name string) Object {
	child, ok := o.OptionalObject(name)
	if !ok {
		o.fail(child.path, "required, expected an object")
	}
	return child
}

func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %.40q", value)
	case json.Number:
		return "the number " + value.String()
	case bool:
		return strconv.FormatBool(value)
	case []any:
		return "an array"
	}
	return "an object"
}

// Others returns the members that have other names, as JSON; nil when there are
// none.
func (o Object) Others(names ...string) map[string]json.RawMessage {
	var others map[string]json.RawMessage
	for name, value := range o.members {
		if value == nil || slices.Contains(names, name) {
			continue
		}
		if others == nil {
			others = map[string]json.RawMessage{}
		}
		others[name], _ = json.Marshal(value) // it was read from JSON
	}
	return others
}
