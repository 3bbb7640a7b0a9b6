package modelrepo

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// fields are the fields that a body can have, each with what reads it. A fault
// is a sentence for the client, empty if there is none.
type fields map[string]func(raw json.RawMessage) (fault string)

const malformedText = "Request content was malformed."

// decodeUpdate reads the JSON object that creates or changes something. The
// updates for a document database that the original interface declares, and
// never meant for clients, are accepted and ignored; other fields are refused,
// so that nobody believes they were stored. A field that is null is not there. The
// fault is that of the first field by name.
func decodeUpdate(data []byte, known fields) (fault string) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil || !utf8.Valid(data) {
		return malformedText
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		found, raw := "", object[name]
		read, isKnown := known[name]
		switch {
		case isKnown && string(raw) == "null":
		case isKnown:
			found = read(raw)
		case name != "mongoUpdates" && name != "docstoreUpdates":
			found = fmt.Sprintf(validating+"'%.100s' is not a known field", name)
		}
		if fault == "" {
			fault = found
		}
	}
	return fault
}

// textField reads a string that is not empty.
func textField(name string, to *string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		if err := json.Unmarshal(raw, to); err != nil || *to == "" {
			*to = ""
			return fmt.Sprintf(validating+"'%s' is in invalid format", name)
		}
		return ""
	}
}

// metadataField reads metadata. Their own rules are checked later.
func metadataField(to *Metadata) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		if err := json.Unmarshal(raw, to); err != nil {
			*to = nil
			return metadataFault(raw)
		}
		if _, found := (*to)[Unset]; found && raw[0] == '{' {
			*to = nil
			return fmt.Sprintf(validating+badKey, Unset, metadataKeyRule)
		}
		return ""
	}
}

// metadataFault says what in metadata is not as it should be.
func metadataFault(raw json.RawMessage) string {
	const expected = malformedText + " '%s' must be a string or an array of strings."
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return malformedText + " 'metadata' must be an object."
	}
	first := ""
	for key, value := range object {
		if json.Unmarshal(value, new(Values)) != nil && (first == "" || key < first) {
			first = key
		}
	}
	return fmt.Sprintf(expected, "metadata."+clipped(first))
}

// clipped is the text, or the beginning of it.
func clipped(text string) string { return fmt.Sprintf("%.120s", text) }

// aliasesField reads aliases.
func aliasesField(to *map[string]string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		var values map[string]*string
		if err := json.Unmarshal(raw, &values); err != nil {
			return validating + "'aliases' is in invalid format"
		}
		*to = make(map[string]string, len(values))
		for name, value := range values {
			if value == nil || *value == "" {
				*to = nil
				return fmt.Sprintf(validating+"'aliases.%s' is in invalid format", clipped(name))
			}
			(*to)[name] = *value
		}
		return ""
	}
}

// trueField reads the only value that a flag can be given.
func trueField(name string, to *bool) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		if string(raw) != "true" {
			return fmt.Sprintf(validating+"'%s' can only be set to true", name)
		}
		*to = true
		return ""
	}
}
