package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
)

// ParseMetadata reads the value of an Upload-Metadata field (tus 1.0, extension
// creation): pairs separated by commas, each of a key, a space and a value in base64.
// The value may be absent.
func ParseMetadata(text string) (map[string]string, error) {
	pairs := map[string]string{}
	if strings.TrimSpace(text) == "" {
		return pairs, nil
	}
	if len(text) > modelrepo.MaxUploadMetadata {
		return nil, fmt.Errorf("parse Upload-Metadata: %w: it has more than %d bytes", modelrepo.ErrInvalid,
			modelrepo.MaxUploadMetadata)
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.Trim(pair, " "), " ")
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: a key is empty or not ASCII", modelrepo.ErrInvalid)
		}
		if _, twice := pairs[key]; twice {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: the key %.100q is there twice", modelrepo.ErrInvalid, key)
		}
		decoded, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, fmt.Errorf("parse Upload-Metadata: %w: the value of %.100q is not base64",
				modelrepo.ErrInvalid, key)
		}
		pairs[key] = string(decoded)
	}
	return pairs, nil
}
