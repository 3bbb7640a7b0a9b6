package plugin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func ExampleRequestValidator() {
	_, err := plugin.RequestValidator().Compile(gateway.Setup{Config: []byte(`{"body_schema":"[{\"name\":{\"type\":\"string\"}}]"}`)})
	fmt.Println(err)
	// Output: config.body_schema: it is not a JSON Schema; Kong's own form is not supported
}

const operation = `{
	"operationId": "order", "security": [{"undeclared": []}],
	"parameters": [
		{"name": "shop-id", "in": "path", "required": true, "schema": {"type": "integer", "minimum": 1}},
		{"name": "limit", "in": "query", "required": true, "schema": {"type": "integer", "maximum": 100}},
		{"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string", "maxLength": 3}}},
		{"$ref": "#/components/parameters/tenant"}
	],
	"requestBody": {"required": true, "content": {
		"application/json": {"schema": {"$ref": "#/components/schemas/order"}},
		"application/x-www-form-urlencoded": {"schema": {"$ref": "#/components/schemas/form"}},
		"image/png": {}
	}}
}`

const components = `{
	"parameters": {"tenant": {"name": "X-Tenant", "in": "header", "schema": {"type": "string", "pattern": "^[a-z]+$"}}},
	"schemas": {"form": {"type": "object", "required": ["item"], "additionalProperties": false, "properties": {
		"item": {"type": "string", "minLength": 2}, "count": {"type": "integer"}
	}}, "order": {"type": "object", "required": ["item"], "additionalProperties": false, "properties": {
		"item": {"type": "string", "minLength": 2}, "count": {"type": "integer", "default": 7},
		"parts": {"type": "array", "items": {"$ref": "#/components/schemas/order"}}
	}}}
}`

// shop is a gateway that validates orders.
func shop(t *testing.T, more string) *plugintest.Stage {
	t.Helper()
	s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds()})
	require.NoError(t, s.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		c.Routes = append(c.Routes, entity.Route{Name: "shop", Paths: []string{"~/shops/(?<shop_id>[^/]+)/orders$"},
			Service: &entity.Ref{Name: "service"}})
		c.Plugins = append(c.Plugins, entity.Plugin{
			Name: "request-validator", Route: &entity.Ref{Name: "shop"},
			Config: []byte(`{"definition":` + operation + `,"components":` + components + more + `}`),
		})
		return c, nil
	}))
	return s
}

func requestValidatorSubject() plugintest.Subject {
	return plugintest.Subject{
		Kind: plugin.RequestValidator(),
		Valid: []string{
			`{"definition":` + operation + `,"components":` + components + `}`, `{"definition":{},"verbose_response":false}`,
			`{"version":"draft4","body_schema":"{\"type\":\"object\"}","allowed_content_types":["application/json","text/plain"]}`,
			`{"parameter_schema":[{"name":"a","in":"query","required":true,"schema":"{\"type\":\"integer\"}","style":"form","explode":false}]}`,
		},
		Invalid: map[string]string{
			`{}`: "config.definition", `{"definition":[]}`: "config.definition", `{"definition":{"$ref":"#/paths/~1x/get"}}`: "config.definition",
			`{"definition":{},"body_schema":{}}`:                                     "config.definition",
			`{"definition":{"parameters":[{"name":"a","in":"nowhere"}]}}`:            "config.definition",
			`{"definition":{"parameters":7}}`:                                        "config.definition",
			`{"definition":{"requestBody":{"$ref":"http://127.0.0.1:1/x"}}}`:         "config.definition",
			`{"definition":{"requestBody":{"$ref":"file:///etc/passwd"}}}`:           "config.definition",
			`{"definition":{"requestBody":{"$ref":"#/components/requestBodies/x"}}}`: "config.definition",
			`{"body_schema":7}`: "config.body_schema", `{"body_schema":{"type":"strange"}}`: "config.body_schema",
			`{"body_schema":{},"version":"kong"}`:                           "config.version",
			`{"parameter_schema":[{"name":"a","in":"query","schema":"["}]}`: "config.parameter_schema",
			`{"body_schema":{},"components":{}}`:                            "config.components",
			`{"definition":{},"max_body":0}`:                                "config.max_body",
			`{"definition":{},"max_body":99999999}`:                         "config.max_body",
		},
	}
}

func TestRequestValidator_admitsValidRequests(t *testing.T) {
	s := shop(t, "")
	for _, c := range [][3]string{
		{"/shops/7/orders?limit=5", `{"item":"ab","parts":[{"item":"cd","count":1}]}`, "application/json"},
		{"/shops/7/orders?limit=5&tag=a&tag=b&unknown=1", ` {"item":"ab"} `, "application/json; charset=utf-8"},
		{"/shops/7/orders?limit=100", "item=ab&count=3", "application/x-www-form-urlencoded"},
		{"/shops/7/orders?limit=100", "\x89PNG", "image/png"},
	} {
		a := s.Do(http.MethodPost, c[0], c[1], "Content-Type: "+c[2], "X-Tenant: abc")
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.Equal(t, c[1], a.Body, "the body goes on as it came")
	}
}

func TestRequestValidator_refusesInvalidRequests(t *testing.T) {
	s := shop(t, `,"max_body":100`)
	const path, body = "/shops/7/orders?limit=5", `{"item":"ab"}`
	for _, c := range []struct {
		path, body, kind, where string
		header                  []string
	}{
		{path: "/shops/0/orders?limit=5", body: body, where: `path parameter "shop-id"`},
		{path: "/shops/x/orders?limit=5", body: body, where: `path parameter "shop-id"`},
		{path: "/shops/7/orders", body: body, where: `query parameter "limit"`},
		{path: "/shops/7/orders?limit=secret-value", body: body, where: `query parameter "limit"`},
		{path: "/shops/7/orders?limit=5&limit=900", body: body, where: `query parameter "limit"`},
		{path: "/shops/7/orders?limit=5&tag=long-one", body: body, where: `query parameter "tag"`},
		{path: "/shops/7/orders?limit=5;x=1", body: body, where: "query"},
		{path: path, body: body, where: `header parameter "X-Tenant"`, header: []string{"X-Tenant: A1"}},
		{path: path, body: body, where: `header parameter "X-Tenant"`, header: []string{"X-Tenant: a", "X-Tenant: b"}},
		{path: path, body: "", where: "body: it is required"},
		{path: path, body: `{"item":"a"}`, where: "body /item"},
		{path: path, body: `{"item":"ab","parts":[{"item":"cd"},{"item":5}]}`, where: "body /parts/1/item"},
		{path: path, body: `{"item":"ab","price":"secret-value"}`, where: "body"},
		{path: path, body: `{"item":"ab","item":"cd"}`, where: "body"},
		{path: path, body: `{"item":"ab"}{"item":"x"}`, where: "body"},
		{path: path, body: `item: ab`, where: "body"},
		{path: path, body: `"ab"`, where: "body"},
		{path: path, body: "item=a", kind: "application/x-www-form-urlencoded", where: "body /item"},
		{path: path, body: "item=ab&item=c", kind: "application/x-www-form-urlencoded", where: "body /item"},
		{path: path, body: "item=ab&price=1", kind: "application/x-www-form-urlencoded", where: `body: a form has no field "price"`},
		{path: path, body: "item=ab&count=x", kind: "application/x-www-form-urlencoded", where: "body"},
		{path: path, body: body, kind: "text/plain", where: `header "Content-Type"`},
		{path: path, body: body, kind: "application/json", header: []string{"Content-Type: image/png"}, where: `header "Content-Type"`},
	} {
		if c.kind == "" {
			c.kind = "application/json"
		}
		a := s.Do(http.MethodPost, c.path, c.body, append(c.header, "Content-Type: "+c.kind)...)
		require.Equal(t, http.StatusBadRequest, a.Status, "%s %s: %s", c.path, c.body, a.Body)
		var said struct{ Message string }
		require.NoError(t, json.Unmarshal([]byte(a.Body), &said))
		require.True(t, strings.HasPrefix(said.Message, c.where), "%s: %s", c.where, said.Message)
		require.NotContains(t, said.Message, "secret-value", "what was sent is not repeated")
	}
	a := s.Do(http.MethodPost, path, `{"item":"`+strings.Repeat("a", 100)+`"}`, "Content-Type: application/json")
	require.Equal(t, http.StatusRequestEntityTooLarge, a.Status)
	a = shop(t, `,"verbose_response":false`).Do(http.MethodPost, path, `{}`, "Content-Type: application/json")
	require.JSONEq(t, `{"message":"the request is not as the API says"}`, a.Body)
}

func TestRequestValidator_checksTheTypeOfFormsWithObjects(t *testing.T) {
	for schema, want := range map[string]int{
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`: http.StatusBadRequest,
		`{"type":"object","properties":{"a":{"type":"integer"}}}`:                          http.StatusBadRequest,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}}}`:  http.StatusOK,
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                            0,
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                           http.StatusOK,
		`{"type":"string"}`: http.StatusOK,
	} {
		config := `{"definition":{"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":` + schema + `}}}}}`
		if want == 0 { // OpenAPI wants the items
			_, err := plugin.RequestValidator().Compile(gateway.Setup{Config: []byte(config)})
			require.ErrorContains(t, err, "config.definition")
			continue
		}
		s := stage(t, "request-validator", config)
		require.Equal(t, want, s.Do(http.MethodPost, "/", "a=x", "Content-Type: application/x-www-form-urlencoded").Status, schema)
	}
}

func TestRequestValidator_checksBodiesOfUnknownLength(t *testing.T) {
	for config, want := range map[string]map[string]int{
		`{"definition":{"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}}}}`: {
			"": http.StatusOK, "x": http.StatusBadRequest, "application/json {}": http.StatusOK,
			"application/json []": http.StatusBadRequest, "application/json ": http.StatusOK,
		},
		`{"max_body":10,"definition":{"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}}}}`: {
			"": http.StatusBadRequest, "application/json ": http.StatusBadRequest,
			`application/json {"a":"01234567"}`: http.StatusRequestEntityTooLarge,
		},
	} {
		s := stage(t, "request-validator", config)
		for given, status := range want {
			kind, body, found := strings.Cut(given, " ")
			if !found {
				kind, body = "", given
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, io.MultiReader(strings.NewReader(body)))
			require.NoError(t, err)
			if kind != "" {
				request.Header.Set("Content-Type", kind)
			}
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, status, response.StatusCode, "%s: %q", config, given)
		}
	}
}

func TestRequestValidator_refusesDeepBodies(t *testing.T) {
	s := shop(t, "")
	deep := strings.Repeat(`{"item":"ab","parts":[`, 200) + strings.Repeat("]}", 200)
	a := s.Do(http.MethodPost, "/shops/7/orders?limit=5", deep, "Content-Type: application/json")
	require.Equal(t, http.StatusBadRequest, a.Status)
}

func TestRequestValidator_readsSchemasOfKong(t *testing.T) {
	s := stage(t, "request-validator", `{"version":"draft4","body_schema":"{\"type\":\"object\",\"required\":[\"a\"]}",
		"parameter_schema":[{"name":"n","in":"query","required":true,"schema":"{\"type\":\"integer\"}"}]}`)
	require.Equal(t, http.StatusOK, s.Do(http.MethodPost, "/?n=1", `{"a":1}`, "Content-Type: application/json").Status)
	require.Equal(t, http.StatusBadRequest, s.Do(http.MethodPost, "/?n=1", `{}`, "Content-Type: application/json").Status)
	require.Equal(t, http.StatusBadRequest, s.Do(http.MethodPost, "/?n=x", `{"a":1}`, "Content-Type: application/json").Status)
	require.Equal(t, http.StatusBadRequest, s.Do(http.MethodPost, "/?n=1", `{"a":1}`, "Content-Type: text/plain").Status)
}
