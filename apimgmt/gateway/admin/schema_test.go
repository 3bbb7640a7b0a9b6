package admin_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
)

// fieldSchema is a field in the form of Kong's schemas.
type fieldSchema struct {
	Type      string
	Required  bool
	Encrypted bool
	Default   any
	Elements  *fieldSchema
	Fields    []map[string]fieldSchema
}

func named(fields []map[string]fieldSchema) map[string]fieldSchema {
	made := map[string]fieldSchema{}
	for _, f := range fields {
		maps.Copy(made, f)
	}
	return made
}

// defaults is a configuration as clients of Kong fill it: a field without a default
// is null.
func defaults(fields []map[string]fieldSchema) map[string]any {
	made := map[string]any{}
	for name, f := range named(fields) {
		made[name] = f.Default
		if f.Type == "record" {
			made[name] = defaults(f.Fields)
		}
	}
	return made
}

func TestAPI_schemas_listThePluginFields(t *testing.T) {
	c := newClient(t)
	needed := map[string]map[string]any{ // what has no default
		"acl": {"allow": []string{"a"}}, "ip-restriction": {"allow": []string{"192.0.2.1"}}, "rate-limiting": {"minute": 5},
		"oidc": {"discovery": "https://idm.example/d", "bearer_only": true}, "request-validator": {"body_schema": `{"type": "object"}`},
		"deprecation": {"at": "2026-01-01T00:00:00Z"},
	}
	configs := map[string]map[string]fieldSchema{}
	for _, k := range plugin.Kinds() {
		kind := k.Name
		data, err := json.Marshal(c.do(http.MethodGet, "/schemas/plugins/"+kind, nil, http.StatusOK))
		require.NoError(t, err)
		var schema struct{ Fields []map[string]fieldSchema }
		require.NoError(t, json.Unmarshal(data, &schema))
		config := named(schema.Fields)["config"]
		require.Equal(t, "record", config.Type)
		require.NotEmpty(t, config.Fields, kind)
		configs[kind] = named(config.Fields)
		// Filled in, it is a configuration that the gateway takes.
		filled := defaults(config.Fields)
		maps.Copy(filled, needed[kind])
		c.do(http.MethodPost, "/schemas/plugins/validate", object{"name": kind, "config": filled}, http.StatusOK)
	}
	require.Equal(t, fieldSchema{Type: "array", Default: []any{"apikey"}, Elements: &fieldSchema{Type: "string"}},
		configs["key-auth"]["key_names"])
	require.Equal(t, fieldSchema{Type: "integer"}, configs["rate-limiting"]["minute"])
	require.Equal(t, fieldSchema{Type: "integer", Default: 429.0}, configs["rate-limiting"]["error_code"])
	require.Equal(t, fieldSchema{Type: "boolean", Default: false}, configs["acl"]["hide_groups_header"])
	require.Equal(t, fieldSchema{Type: "number"}, configs["cors"]["max_age"])
	require.True(t, configs["oidc"]["client_secret"].Encrypted)
	require.Equal(t, []string{"body", "headers", "querystring", "uri"},
		slices.Sorted(maps.Keys(named(configs["request-transformer"]["replace"].Fields))))
	require.NotContains(t, configs["rate-limiting"], "redis", "there is no such policy")
	c.do("POST", "/plugins", object{"name": "key-auth", "config": object{"realm": "r"}}, 201)
	shown := c.do("GET", "/plugins", nil, 200)["data"].([]any)[0].(object)["config"].(object)
	require.Equal(t, object{"realm": "r", "key_names": []any{"apikey"}, "key_in_header": true, "key_in_query": true, "key_in_body": false,
		"hide_credentials": false, "anonymous": nil, "run_on_preflight": true}, shown, "Kong's clients compare it with what they have filled in")
	c.do(http.MethodGet, "/schemas/plugins/lua", nil, http.StatusNotFound)
}
