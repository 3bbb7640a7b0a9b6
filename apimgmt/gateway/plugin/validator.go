package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// RequestValidator is the kind "request-validator": it refuses requests whose
// parameters or body are not as an API definition demands, with 400 and a message that
// names the parameter or the place in the body. Bodies of JSON, and of forms without
// objects in them, are read for that; others are checked for their type only.
//
// Either an operation of OpenAPI:
//
//	definition  the operation object
//	components  the components object that its references lead to
//
// which definition.Convert fills in. Schemas are those of OpenAPI 3.0, as which Convert
// writes what it can of 3.1; what only 3.1 has, such as prefixItems, is an error.
//
// or what Kong has:
//
//	body_schema            JSON Schema, as an object or as text of it
//	parameter_schema       a list of {name, in, required, schema, style, explode}
//	allowed_content_types  of bodies; application/json by default
//	version                draft4; schemas in Kong's own form are not supported
//
// and for both:
//
//	max_body          the greatest body that is read, in bytes; 1 MiB by default, 16 MiB at most
//	verbose_response  whether the message says what is wrong; true by default
//
// A query or a header that has a parameter twice is refused unless it is a list,
// as is JSON that has a member twice: the service might take the other one. Path
// parameters are the named groups of the route's expression, in the order of the path
// if two names differ only in what a group cannot have.
func RequestValidator() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "request-validator",
		Summary:  "requests are checked against a definition",
		Priority: 999,
	}, newValidatorConfig, compileValidator)
}

type validatorConfig struct {
	Definition json.RawMessage `json:"definition" about:"The operation object of an OpenAPI definition"`
	Components json.RawMessage `json:"components" about:"The components object that its references lead to"`

	BodySchema          json.RawMessage   `json:"body_schema" about:"JSON Schema of the body, in place of a definition"`
	ParameterSchema     []parameterSchema `json:"parameter_schema" about:"A list of {name, in, required, schema, style, explode}"`
	AllowedContentTypes []string          `json:"allowed_content_types" about:"Media types of bodies; application/json by default"`
	Version             string            `json:"version" schema:"one_of=draft4" about:"Form of the schemas"`

	MaxBody         int64 `json:"max_body" schema:"between=1..16777216" about:"The longest body that is read, in bytes"`
	VerboseResponse bool  `json:"verbose_response" about:"Refusals say what is wrong"`
}

// parameterSchema is a parameter as Kong writes it.
type parameterSchema struct {
	Name     string          `json:"name"`
	In       string          `json:"in"`
	Required bool            `json:"required"`
	Style    string          `json:"style"`
	Explode  *bool           `json:"explode"`
	Schema   json.RawMessage `json:"schema"`
}

// validator is a compiled configuration.
type validator struct {
	route   *routers.Route
	options *openapi3filter.Options
	scalars []scalar
	groups  map[string]string // of the route's expression, by path parameter
	maxBody int64
	verbose bool
}

// scalar is a parameter that can be there once only.
type scalar struct{ in, name string }

const greatestBody = 16 << 20

// newValidatorConfig is a configuration with its defaults.
func newValidatorConfig() *validatorConfig {
	return &validatorConfig{MaxBody: 1 << 20, VerboseResponse: true, Version: "draft4"}
}

func compileValidator(c *validatorConfig, _ gateway.Setup) (gateway.Plugin, error) {
	if c.MaxBody < 1 || c.MaxBody > greatestBody {
		return gateway.Plugin{}, fmt.Errorf("config.max_body: %d is not between 1 and %d", c.MaxBody, greatestBody)
	}
	operation, field, err := c.operation()
	if err != nil {
		return gateway.Plugin{}, err
	}
	v := &validator{maxBody: c.MaxBody, verbose: c.VerboseResponse}
	if v.route, err = load(operation, c.Components); err != nil {
		return gateway.Plugin{}, fmt.Errorf("config.%s: %w", field, err)
	}
	v.options = &openapi3filter.Options{ExcludeRequestBody: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}
	v.groups = groups(v.route.Operation.Parameters)
	for _, p := range v.route.Operation.Parameters {
		if isScalar(p.Value) {
			v.scalars = append(v.scalars, scalar{p.Value.In, p.Value.Name})
		}
	}
	return gateway.Plugin{Access: v.access}, nil
}

// operation returns the operation object of a configuration, and the field that it
// comes from.
func (c *validatorConfig) operation() (_ json.RawMessage, field string, err error) {
	kong := !absent(c.BodySchema) || len(c.ParameterSchema) > 0
	switch {
	case !absent(c.Definition) && kong:
		return nil, "", errors.New("config.definition: cannot be used with body_schema or parameter_schema")
	case !absent(c.Definition):
		return withResponse(c.Definition)
	case !kong:
		return nil, "", errors.New("config.definition: it is required, or body_schema or parameter_schema")
	case c.Version != "draft4":
		return nil, "", fmt.Errorf("config.version: %q is not supported, only draft4 is", c.Version)
	case !absent(c.Components):
		return nil, "", errors.New("config.components: is for definition")
	}
	made := map[string]any{}
	var parameters []map[string]any
	for i, p := range c.ParameterSchema {
		schema, err := unquoted(p.Schema)
		if err != nil {
			return nil, "", fmt.Errorf("config.parameter_schema: %d: schema: %w", i, err)
		}
		parameter := map[string]any{"name": p.Name, "in": p.In, "required": p.Required}
		if schema != nil {
			parameter["schema"] = schema
		}
		if p.Style != "" {
			parameter["style"] = p.Style
		}
		if p.Explode != nil {
			parameter["explode"] = *p.Explode
		}
		parameters = append(parameters, parameter)
	}
	made["parameters"] = parameters
	field = "parameter_schema"
	if !absent(c.BodySchema) {
		schema, err := unquoted(c.BodySchema)
		if err != nil {
			return nil, "", fmt.Errorf("config.body_schema: %w", err)
		}
		content := map[string]any{}
		for _, kind := range c.AllowedContentTypes {
			content[kind] = map[string]any{"schema": schema}
		}
		if len(content) == 0 {
			content["application/json"] = map[string]any{"schema": schema}
		}
		made["requestBody"], field = map[string]any{"required": true, "content": content}, "body_schema"
	}
	text, err := json.Marshal(made)
	if err != nil {
		return nil, "", fmt.Errorf("config.%s: %w", field, err)
	}
	operation, _, err := withResponse(text)
	return operation, field, err
}

func absent(text json.RawMessage) bool { return len(text) == 0 || string(text) == "null" }

// unquoted is a schema that may be given as a string.
func unquoted(text json.RawMessage) (json.RawMessage, error) {
	if absent(text) {
		return nil, nil
	}
	var quoted string
	if json.Unmarshal(text, &quoted) == nil {
		text = json.RawMessage(quoted)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, errors.New("it is not a JSON Schema; Kong's own form is not supported")
	}
	return text, nil
}

// withResponse gives an operation what a document must have, and nothing that is of
// no use here: responses, security, servers.
func withResponse(operation json.RawMessage) (_ json.RawMessage, field string, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(operation, &members); err != nil || members == nil {
		return nil, "", errors.New("config.definition: it is not an object")
	}
	if members["$ref"] != nil {
		return nil, "", errors.New("config.definition: a reference; the operation itself is required")
	}
	kept := map[string]json.RawMessage{"responses": json.RawMessage(`{"default":{"description":"any"}}`)}
	for _, name := range []string{"parameters", "requestBody"} {
		if !absent(members[name]) {
			kept[name] = members[name]
		}
	}
	text, err := json.Marshal(kept)
	return text, "definition", err
}

// load creates a document of an operation. Its path stands for any: path parameters
// are those that the operation has.
func load(operation, components json.RawMessage) (*routers.Route, error) {
	var named struct {
		Parameters []struct {
			Ref  string `json:"$ref"`
			Name string `json:"name"`
			In   string `json:"in"`
		} `json:"parameters"`
	}
	if err := json.Unmarshal(operation, &named); err != nil {
		return nil, errors.New("parameters: they are not a list of objects")
	}
	document := func(path string) map[string]any {
		d := map[string]any{
			"openapi": "3.0.3", "info": map[string]string{"title": "request-validator", "version": "1"},
			"paths": map[string]any{path: map[string]any{"post": operation}},
		}
		if !absent(components) {
			d["components"] = components
		}
		return d
	}
	read := func(path string) (*openapi3.T, error) {
		text, err := json.Marshal(document(path))
		if err != nil {
			return nil, err
		}
		return openapi3.NewLoader().LoadFromData(text) // which follows no reference to elsewhere
	}
	spec, err := read("/")
	if err != nil {
		return nil, err
	}
	path := ""
	for _, p := range spec.Paths.Value("/").Post.Parameters {
		if p.Value != nil && p.Value.In == openapi3.ParameterInPath {
			path += "/{" + p.Value.Name + "}"
		}
	}
	path = cmp.Or(path, "/")
	if spec, err = read(path); err != nil {
		return nil, err
	}
	if err := spec.Validate(context.Background(), openapi3.DisableExamplesValidation(),
		openapi3.DisableSchemaDefaultsValidation()); err != nil {
		return nil, err
	}
	item := spec.Paths.Value(path)
	return &routers.Route{Spec: spec, Path: path, PathItem: item, Method: http.MethodPost, Operation: item.Post}, nil
}

// isScalar reports whether a parameter is neither list nor object.
func isScalar(p *openapi3.Parameter) bool {
	if (p.In != openapi3.ParameterInQuery && p.In != openapi3.ParameterInHeader) || p.Schema == nil || p.Schema.Value == nil {
		return false
	}
	types := p.Schema.Value.Type
	return types != nil && !types.IsEmpty() && !slices.ContainsFunc(types.Slice(),
		func(t string) bool { return t == openapi3.TypeArray || t == openapi3.TypeObject })
}

// groups are the names that path parameters, in the order of the path, have as groups
// of an expression, in which only letters, digits and underscores can be. They are
// those that definition.Convert gives.
func groups(parameters openapi3.Parameters) map[string]string {
	const longest = 31
	made, taken := map[string]string{}, map[string]bool{}
	for _, p := range parameters {
		if p.Value.In != openapi3.ParameterInPath {
			continue
		}
		name := []byte(p.Value.Name)
		for i, c := range name {
			if !alphanumeric(c) && c != '_' {
				name[i] = '_'
			}
		}
		if len(name) > 0 && name[0] >= '0' && name[0] <= '9' {
			name = append([]byte("_"), name...)
		}
		name = name[:min(len(name), longest)]
		unique := string(name)
		for n := 2; taken[unique]; n++ {
			number := "_" + strconv.Itoa(n)
			unique = string(name[:min(len(name), longest-len(number))]) + number
		}
		taken[unique] = true
		made[p.Value.Name] = unique
	}
	return made
}
