package storage

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Bounds that every driver can keep.
const (
	// MaxKeyLength is the greatest length of a key in bytes. It is half of the
	// limit of S3 for object names, so that a driver can encode keys and add a
	// prefix of its own.
	MaxKeyLength = 512
	// MaxDataSize is the greatest length of a document in bytes, 8 MiB: half of
	// the limit of MongoDB. Larger data is stored as a blob.
	MaxDataSize = 8 << 20
)

// ValidKey returns nil if every driver accepts the key, and otherwise an error
// that matches [ErrInvalidKey] and has the reason. A key is valid UTF-8 of 1 to
// [MaxKeyLength] bytes without control characters (Unicode category Cc, which
// holds NUL, line breaks and DEL). Everything else is allowed, the slash and
// the dot at any place included: keys are never paths.
func ValidKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case len(key) > MaxKeyLength:
		return fmt.Errorf("%w: it has %d bytes, the most is %d", ErrInvalidKey, len(key), MaxKeyLength)
	}
	for at, r := range key {
		if r == utf8.RuneError {
			if _, width := utf8.DecodeRuneInString(key[at:]); width == 1 {
				return fmt.Errorf("%w: byte %d is not UTF-8", ErrInvalidKey, at)
			}
		}
		if unicode.IsControl(r) {
			return fmt.Errorf("%w: byte %d begins the control character %U", ErrInvalidKey, at, r)
		}
	}
	return nil
}

// ValidData returns nil if every driver accepts the bytes as a document, and
// otherwise an error that matches [ErrInvalidData] and has the reason. Data is
// one JSON value (RFC 8259) in UTF-8 of at most [MaxDataSize] bytes; "null" is
// a document, empty data is not.
func ValidData(data []byte) error {
	switch {
	case len(data) == 0:
		return fmt.Errorf("%w: it is empty", ErrInvalidData)
	case len(data) > MaxDataSize:
		return fmt.Errorf("%w: it has %d bytes, the most is %d", ErrInvalidData, len(data), MaxDataSize)
	case !utf8.Valid(data):
		return fmt.Errorf("%w: it is not UTF-8", ErrInvalidData)
	case !json.Valid(data):
		return fmt.Errorf("%w: it is not one JSON value", ErrInvalidData)
	}
	return nil
}

// checkListing returns an error unless each of the texts is empty or a valid
// key.
func checkListing(texts ...string) error {
	for _, text := range texts {
		if text == "" {
			continue
		}
		if err := ValidKey(text); err != nil {
			return err
		}
	}
	return nil
}

// failed puts the verb and the key before the cause. The precision keeps every
// valid key whole and bounds the length of an invalid one in logs.
func failed(verb, key string, cause error) error {
	return fmt.Errorf("%s %.*q: %w", verb, MaxKeyLength, key, cause)
}
