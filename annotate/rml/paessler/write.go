package paessler

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// write appends a value as JSON text without white space, members by name.
func (d *document) write(dst []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return appendQuoted(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case *number:
		return append(dst, d.numbers[v]...)
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.write(dst, element)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = d.write(append(appendQuoted(dst, name), ':'), v[name])
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// appendQuoted appends a JSON string.
func appendQuoted(dst []byte, text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return append(dst, `""`...) // a string can always be encoded
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
