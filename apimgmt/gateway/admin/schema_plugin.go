package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// pluginSchema describes a kind of plugin and what its configuration may hold, in the
// form of Kong's schemas: clients fill defaults in from it before they compare. What
// fields need of each other is not described; validate says what is wrong.
func (a *API) pluginSchema(w http.ResponseWriter, r *http.Request) error {
	kind, ok := a.store.gateway.Kind(r.PathValue("name"))
	if !ok {
		return &problem{status: http.StatusNotFound, Message: "No plugin named '" + r.PathValue("name") + "'"}
	}
	config := schemaField{"type": "record", "required": true, "fields": kindFields(kind)}
	fields := []map[string]schemaField{
		{"protocols": {"type": "set", "required": true, "default": []string{"grpc", "grpcs", "http", "https"},
			"elements": schemaField{"type": "string"}}},
	}
	if !kind.NoConsumer {
		fields = append(fields, map[string]schemaField{"consumer": {"type": "foreign", "reference": "consumers"}})
	}
	fields = append(fields, map[string]schemaField{"service": {"type": "foreign", "reference": "services"}},
		map[string]schemaField{"route": {"type": "foreign", "reference": "routes"}}, map[string]schemaField{"config": config})
	writeJSON(w, http.StatusOK, map[string]any{"fields": fields})
	return nil
}

// kindFields describes the configuration of a kind.
func kindFields(kind gateway.Kind) []map[string]schemaField {
	if kind.Config == nil {
		return []map[string]schemaField{}
	}
	return configFields(reflect.ValueOf(kind.Config()).Elem())
}

// configFields describes the fields of a configuration that has its defaults. A default
// that is nothing is left out, except false.
func configFields(config reflect.Value) []map[string]schemaField {
	fields := []map[string]schemaField{}
	for _, f := range structFields(config.Type()) {
		if !f.IsExported() || f.name == "" || f.Tag.Get("schema") == "-" {
			continue
		}
		value := config.FieldByIndex(f.Index)
		for value.Kind() == reflect.Pointer && !value.IsNil() {
			value = value.Elem()
		}
		described := configField(f.Type)
		switch {
		case value.Kind() == reflect.Struct:
			described = schemaField{"type": "record", "required": true, "fields": configFields(value)}
		case value.Kind() == reflect.Bool, !value.IsZero():
			described["default"] = value.Interface()
		}
		if entity.IsSecret(f.name) {
			described["encrypted"] = true
		}
		describeRules(described, f.Tag)
		fields = append(fields, map[string]schemaField{f.name: described})
	}
	return fields
}

// describeRules adds what the tags of a field say, see gateway.Kind.
func describeRules(described schemaField, tag reflect.StructTag) {
	if about := tag.Get("about"); about != "" {
		described["description"] = about
	}
	for _, rule := range strings.Split(tag.Get("schema"), ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(rule), "=")
		switch name {
		case "required", "unsupported":
			described[name] = true
		case "one_of":
			described["one_of"] = strings.Split(value, "|")
		case "between":
			low, high, _ := strings.Cut(value, "..")
			described["between"] = []json.Number{json.Number(low), json.Number(high)}
		}
	}
}

// configField is the description of a type. One of any JSON is Kong's type json.
func configField(of reflect.Type) schemaField {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[json.RawMessage]():
		return schemaField{"type": "json"}
	case of.Kind() == reflect.Slice:
		return schemaField{"type": "array", "elements": configField(of.Elem())}
	case of.Kind() == reflect.Struct:
		return schemaField{"type": "record", "fields": configFields(reflect.New(of).Elem())}
	}
	return describe(of, "")
}

// filled is a plugin as Kong shows it: its configuration has every field of the schema,
// those that were not given with their defaults or null. Only what is stored counts.
type filled struct {
	plugin *entity.Plugin
	kind   gateway.Kind
}

// shown is an entity as the API shows it.
func (a *API) shown(e row) json.Marshaler {
	if plugin, ok := e.entity.(*entity.Plugin); ok {
		if kind, ok := a.store.gateway.Kind(plugin.Name); ok && kind.Config != nil {
			return filled{plugin, kind}
		}
	}
	return e
}

// MarshalJSON fills the configuration in.
func (f filled) MarshalJSON() ([]byte, error) {
	shown := *f.plugin
	given := map[string]json.RawMessage{}
	if len(shown.Config) > 0 {
		if err := json.Unmarshal(shown.Config, &given); err != nil {
			return nil, err
		}
	}
	if given["config"] == nil { // which is how the whole form of an extension begins
		whole, err := json.Marshal(fillIn(kindFields(f.kind), given))
		if err != nil {
			return nil, err
		}
		shown.Config = whole
	}
	return row{&shown}.MarshalJSON()
}

// fillIn adds to what is given the fields of a schema that are not.
func fillIn(fields []map[string]schemaField, given map[string]json.RawMessage) map[string]any {
	made := map[string]any{}
	for name, value := range given {
		made[name] = value
	}
	for _, field := range fields {
		for name, described := range field {
			value, ok := given[name]
			absent := !ok || string(value) == "null"
			if inner, isRecord := described["fields"].([]map[string]schemaField); isRecord {
				members := map[string]json.RawMessage{}
				if absent || json.Unmarshal(value, &members) == nil {
					made[name] = fillIn(inner, members)
				}
			} else if absent {
				made[name] = described["default"]
			}
		}
	}
	return made
}
