package entity

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// decodeNumbers reads JSON and keeps numbers as they are written.
func decodeNumbers(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is text after the value")
	}
	return value, nil
}
