package entity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Op is the operation of a change.
type Op string

// What changes do.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// Change is the change of one entity.
type Change struct {
	Op   Op   `json:"op"`
	Kind Kind `json:"kind"`
	// ID and Name identify the entity, as in [FieldError].
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Fields are the JSON names of the fields that an update changes, in order; the
	// members of a plugin's configuration are "config.…". Values are left out: they
	// may be secrets.
	Fields []string `json:"fields,omitempty"`
}

// String is a line such as "update route things-list: methods, paths".
func (c Change) String() string {
	text := fmt.Sprintf("%s %s %s", c.Op, c.Kind, cmp.Or(c.Name, c.ID))
	if len(c.Fields) > 0 {
		text += ": " + strings.Join(c.Fields, ", ")
	}
	return text
}

// Diff lists what has to be done to a gateway that serves one configuration for
// it to serve another one: updates and creations in the order in which references
// allow them, then deletions in the opposite order. Both configurations are
// normalised first; entities are the same if their kind and id are. Times of
// creation and of change do not count.
func Diff(from, to Config) ([]Change, error) {
	before, err := from.Normalize()
	if err != nil {
		return nil, fmt.Errorf("compare with the old configuration: %w", err)
	}
	after, err := to.Normalize()
	if err != nil {
		return nil, fmt.Errorf("compare with the new configuration: %w", err)
	}
	return before.diff(&after)
}

// diff is Diff of configurations that are normalised.
func (c *Config) diff(to *Config) ([]Change, error) {
	oldLists, newLists := c.identities(), to.identities()
	var changes, deletions []Change
	for i := range newLists {
		old := make(map[string]identity, len(oldLists[i]))
		for _, e := range oldLists[i] {
			old[e.meta.ID] = e
		}
		for _, e := range newLists[i] {
			was, existed := old[e.meta.ID]
			delete(old, e.meta.ID)
			if !existed {
				changes = append(changes, Change{Op: Create, Kind: e.kind, ID: e.meta.ID, Name: e.name})
				continue
			}
			fields, err := changedFields(was, e)
			if err != nil {
				return nil, fmt.Errorf("compare %s %q: %w", e.kind, cmp.Or(e.name, e.meta.ID), err)
			}
			if len(fields) > 0 {
				changes = append(changes, Change{Op: Update, Kind: e.kind, ID: e.meta.ID, Name: e.name, Fields: fields})
			}
		}
		for _, e := range slices.Backward(oldLists[i]) {
			if _, gone := old[e.meta.ID]; gone {
				deletions = append(deletions, Change{Op: Delete, Kind: e.kind, ID: e.meta.ID, Name: e.name})
			}
		}
	}
	slices.Reverse(deletions)
	return append(changes, deletions...), nil
}

// jsonFields are the fields of JSON of an entity.
func jsonFields(value any) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "created_at")
	delete(fields, "updated_at")
	if plugin, ok := value.(*Plugin); ok {
		delete(fields, "config")
		var config map[string]json.RawMessage
		if err := json.Unmarshal(plugin.Config, &config); err != nil {
			return nil, err
		}
		for key, member := range config {
			fields["config."+key] = member
		}
	}
	return fields, nil
}

// changedFields names the fields in which two entities differ.
func changedFields(was, is identity) ([]string, error) {
	if reflect.DeepEqual(was.entity, is.entity) { // as nearly all are
		return nil, nil
	}
	before, err := jsonFields(was.entity)
	if err != nil {
		return nil, err
	}
	after, err := jsonFields(is.entity)
	if err != nil {
		return nil, err
	}
	var changed []string
	for name, value := range after {
		if was, ok := before[name]; !ok || !bytes.Equal(was, value) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed, nil
}
