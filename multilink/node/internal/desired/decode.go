package desired

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

// Decode reads one JSON value into a form. It returns an error for members that the form
// does not have, unless loose, and for data behind the value. Errors name the field and
// the place.
func Decode(data []byte, form any, loose bool) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return fault.Wrong("", "the request has no body; a JSON document is expected")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if !loose {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(form); err != nil {
		return misread(data, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fault.Wrong("", "something follows the JSON document, at %s", place(data, d.InputOffset()))
	}
	return nil
}

// misread returns the fault of a text that could not be decoded.
func misread(data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	text := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &syntax):
		return fault.Wrong("", "the body must be JSON: %v, at %s", syntax, place(data, syntax.Offset))
	case errors.As(err, &kind):
		return fault.Wrong(kind.Field, "must be %s, got a JSON %s, at %s", inWords(kind.Type.String()), kind.Value, place(data, kind.Offset))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrong("", "the body must be JSON: it ends too early, at %s", place(data, int64(len(data))))
	}
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		return fault.Wrong(strings.Trim(name, `"`), "unknown field")
	}
	return fault.Wrong("", "the body is not understood: %s, at %s", text, place(data, offset))
}

// inWords describes a Go type in the terms of JSON.
func inWords(kind string) string {
	switch {
	case strings.HasPrefix(kind, "[]"):
		return "an array"
	case strings.Contains(kind, "string"), strings.HasSuffix(kind, "Kind"), strings.HasSuffix(kind, "Policy"),
		strings.HasSuffix(kind, "Reselect"):
		return "a string"
	case strings.Contains(kind, "bool"):
		return "true or false"
	case strings.HasPrefix(kind, "uint"):
		return "a whole number of 0 or more"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	}
	return "an object"
}

// place returns the line and column of an offset.
func place(data []byte, offset int64) string {
	offset = max(0, min(offset, int64(len(data))))
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := int(offset) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}
