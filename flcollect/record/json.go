package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// IDs of objects are those of Flower only if JSON is written as Python's json.dumps does: with a space
// after commas and colons, and ASCII only.

// appendReferences adds an object that maps names to IDs.
func appendReferences(b []byte, refs []Named[string]) ([]byte, error) {
	b = append(b, '{')
	for i, ref := range refs {
		if i > 0 {
			b = append(b, ", "...)
		}
		var err error
		if b, err = appendText(b, ref.Name); err != nil {
			return nil, err
		}
		b = append(b, ": "...)
		if b, err = appendText(b, ref.Value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendArrayBody adds the body of the object of an array.
func appendArrayBody(b []byte, a Array, indices []int) ([]byte, error) {
	b, err := appendText(append(b, `{"dtype": `...), a.DType)
	if err != nil {
		return nil, fmt.Errorf("element type: %w", err)
	}
	b = appendInts(append(b, `, "shape": `...), a.Shape)
	if b, err = appendText(append(b, `, "stype": `...), a.SType); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	b = appendInts(append(b, `, "arraychunk_ids": `...), indices)
	return append(b, '}'), nil
}

func appendInts(b []byte, numbers []int) []byte {
	b = append(b, '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, ']')
}

func appendText(b []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%q is not UTF-8", text)
	}
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r <= '~':
			b = append(b, byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"'), nil
}

// parseReferences reads an object that maps at most limit names to IDs, in its order.
func parseReferences(body flower.Blob, limit int) ([]Named[string], error) {
	decoder := json.NewDecoder(newBlobReader(body))
	if err := expect(decoder, json.Delim('{')); err != nil {
		return nil, err
	}
	var refs []Named[string]
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		id, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		text, ok := id.(string)
		if !ok || !IsID(text) {
			return nil, fmt.Errorf("member %q is not an ID of an object", name)
		}
		if len(refs) == limit {
			return nil, fmt.Errorf("%w: more than %d members", ErrLimit, limit)
		}
		refs = append(refs, Named[string]{name.(string), text})
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return nil, err
	}
	if err := ended(decoder); err != nil {
		return nil, err
	}
	return refs, unique(refs)
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%v in place of %q", token, want.String())
	}
	return err
}

func ended(decoder *json.Decoder) error {
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// longestArrayBody bounds the body of the object of an array, in bytes.
const longestArrayBody = 1 << 20

// maxAxes bounds the axes of an array, as NumPy does.
const maxAxes = 64

// parseArrayBody reads the body of the object of an array.
func parseArrayBody(body flower.Blob) (a Array, indices []int, err error) {
	if n := body.Len(); n > longestArrayBody {
		return Array{}, nil, fmt.Errorf("%w: the body has %d bytes, more than %d", ErrLimit, n, longestArrayBody)
	}
	var form struct {
		DType   *string `json:"dtype"`
		Shape   *[]int  `json:"shape"`
		SType   *string `json:"stype"`
		Indices *[]int  `json:"arraychunk_ids"`
	}
	decoder := json.NewDecoder(newBlobReader(body))
	if err := decoder.Decode(&form); err != nil {
		return Array{}, nil, err
	}
	if err := ended(decoder); err != nil {
		return Array{}, nil, err
	}
	if form.DType == nil || form.Shape == nil || form.SType == nil || form.Indices == nil {
		return Array{}, nil, errors.New("dtype, shape, stype or arraychunk_ids is missing")
	}
	if err := checkShape(*form.Shape); err != nil {
		return Array{}, nil, err
	}
	return Array{DType: *form.DType, Shape: *form.Shape, SType: *form.SType}, *form.Indices, nil
}

func checkShape(shape []int) error {
	if len(shape) > maxAxes {
		return fmt.Errorf("%w: %d axes, at most %d", ErrLimit, len(shape), maxAxes)
	}
	for _, n := range shape {
		if n < 0 {
			return fmt.Errorf("an axis has the length %d", n)
		}
	}
	return nil
}

func newBlobReader(b flower.Blob) io.Reader {
	readers := make([]io.Reader, len(b))
	for i, chunk := range b {
		readers[i] = bytes.NewReader(chunk)
	}
	return io.MultiReader(readers...)
}
