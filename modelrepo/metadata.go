package modelrepo

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// The bounds of the metadata of one namespace, model or version.
const (
	// MaxMetadataKeys is the most keys.
	MaxMetadataKeys = 64
	// MaxMetadataValues is the most values of a key.
	MaxMetadataValues = 32
	// MaxMetadataValue is the length of the longest value, in characters of Unicode.
	MaxMetadataValue = 1024
	// MaxMetadataSize is the size of the largest metadata in their JSON form, in bytes.
	// All that the other bounds allow fits, unless most characters take more than two
	// bytes or are escaped.
	MaxMetadataSize = 6 << 20
)

const metadataKeyRule = `^[\w-]{1,100}$`

var metadataKeys = regexp.MustCompile(metadataKeyRule)

// Metadata are values under keys that describe a namespace, a model or a version. A key
// has 1 to 100 ASCII letters, digits, hyphens and underscores.
//
// An update replaces the values of its keys; other keys stay. The values
// []string{[Unset]} remove a key, which is valid in an update only. A key without
// values has no effect. The single key [Unset], with any values, removes all metadata
// that was there before.
type Metadata map[string]Values

// Values are the values of a key of [Metadata], in order. The JSON form is a string for
// one value, and otherwise an array of strings.
type Values []string

// MarshalJSON implements [json.Marshaler].
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Values) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*v = Values{""}
		return json.Unmarshal(data, &(*v)[0])
	}
	var all []*string
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if all == nil || slices.Contains(all, nil) {
		return errNull
	}
	*v = make(Values, len(all))
	for i, text := range all {
		(*v)[i] = *text
	}
	return nil
}

// The reasons for which metadata are not read.
var (
	errNull = errors.New("modelrepo: a value is null")
	errText = errors.New("modelrepo: metadata are a text")
)

// MarshalJSON implements [json.Marshaler]. Metadata that removes everything and sets
// nothing is the text "@unset".
func (m Metadata) MarshalJSON() ([]byte, error) {
	if _, all := m[Unset]; all && len(m) == 1 {
		return json.Marshal(Unset)
	}
	return json.Marshal(map[string]Values(m))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Metadata) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var text string
		if json.Unmarshal(data, &text) != nil || text != Unset {
			return errText
		}
		*m = Metadata{Unset: nil}
		return nil
	}
	return json.Unmarshal(data, (*map[string]Values)(m))
}

const (
	validating = "Error validating the body of the request: "
	preUpdate  = "Pre-update check failed: "
	badKey     = "Invalid metadata key '%s' in 'metadata'. Metadata keys must match regex: %s"
)

// check refuses metadata that breaks the rules. It checks the keys in their order, so
// that the same body always gets the same answer.
func (m Metadata) check(op string, at Path, creating bool) error {
	bad := func(format string, args ...any) error {
		return refuse(op, at, ErrInvalid, validating+format, args...)
	}
	_, removesAll := m[Unset]
	switch {
	case removesAll && creating:
		return bad("'metadata' cannot be unset during creation")
	case removesAll && len(m) > 1:
		return bad("'metadata' cannot be unset and set in one update")
	case removesAll:
		return nil
	}
	set := 0
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values := m[key]
		switch {
		case !metadataKeys.MatchString(key):
			return bad(badKey, clipped(key), metadataKeyRule)
		case len(values) == 1 && values[0] == Unset && creating:
			return bad("'metadata.%s' cannot be unset during creation", key)
		case len(values) == 1 && values[0] == Unset:
			continue
		case len(values) > MaxMetadataValues:
			return bad("'metadata.%s' has too many values: %d, the most is %d", key, len(values), MaxMetadataValues)
		}
		for i, value := range values {
			switch length := utf8.RuneCountInString(value); {
			case value == Unset:
				return bad("'metadata.%s[%d]' cannot be unset on its own", key, i)
			case !utf8.ValidString(value):
				return bad("'metadata.%s', value %d, is not UTF-8", key, i)
			case length > MaxMetadataValue && len(values) == 1:
				return bad("'metadata.%s' is too long: it has %d characters, the most is %d",
					key, length, MaxMetadataValue)
			case length > MaxMetadataValue:
				return bad("'metadata.%s' is too long: its value [%d] has %d characters, the most is %d",
					key, i, length, MaxMetadataValue)
			}
		}
		if len(values) > 0 {
			set++
		}
	}
	if set > MaxMetadataKeys {
		return bad("Too many metadata keys in 'metadata': %d, the most is %d", set, MaxMetadataKeys)
	}
	return nil
}

// merged returns the metadata after an update, and whether they differ. It changes
// neither argument.
func (m Metadata) merged(op string, at Path, update Metadata, most int) (Metadata, bool, error) {
	if _, removesAll := update[Unset]; removesAll {
		return nil, len(m) > 0, nil
	}
	merged, changed := maps.Clone(m), false
	for key, values := range update {
		old, found := m[key]
		switch {
		case len(values) == 1 && values[0] == Unset:
			delete(merged, key)
			changed = changed || found
		case len(values) > 0 && !slices.Equal(old, values):
			if merged == nil {
				merged = Metadata{}
			}
			merged[key] = slices.Clone(values)
			changed = true
		}
	}
	if !changed {
		return m, false, nil
	}
	if len(merged) > MaxMetadataKeys {
		return nil, false, refuse(op, at, ErrInvalid,
			preUpdate+"the number of metadata keys would exceed the allowed limit: they would be %d, the most is %d.",
			len(merged), MaxMetadataKeys)
	}
	form, err := json.Marshal(merged)
	if err != nil {
		return nil, false, err
	}
	if len(form) > most {
		return nil, false, refuse(op, at, ErrTooLarge,
			preUpdate+"the metadata would be too large: they would take %d bytes, the most is %d.", len(form), most)
	}
	return merged, true, nil
}

// setMetadata merges metadata into a node.
func (t *tree) setMetadata(op string, at Path, n *node, update Metadata) (changed bool, err error) {
	merged, changed, err := n.Metadata.merged(op, at, update, t.limits.metadata())
	if changed {
		n.Metadata = merged
	}
	return changed, err
}

// describe checks the metadata of a new node and sets them.
func (t *tree) describe(op string, at Path, n *node, metadata Metadata) error {
	if err := metadata.check(op, at, true); err != nil {
		return err
	}
	_, err := t.setMetadata(op, at, n, metadata)
	return err
}
