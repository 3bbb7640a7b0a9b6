package admin

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// schemaField is the description of a field, in the form of Kong's schemas.
type schemaField map[string]any

// sample is an entity with nothing but what is required, in a configuration that has
// what it refers to.
func (t *table) sample(e row) entity.Config {
	const id = "00000000-0000-4000-8000-000000000000"
	var config entity.Config
	for _, parent := range tables() {
		ref := e.ref(parent.kind)
		required := t.kind == entity.KindKey || t.kind == entity.KindTarget
		if ref == nil || (*ref == nil && !required) {
			continue
		}
		p := parent.blank()
		p.meta().ID = id
		p.setName("sample")
		if service, ok := p.entity.(*entity.Service); ok {
			service.Host = "sample"
		}
		if route, ok := p.entity.(*entity.Route); ok {
			route.Paths = []string{"/sample"}
		}
		parent.add(&config, p)
		*ref = &entity.Ref{ID: id}
	}
	t.add(&config, e)
	return config
}

// minimal is an entity with nothing but what is required.
func (t *table) minimal() row {
	e := t.blank()
	switch e := e.entity.(type) {
	case *entity.Service:
		e.Host = "sample"
	case *entity.Route:
		e.Paths = []string{"/sample"}
	case *entity.Consumer:
		e.Username = "sample"
	case *entity.Plugin:
		e.Name = "sample"
	case *entity.Key:
		e.Key = "sample"
	case *entity.Upstream:
		e.Name = "sample"
	case *entity.Target:
		e.Target = "sample:8000"
	}
	return e
}

// entitySchema describes the entities of a kind: the types of their fields, and the
// defaults that the gateway fills in.
func (t *table) entitySchema() (map[string]any, error) {
	given, full := reflect.ValueOf(t.minimal().entity).Elem(), t.minimal()
	if upstream, ok := full.entity.(*entity.Upstream); ok {
		upstream.Healthchecks = &entity.Healthchecks{} // whose parts have defaults
	}
	config, err := t.sample(full).Normalize()
	if err != nil {
		return nil, err
	}
	var filled reflect.Value
	for e := range t.rows(&config) {
		filled = reflect.ValueOf(e.entity).Elem()
	}
	fields := []map[string]schemaField{}
	for _, f := range structFields(given.Type()) {
		described := describe(f.Type, f.name)
		switch value := filled.FieldByIndex(f.Index); {
		case f.name == "id" || described["type"] == "foreign" || (f.blank && value.IsZero()):
		case !given.FieldByIndex(f.Index).IsZero():
			described["required"] = t.kind != entity.KindRoute && t.kind != entity.KindConsumer
		default:
			setDefault(described, value)
		}
		fields = append(fields, map[string]schemaField{f.name: described})
	}
	return map[string]any{"name": t.schema, "primary_key": []string{"id"}, "fields": fields}, nil
}

// setDefault describes the default of a field; that of a record is in its fields.
func setDefault(described schemaField, value reflect.Value) {
	for value.Kind() == reflect.Pointer {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		described["default"] = value.Interface()
		return
	}
	for i, f := range structFields(value.Type()) {
		if inner := value.FieldByIndex(f.Index); !f.blank || !inner.IsZero() {
			setDefault(described["fields"].([]map[string]schemaField)[i][f.name], inner)
		}
	}
}

// describe is the description of a type.
func describe(of reflect.Type, name string) schemaField {
	for of.Kind() == reflect.Pointer && of != reflect.TypeFor[*entity.Ref]() {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[*entity.Ref]():
		return schemaField{"type": "foreign", "reference": name + "s"}
	case of == reflect.TypeFor[json.RawMessage]():
		return schemaField{"type": "record", "required": true, "fields": []any{}}
	}
	switch of.Kind() {
	case reflect.Bool:
		return schemaField{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schemaField{"type": "integer"}
	case reflect.Float64:
		return schemaField{"type": "number"}
	case reflect.Slice:
		return schemaField{"type": "array", "elements": describe(of.Elem(), "")}
	case reflect.Map:
		return schemaField{"type": "map", "keys": schemaField{"type": "string"}, "values": describe(of.Elem(), "")}
	case reflect.Struct:
		fields := []map[string]schemaField{}
		for _, f := range structFields(of) {
			fields = append(fields, map[string]schemaField{f.name: describe(f.Type, f.name)})
		}
		return schemaField{"type": "record", "fields": fields}
	}
	if name == "id" {
		return schemaField{"type": "string", "uuid": true, "auto": true}
	}
	return schemaField{"type": "string"}
}

// tableNamed is the table that the path of a schema names.
func tableNamed(name string) (*table, error) {
	all := tables()
	if i := slices.IndexFunc(all, func(t *table) bool { return t.schema == name || t.plural == name }); i >= 0 {
		return all[i], nil
	}
	return nil, &problem{status: http.StatusNotFound, Message: "No entity named '" + name + "'"}
}

func (a *API) schema(w http.ResponseWriter, r *http.Request) error {
	t, err := tableNamed(r.PathValue("entity"))
	if err != nil {
		return err
	}
	schema, err := t.entitySchema()
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, schema)
	return nil
}

// validate checks an entity that is not stored. What it refers to is taken to be there.
func (a *API) validate(w http.ResponseWriter, r *http.Request) error {
	t, err := tableNamed(r.PathValue("entity"))
	if err != nil {
		return err
	}
	e := t.blank()
	data, err := readBody(r, reflect.TypeOf(e.entity))
	if err != nil {
		return err
	}
	if err := decodeEntity(data, e); err != nil {
		return undecodable(err)
	}
	if key, ok := e.entity.(*entity.Key); ok && key.Key == "" {
		key.Key = "sample"
	}
	if e.meta().ID == "" {
		e.meta().ID = "00000000-0000-4000-8000-000000000001" // so that errors are known to be about it
	}
	if err := a.store.gateway.Check(t.sample(e)); err != nil {
		if p := refused(err, e); p != nil {
			return p
		}
		return badRequest("%s", err)
	}
	writeJSON(w, http.StatusOK, map[string]string{"message": "schema validation successful"})
	return nil
}
