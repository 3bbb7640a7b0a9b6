package definition

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Redacted returns the file as it may be shown to users: in extensions (members
// that begin with "x-"), every member that [entity.IsSecret] says is a secret
// has [entity.Redaction] for its text, and so have headers and passwords of
// addresses there. It is valid still, JSON or YAML as it was, with its members in
// their order. It is written anew: comments, which may have secrets, are left out,
// and what aliases of YAML stand for is written out.
//
// Secrets in descriptions, examples and schemas are not found: those are what the
// author wrote to be read.
func (d *Definition) Redacted() ([]byte, error) {
	shown := d.root.Edit(func(keys []string, text string) string {
		extension := -1
		for i, key := range keys {
			if strings.HasPrefix(key, "x-") {
				extension = i
				break
			}
		}
		if extension < 0 || text == "" {
			return text
		}
		for _, key := range keys[extension:] {
			// The name of a plugin such as key-auth is not that of a secret.
			if !strings.HasPrefix(key, "x-kong-") && entity.IsSecret(key) {
				return secretText(text)
			}
		}
		return entity.RedactText(text)
	})
	var made bytes.Buffer
	if err := shown.Write(&made, d.format); err != nil {
		return nil, fmt.Errorf("redact a definition: %w", err)
	}
	return made.Bytes(), nil
}

// secretText leaves references to a vault readable.
func secretText(text string) string {
	if strings.HasPrefix(text, "{vault://") && strings.HasSuffix(text, "}") {
		return text
	}
	return entity.Redaction
}
