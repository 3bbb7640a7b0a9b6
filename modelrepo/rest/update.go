package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/iotenablers/enablers/modelrepo"
)

// fields are the members that a body can have, each with the function that reads it. A
// fault is a sentence for the client, or "".
type fields map[string]func(raw json.RawMessage) (fault string)

// The beginnings of the sentences about invalid bodies.
const (
	invalidBody   = "Error validating the body of the request: "
	badKeyText    = "Invalid metadata key '%s' in 'metadata'. Metadata keys must match regex: ^[\\w-]{1,100}$"
	malformedText = "Request content was malformed."
)

// decodeUpdate reads the JSON object of a creation or an update. The members
// mongoUpdates and docstoreUpdates of the original interface are ignored; other unknown
// members are refused, because they would not be stored. A member that is null counts
// as absent. The fault is that of the first member by name.
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
			found = fmt.Sprintf(invalidBody+"'%.100s' is not a known field", name)
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
			return fmt.Sprintf(invalidBody+"'%s' is in invalid format", name)
		}
		return ""
	}
}

// metadataField reads metadata. The store checks the rules for metadata.
func metadataField(to *modelrepo.Metadata) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		if err := json.Unmarshal(raw, to); err != nil {
			*to = nil
			return metadataFault(raw)
		}
		if _, found := (*to)[modelrepo.Unset]; found && raw[0] == '{' {
			*to = nil
			return fmt.Sprintf(invalidBody+badKeyText, modelrepo.Unset)
		}
		return ""
	}
}

// metadataFault returns what is wrong with metadata.
func metadataFault(raw json.RawMessage) string {
	const expected = malformedText + " 'metadata.%.120s' must be a string or an array of strings."
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return malformedText + " 'metadata' must be an object."
	}
	first := ""
	for key, value := range object {
		if json.Unmarshal(value, new(modelrepo.Values)) != nil && (first == "" || key < first) {
			first = key
		}
	}
	return fmt.Sprintf(expected, first)
}

// aliasesField reads aliases.
func aliasesField(to *map[string]string) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		var values map[string]*string
		if err := json.Unmarshal(raw, &values); err != nil {
			return invalidBody + "'aliases' is in invalid format"
		}
		*to = make(map[string]string, len(values))
		for name, value := range values {
			if value == nil || *value == "" {
				*to = nil
				return fmt.Sprintf(invalidBody+"'aliases.%.120s' is in invalid format", name)
			}
			(*to)[name] = *value
		}
		return ""
	}
}

// trueField reads a flag that can only be set.
func trueField(name string, to *bool) func(json.RawMessage) string {
	return func(raw json.RawMessage) string {
		if string(raw) != "true" {
			return fmt.Sprintf(invalidBody+"'%s' can only be set to true", name)
		}
		*to = true
		return ""
	}
}

// updateBody is a body that creates or changes a namespace, a model or a version.
type updateBody interface {
	// fields returns the members that the body can have.
	fields() fields
	// empty reports whether the body asks for no change.
	empty() bool
}

// The bodies of the interface.
type (
	namespaceBody modelrepo.NamespaceUpdate
	modelBody     modelrepo.ModelUpdate
	versionBody   modelrepo.VersionUpdate
)

func (u *namespaceBody) fields() fields { return fields{"metadata": metadataField(&u.Metadata)} }

func (u *namespaceBody) empty() bool { return len(u.Metadata) == 0 }

func (u *modelBody) fields() fields {
	return fields{
		"latestVersion": textField("latestVersion", &u.LatestVersion),
		"aliases":       aliasesField(&u.Aliases),
		"metadata":      metadataField(&u.Metadata),
	}
}

func (u *modelBody) empty() bool {
	return u.LatestVersion == "" && len(u.Aliases) == 0 && len(u.Metadata) == 0
}

func (u *versionBody) fields() fields {
	return fields{
		"defaultFormat": textField("defaultFormat", &u.DefaultFormat),
		"immutable":     trueField("immutable", &u.Immutable),
		"metadata":      metadataField(&u.Metadata),
	}
}

func (u *versionBody) empty() bool {
	return u.DefaultFormat == "" && !u.Immutable && len(u.Metadata) == 0
}
