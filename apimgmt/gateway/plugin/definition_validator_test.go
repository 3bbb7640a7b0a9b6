package plugin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

// validatedShop has a request validator at its top, and one of its own at an
// operation.
const validatedShop = `
openapi: %s
info: {title: Shop, version: '1'}
servers: [{url: '%s'}]
x-kong-plugin-request-validator: {}
paths:
  /shops/{shop-id}/{shop_id}/{größe}:
    parameters:
    - {name: größe, in: path, required: true, schema: {type: string, maxLength: 2}}
    - {name: shop_id, in: path, required: true, schema: {type: string, pattern: '^[a-z]+$'}}
    - {name: shop-id, in: path, required: true, schema: {type: integer}}
    post:
      parameters: [{$ref: '#/components/parameters/limit'}]
      requestBody: {$ref: '#/components/requestBodies/order'}
      responses: {'200': {description: fine}}
  /pets:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {'200': {description: fine}}
  /free:
    post:
      x-kong-plugin-request-validator: {config: {version: draft4, body_schema: '{"type":"array","items":{}}'}}
      requestBody: {required: true, content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: fine}}
components:
  parameters:
    limit: {name: limit, in: query, required: true, schema: {type: integer, maximum: 10}}
  requestBodies:
    order: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}
  schemas:
    Order:
      type: object
      required: [item]
      properties:
        item: {type: string, description: what}
        example: {type: integer}
        parts: {type: array, items: {$ref: '#/components/schemas/Order'}}
    Pet:
      oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]
      discriminator: {propertyName: kind, mapping: {cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog'}}
    Cat: {type: object, required: [kind, lives], properties: {kind: {type: string}, lives: {type: integer}}}
    Dog: {type: object, required: [kind, name], properties: {kind: {type: string}, name: {type: string}}}
`

func TestRequestValidator_checksRequestsOfADefinition(t *testing.T) {
	behind := httptest.NewServer(echo())
	t.Cleanup(behind.Close)
	for _, version := range []string{"3.0.3", "3.1.0"} {
		t.Run(version, func(t *testing.T) {
			read, err := definition.Load(t.Context(), fmt.Appendf(nil, validatedShop, version, behind.URL), definition.Limits{})
			require.NoError(t, err)
			config, err := definition.Convert(read, definition.Options{Plugins: []string{"request-validator"}, RequestValidator: true})
			require.NoError(t, err)
			s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds()})
			require.NoError(t, s.Gateway.Update(func(entity.Config) (entity.Config, error) { return config, nil }))
			const shop = "/shops/7/ab/xl?limit=5"
			for _, c := range []struct{ path, body, where string }{
				{shop, `{"item":"a","parts":[{"item":"b","parts":[]}]}`, ""},
				{shop, `{"parts":[]}`, "body /item"},
				{shop, `{"item":7}`, "body /item"},
				{shop, `{"item":"a","example":"x"}`, "body /example"},
				{shop, `{"item":"a","parts":[{"item":"b","parts":[{"item":1}]}]}`, "body /parts/0/parts/0/item"},
				{shop, ``, "body: it is required"},
				{"/shops/7/ab/xl", `{"item":"a"}`, `query parameter "limit": it is required`},
				{"/shops/7/ab/xl?limit=x", `{"item":"a"}`, `query parameter "limit"`},
				{"/shops/7/ab/xl?limit=11", `{"item":"a"}`, `query parameter "limit"`},
				{"/shops/x/ab/xl?limit=5", `{"item":"a"}`, `path parameter "shop-id"`},
				{"/shops/7/AB/xl?limit=5", `{"item":"a"}`, `path parameter "shop_id"`},
				{"/shops/7/ab/xxl?limit=5", `{"item":"a"}`, `path parameter "größe"`},
				{"/pets", `{"kind":"cat","lives":7}`, ""},
				{"/pets", `{"kind":"dog","name":"Rex"}`, ""},
				{"/pets", `{"kind":"dog","name":7}`, "body"},
				{"/free", `[]`, ""},
				{"/free", `{}`, "body"},
			} {
				a := s.Do(http.MethodPost, c.path, c.body, "Content-Type: application/json")
				if c.where == "" {
					require.Equal(t, http.StatusOK, a.Status, "%s %s: %s", c.path, c.body, a.Body)
					continue
				}
				require.Equal(t, http.StatusBadRequest, a.Status, "%s %s: %s", c.path, c.body, a.Body)
				var said struct{ Message string }
				require.NoError(t, json.Unmarshal([]byte(a.Body), &said))
				require.True(t, strings.HasPrefix(said.Message, c.where), "%s: %s", c.where, said.Message)
			}
		})
	}
}

func TestRequestValidator_checksRequestsOfOpenAPI31(t *testing.T) {
	const file = `
openapi: 3.1.0
info: {title: Shop, version: '1'}
servers: [{url: 'http://127.0.0.1:1'}]
x-kong-plugin-request-validator: {}
paths:
  /x:
    post:
      requestBody: {required: true, content: {application/json: {schema: %s}}}
      responses: {'200': {description: fine}}
`
	for _, c := range []struct {
		schema   string
		yes, not []string
	}{
		{"{type: [string, 'null']}", []string{`"a"`, `null`}, []string{`1`}},
		{"{anyOf: [{type: integer}, {type: 'null'}]}", []string{`1`, `null`}, []string{`"a"`}},
		{"{const: a}", []string{`"a"`}, []string{`"b"`, `null`, `1`}},
		{"{type: integer, exclusiveMinimum: 5}", []string{`6`}, []string{`5`}},
		{"{type: object, properties: {const: {type: integer}}}", []string{`{"const":1}`}, []string{`{"const":"a"}`}},
	} {
		read, err := definition.Load(t.Context(), fmt.Appendf(nil, file, c.schema), definition.Limits{})
		require.NoError(t, err)
		config, err := definition.Convert(read, definition.Options{Plugins: []string{"request-validator"}, RequestValidator: true})
		require.NoError(t, err)
		s := stage(t, "request-validator", string(config.Plugins[0].Config))
		for _, body := range c.yes {
			a := s.Do(http.MethodPost, "/", body, "Content-Type: application/json")
			require.Equal(t, http.StatusOK, a.Status, "%s %s: %s", c.schema, body, a.Body)
		}
		for _, body := range c.not {
			a := s.Do(http.MethodPost, "/", body, "Content-Type: application/json")
			require.Equal(t, http.StatusBadRequest, a.Status, "%s %s: %s", c.schema, body, a.Body)
		}
	}
	read, err := definition.Load(t.Context(), fmt.Appendf(nil, file, "{type: array, prefixItems: [{type: integer}]}"), definition.Limits{})
	require.NoError(t, err)
	config, err := definition.Convert(read, definition.Options{Plugins: []string{"request-validator"}, RequestValidator: true})
	require.NoError(t, err)
	_, err = plugin.RequestValidator().Compile(gateway.Setup{Config: config.Plugins[0].Config})
	require.ErrorContains(t, err, "prefixItems", "what cannot be validated is not let through")
}
