package modelrepo

import (
	"encoding/base64"
	"fmt"
	"mime"
	"strings"
)

// contentTypeOf is the media type that an upload's metadata announces as
// "filetype" or "contentType"; empty if it says none.
func contentTypeOf(metadata string) (string, error) {
	pairs, err := parseMetadata(metadata)
	if err != nil {
		return "", malformed(err.Error())
	}
	for _, key := range []string{"contentType", "filetype"} {
		value := pairs[key]
		if value == "" {
			continue
		}
		if _, _, err := mime.ParseMediaType(value); err != nil || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return "", malformed(fmt.Sprintf("The '%s' in the 'Upload-Metadata' header is not a media type.", key))
		}
		return value, nil
	}
	return "", nil
}

// parseMetadata reads the value of an Upload-Metadata field (tus 1.0, extension
// creation): pairs separated by commas, each of a key and, behind a space, a
// value in base64. The value may be absent.
func parseMetadata(text string) (map[string]string, error) {
	pairs := map[string]string{}
	if strings.TrimSpace(text) == "" {
		return pairs, nil
	}
	if len(text) > maxMetadata {
		return nil, fmt.Errorf("parse Upload-Metadata: %w: it has more than %d bytes", ErrInvalid, maxMetadata)
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.Trim(pair, " "), " ")
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: a key is empty or not ASCII", ErrInvalid)
		}
		if _, twice := pairs[key]; twice {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: the key %.100q is there twice", ErrInvalid, key)
		}
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: the value of %.100q is not base64", ErrInvalid, key)
		}
		pairs[key] = string(decoded)
	}
	return pairs, nil
}
