package modelrepo

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// decodeUpdate reads the JSON object that creates or changes something. It has
// one field of ours, a string. The updates for a document database that the
// original interface declares, and never meant for clients, are accepted and
// ignored; other fields are refused, so that nobody believes they were stored.
// The fault is a sentence for the client, empty if there is none.
func decodeUpdate(data []byte, field string) (value, fault string) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return "", "Request content was malformed."
	}
	for name, raw := range object {
		switch name {
		case field:
			if bytes.Equal(raw, []byte("null")) {
				continue
			}
			if err := json.Unmarshal(raw, &value); err != nil || value == "" {
				return "", fmt.Sprintf("Error validating the body of the request: '%s' is in invalid format", field)
			}
		case "mongoUpdates", "docstoreUpdates":
		default:
			return "", fmt.Sprintf("Error validating the body of the request: '%.100s' is not a known field", name)
		}
	}
	return value, ""
}
