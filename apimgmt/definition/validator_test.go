package definition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
)

const validated = `
openapi: 3.0.3
info: {title: Shop, version: '1'}
servers: [{url: 'http://a.example'}]
x-kong-plugin-request-validator: {config: {max_body: 1000}, tags: [mine]}
paths:
  /shops/{shop-id}/{shop_id}:
    parameters:
    - {name: shop_id, in: path, required: true, schema: {type: string}}
    - {name: shop-id, in: path, required: true, schema: {type: integer}, description: which, example: 7}
    - {name: limit, in: query, schema: {type: integer}}
    put:
      parameters:
      - {$ref: '#/components/parameters/limit'}
      requestBody: {$ref: '#/components/requestBodies/order'}
      responses: {'200': {description: x, content: {application/json: {schema: {$ref: '#/components/schemas/Answer'}}}}}
    get:
      x-kong-plugin-request-validator: {config: {body_schema: '{}', version: draft4}}
      responses: {'200': {description: x}}
    delete:
      x-kong-plugin-request-validator: {enabled: false}
      responses: {'200': {description: x}}
  /own:
    x-kong-plugin-request-validator: {config: {parameter_schema: []}}
    servers: [{url: 'http://b.example'}]
    x-kong-plugin-cors: {}
    get: {responses: {'200': {description: x}}}
components:
  parameters:
    limit: {name: limit, in: query, required: true, schema: {type: integer, maximum: 10}}
  requestBodies:
    order: {content: {application/json: {schema: {$ref: '#/components/schemas/Order'}, examples: {one: {value: {$ref: no}}}}}}
  schemas:
    Answer: {type: object}
    Order:
      type: object
      description: hidden
      x-secret: hunter2
      properties:
        description: {type: string}
        example: {type: string, enum: [a], default: a}
        parts: {type: array, items: {$ref: '#/components/schemas/Part'}}
    Part: {type: object, properties: {order: {$ref: '#/components/schemas/Order/properties/parts'}}}
`

func TestConvert_fillsRequestValidators(t *testing.T) {
	options := definition.Options{Plugins: []string{"request-validator", "cors"}, RequestValidator: true}
	c := convert(t, validated, options)
	const shop = "shop_shops-shop-id-shop_id_"
	at := func(method string) string { return effective(c, routeNamed(t, c, shop+method))["request-validator"] }
	const path = `{"in":"path","name":"shop-id","required":true,"schema":{"type":"integer"}},{"in":"path",` +
		`"name":"shop_id","required":true,"schema":{"type":"string"}}`
	require.JSONEq(t, `{"max_body":1000,"definition":{
		"parameters":[`+path+`,{"in":"query","name":"limit","required":true,"schema":{"type":"integer","maximum":10}}],
		"requestBody":{"$ref":"#/components/requestBodies/order"}
	},"components":{
		"requestBodies":{"order":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Order"}}}}},
		"schemas":{
			"Order":{"type":"object","properties":{"description":{"type":"string"},"example":{"type":"string",
			"enum":["a"],"default":"a"},"parts":{"type":"array","items":{"$ref":"#/components/schemas/Part"}}}},
			"Part":{"type":"object","properties":{"order":{"$ref":"#/components/schemas/Order/properties/parts"}}}
		}
	}}`, at("put"))
	require.JSONEq(t, `{"body_schema":"{}","version":"draft4"}`, at("get"), "what the author wrote stays")
	require.JSONEq(t, `{"max_body":1000,"definition":{"parameters":[`+path+
		`,{"in":"query","name":"limit","schema":{"type":"integer"}}]}}`, at("delete"),
		"a disabled plugin does not take back an enabled one")
	require.JSONEq(t, `{"parameter_schema":[]}`, effective(c, routeNamed(t, c, "shop_own_get"))["request-validator"])
	for _, p := range c.Plugins {
		if strings.Contains(string(p.Config), "definition") {
			require.Nil(t, p.Service, "each route has its own")
			require.Equal(t, []string{"mine"}, p.Tags)
		}
	}

	options.RequestValidator = false
	c = convert(t, validated, options)
	require.JSONEq(t, `{"max_body":1000}`, at("put"), "a Kong does not know the form")
}

func TestConvert_boundsRequestValidators(t *testing.T) {
	file := func(operations, properties int, more string) string {
		var b strings.Builder
		b.WriteString("openapi: 3.1.0\ninfo: {title: a, version: '1'}\nservers: [{url: " +
			"'http://a.example'}]\nx-kong-plugin-request-validator: {}\npaths:\n")
		for i := range operations {
			fmt.Fprintf(&b, "  /p%d:\n    post:\n      requestBody: {content: {application/json: {schema: {$ref: "+
				"'#/components/schemas/A'}}}}\n      responses: {'200': {description: x}}\n", i)
		}
		b.WriteString(more + "components:\n  schemas:\n    A:\n      properties:\n        none: {type: string}\n")
		for i := range properties {
			fmt.Fprintf(&b, "        a-rather-long-name-of-a-property-%08d: {type: string}\n", i)
		}
		return b.String()
	}
	const tail = "      responses: {'200': {description: x}}\n"
	for name, tc := range map[string]struct {
		text, want string
		limit      bool
	}{
		"one operation": {file(1, 6000, ""),
			`"/paths/~1p0/post": definition: limit exceeded: what the request-validator of the operation needs is longer than 262144 bytes`, true},
		"all operations": {file(100, 3000, ""), `of all operations up to this one need is longer than 4194304 bytes`, true},
		"reference": {file(1, 0, "  /x:\n    post:\n      requestBody: {content: {application/json: {schema: {$ref: "+
			"'#/paths/~1p0/post/requestBody/content/application~1json/schema'}}}}\n"+tail),
			`follows references to components only`, false},
		"beside": {file(1, 0, "  /x:\n    post:\n      requestBody: {content: {application/json: {schema: {$ref: "+
			"'#/components/schemas/A', minProperties: 1}}}}\n"+tail),
			`stands beside a $ref`, false},
		"types": {file(1, 0, "  /x:\n    post:\n      x-kong-plugin-request-validator: {config: {allowed_content_types: [text/plain]}}\n"+tail),
			`"/paths/~1x/post/x-kong-plugin-request-validator": config.allowed_content_types`, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := definition.Convert(load(t, tc.text), definition.Options{Plugins: []string{"request-validator"}, RequestValidator: true})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			if tc.limit {
				require.ErrorIs(t, err, definition.ErrLimit)
			}
		})
	}
	c := convert(t, file(10, 3000, ""), definition.Options{Plugins: []string{"request-validator"}, RequestValidator: true})
	require.Len(t, c.Plugins, 10)
	for _, p := range c.Plugins {
		require.True(t, json.Valid(p.Config))
		require.Less(t, len(p.Config), 300<<10)
	}
}
