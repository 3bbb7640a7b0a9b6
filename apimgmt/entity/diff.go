package entity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Op is what a change does.
type Op string

// What changes do.
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// Change is what becomes of one entity.
type Change struct {
	Op   Op   `json:"op"`
	Kind Kind `json:"kind"`
	// ID and Name tell the entity, as in [FieldError].
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Fields are the JSON names of the fields that an update changes, in order; the
	// members of a plugin's configuration are "config.…". Values are not told: they
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
	oldLists, err := before.flat()
	if err != nil {
		return nil, err
	}
	newLists, err := after.flat()
	if err != nil {
		return nil, err
	}
	var changes, deletions []Change
	for i := range newLists {
		old := map[string]flatEntity{}
		for _, e := range oldLists[i] {
			old[e.id] = e
		}
		for _, e := range newLists[i] {
			was, existed := old[e.id]
			delete(old, e.id)
			if !existed {
				changes = append(changes, Change{Op: Create, Kind: e.kind, ID: e.id, Name: e.name})
			} else if fields := changedFields(was.fields, e.fields); len(fields) > 0 {
				changes = append(changes, Change{Op: Update, Kind: e.kind, ID: e.id, Name: e.name, Fields: fields})
			}
		}
		for _, e := range slices.Backward(oldLists[i]) {
			if _, gone := old[e.id]; gone {
				deletions = append(deletions, Change{Op: Delete, Kind: e.kind, ID: e.id, Name: e.name})
			}
		}
	}
	slices.Reverse(deletions)
	return append(changes, deletions...), nil
}

// flatEntity is an entity as its fields of JSON.
type flatEntity struct {
	kind     Kind
	id, name string
	fields   map[string]json.RawMessage
}

// flat lists the entities kind by kind, those that are referred to first.
func (c *Config) flat() ([][]flatEntity, error) {
	lists := c.identities()
	made := make([][]flatEntity, len(lists))
	for i, values := range [][]any{anys(c.Services), anys(c.Upstreams), anys(c.Targets), anys(c.Consumers), anys(c.Routes), anys(c.Plugins), anys(c.Keys)} {
		for j, value := range values {
			e := lists[i][j]
			fields, err := fieldsOf(value)
			if err != nil {
				return nil, fmt.Errorf("compare %s %q: %w", e.kind, cmp.Or(e.name, e.meta.ID), err)
			}
			made[i] = append(made[i], flatEntity{kind: e.kind, id: e.meta.ID, name: e.name, fields: fields})
		}
	}
	return made, nil
}

func anys[E any](list []E) []any {
	made := make([]any, len(list))
	for i, e := range list {
		made[i] = e
	}
	return made
}

func fieldsOf(value any) (map[string]json.RawMessage, error) {
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
	if plugin, ok := value.(Plugin); ok {
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

func changedFields(before, after map[string]json.RawMessage) []string {
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
	return changed
}
