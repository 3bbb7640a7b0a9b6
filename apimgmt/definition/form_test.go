package definition_test

import (
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/internal/document"
	"github.com/iotenablers/enablers/apimgmt/position"
)

// everything is a file that has each field of OpenAPI 3.1 whose type is fixed.
const everything = `
openapi: 3.1.0
info: {title: a, summary: b, description: c, termsOfService: 'http://a.example', version: "1",
  contact: {name: a, url: 'http://a.example', email: a@a.example}, license: {name: a, url: 'http://a.example'}}
servers:
- {url: 'http://{a}.example', description: a, variables: {a: {enum: [x], default: x, description: a}}}
security: [{key: []}]
tags: [{name: a, description: b, externalDocs: {url: 'http://a.example', description: a}}]
externalDocs: {url: 'http://a.example'}
jsonSchemaDialect: https://spec.openapis.org/oas/3.1/dialect/base
webhooks: {a: {post: {description: a}}}
paths:
  /a/{id}:
    summary: a
    description: a
    servers: [{url: 'http://b.example'}]
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      tags: [a]
      summary: a
      description: b
      externalDocs: {url: 'http://a.example'}
      operationId: one
      parameters:
      - {name: x, in: query, description: a, required: false, deprecated: true, allowEmptyValue: false, style: form, explode: true,
        schema: {$ref: '#/components/schemas/A', maxLength: 3}, example: {a: 1}, allowReserved: false}
      - {name: y, in: query, content: {application/json: {schema: true, examples: {e: {summary: a, description: a, value: [1]}}}}}
      - {$ref: '#/components/parameters/p', summary: a, description: b}
      requestBody: {description: a, required: true, content: {multipart/form-data: {schema: {type: object},
        encoding: {a: {contentType: a/b, style: form, explode: true, allowReserved: true,
        headers: {h: {schema: {type: string}}}}}}}}
      responses:
        "200":
          description: a
          headers: {h: {description: a, required: true, deprecated: false, style: simple, explode: false,
            schema: {type: string}, example: a}}
          content: {a/b: {example: 1, schema: {$ref: '#/components/schemas/A'}}}
          links: {l: {operationId: one, parameters: {id: 1}, requestBody: 2, description: a, server: {url: 'http://a.example'}}}
      callbacks: {c: {'{$url}': {post: {responses: {"200": {description: a}}}}}}
      deprecated: false
      security: []
      servers: [{url: /v1}]
components:
  parameters: {p: {name: p, in: query, schema: {type: string}, examples: {e: {$ref: '#/components/examples/e'}}}}
  examples: {e: {externalValue: 'http://a.example'}}
  responses: {r: {description: a}}
  requestBodies: {b: {content: {a/b: {}}}}
  headers: {h: {schema: {type: string}}}
  links: {l: {operationRef: '#/paths/~1a~1{id}/get'}}
  callbacks: {c: {'{$url}': {post: {}}}}
  pathItems: {i: {get: {deprecated: true, responses: {"200": {description: a}}}}}
  securitySchemes:
    key: {type: apiKey, name: k, in: header, description: a}
    http: {type: http, scheme: bearer, bearerFormat: JWT}
    connect: {type: openIdConnect, openIdConnectUrl: 'http://a.example'}
    oauth: {type: oauth2, flows: {implicit: {authorizationUrl: 'http://a.example', refreshUrl: 'http://a.example', scopes: {a: b}},
      password: {tokenUrl: 'http://a.example', scopes: {}}, clientCredentials: {tokenUrl: 'http://a.example', scopes: {}},
      authorizationCode: {authorizationUrl: 'http://a.example', tokenUrl: 'http://a.example', scopes: {}}}}
  schemas:
    A:
      type: [object, string]
      title: a
      format: a
      description: a
      enum: [1]
      default: 1
      example: 1
      externalDocs: {url: 'http://a.example'}
      oneOf: [{type: string}]
      anyOf: [true]
      allOf: [{}]
      not: {type: integer}
      uniqueItems: true
      exclusiveMinimum: 1
      exclusiveMaximum: 2.5
      readOnly: true
      xml: {name: a, namespace: 'http://a.example', prefix: a, attribute: true, wrapped: false}
      minimum: 1
      maximum: 2
      multipleOf: 3
      minLength: 1
      maxLength: 2
      pattern: a
      minItems: 1
      maxItems: 2
      items: {type: string}
      required: [a]
      properties: {a: {type: string}, $ref: {type: string}}
      minProperties: 1
      maxProperties: 2
      additionalProperties: {type: string}
      discriminator: {propertyName: a, mapping: {a: '#/components/schemas/B'}}
      const: 1
      examples: [1]
      prefixItems: [{}]
      contains: {}
      minContains: 1
      maxContains: 2
      patternProperties: {a: {}}
      dependentSchemas: {a: {}}
      propertyNames: {}
      unevaluatedItems: false
      unevaluatedProperties: {type: string}
      if: {}
      then: {}
      else: {}
      dependentRequired: {a: [b]}
      $defs: {a: {}}
      $schema: https://json-schema.org/draft/2020-12/schema
      $comment: a
      $id: http://a.example/a
      $anchor: a
      $dynamicAnchor: a
      contentMediaType: a/b
      contentEncoding: base64
      contentSchema: {}
    B: {type: string, nullable: false, writeOnly: true, allowEmptyValue: true, deprecated: true, $dynamicRef: '#a'}
`

// TestLoad_namesThePlaceOfEveryValueOfAWrongType puts values of each type in the place
// of each value of a file. What the validator cannot decode has to be reported with its
// place and without the validator's types, and what it can is not an error of types.
func TestLoad_namesThePlaceOfEveryValueOfAWrongType(t *testing.T) {
	load(t, everything)
	workers := runtime.GOMAXPROCS(0)
	parts, least := workers, int64(500)
	if testing.Short() {
		parts, least = 20*workers, 20
	}
	var reported atomic.Int64
	t.Run("values", func(t *testing.T) {
		for part := range workers {
			t.Run(strconv.Itoa(part), func(t *testing.T) {
				t.Parallel()
				reported.Add(int64(placesOfWrongTypes(t, part, parts)))
			})
		}
	})
	require.Greater(t, reported.Load(), least)
}

// placesOfWrongTypes checks every so many of the values, and returns how many errors have named
// their place.
func placesOfWrongTypes(t *testing.T, part, of int) (reported int) {
	root, _, err := document.Parse([]byte(everything), document.Limits{})
	require.NoError(t, err)
	values := []document.Node{
		{Kind: document.Bool, Text: "true"}, {Kind: document.Number, Text: "-1.5"}, {Kind: document.String, Text: "text"},
		{Kind: document.Array}, {Kind: document.Object},
	}
	count := 0
	var visit func(n *document.Node)
	visit = func(n *document.Node) {
		original := *n
		for _, value := range values {
			if value.Kind == original.Kind && value.Kind != document.Number {
				continue
			}
			if count++; count%of != part {
				continue
			}
			n.Kind, n.Text, n.Items, n.Members = value.Kind, value.Text, value.Items, value.Members
			data := root.AppendJSON(nil)
			parsed, decoding := openapi3.NewLoader().LoadFromData(data)
			isDecoding := decoding != nil && strings.Contains(decoding.Error(), "unmarshal")
			_, err := definition.Load(t.Context(), data, definition.Limits{})
			what := n.Pointer() + " as " + string(n.AppendJSON(nil))
			isForm := err != nil && strings.Contains(err.Error(), ", must be ")
			if isDecoding && n.Pointer() != "" && n.Pointer() != "/openapi" {
				require.ErrorContains(t, err, strconv.Quote(n.Pointer())+": ", what)
				require.True(t, isForm, "%s: %v", what, err)
				reported++
			}
			if isForm && !isDecoding && !strings.Contains(n.Pointer(), "/pathItems") && n.Key() != "$ref" {
				if decoding == nil {
					decoding = parsed.Validate(t.Context(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation())
				}
				require.Error(t, decoding, "%s was accepted, now: %v", what, err)
			}
			if err != nil {
				require.NotContains(t, err.Error(), "unmarshal", what)
				require.NotContains(t, err.Error(), "openapi3", what)
			}
		}
		*n = original
		for _, item := range n.Items {
			visit(item)
		}
		for _, member := range n.Members {
			visit(member.Value)
		}
	}
	visit(root)
	return reported
}

func TestLoad_namesThePlaceOfAReferenceThatCannotBeFollowed(t *testing.T) {
	for rest, want := range map[string]string{
		"paths: {/a: {get: {parameters: [\n {$ref: '#/components/parameters/A'}]}}}": `line 3, "/paths/~1a/get/parameters/0/$ref": ` +
			`the reference "#/components/parameters/A" leads nowhere`,
		"paths: {/a: {get: {parameters: [\n {$ref: '#/paths/~1a/get'}]}}}": `line 3, "/paths/~1a/get/parameters/0/$ref": ` +
			`the reference "#/paths/~1a/get" leads to something of another kind`,
		"paths: {/a: {get: {}}}, components: {schemas: {A: {items:\n {$ref: '#/components/schemas/B'}}}}": `line 3, ` +
			`"/components/schemas/A/items/$ref": the reference "#/components/schemas/B" leads nowhere`,
	} {
		_, err := definition.Load(t.Context(), []byte(head(rest)), definition.Limits{})
		require.ErrorIs(t, err, definition.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
}

func TestLoad_saysWhatAFieldMustBe(t *testing.T) {
	for name, tc := range map[string]struct{ rest, want string }{
		"list": {"servers: {url: 'http://a.example'}", `line 2, "/servers": servers: is an object, must be a list of servers`},
		"item": {"servers: ['http://a.example']", `line 2, "/servers/0": servers[0]: is a string, must be an object (server)`},
		"text": {"info:\n {title: a, version: 1.0}", `line 3, "/info/version": version: is 1.0, must be a string`},
		"flag": {"paths: {/a: {get:\n {deprecated: 'no'}}}",
			`line 3, "/paths/~1a/get/deprecated": deprecated: is a string, must be true or false`},
		"count": {"components: {schemas: {A:\n {minLength: -1}}}",
			`line 3, "/components/schemas/A/minLength": minLength: is -1, must be a whole number, 0 or more`},
		"alternative": {"components: {schemas: {A:\n {type: {}}}}", `type: is an object, must be a string or a list of strings`},
		"map":         {"components: {schemas:\n []}", `schemas: is a list, must be an object with schemas by name`},
		"plural":      {"components: {requestBodies:\n []}", `must be an object with request bodies by name`},
		"bound": {"components: {schemas: {A:\n {exclusiveMinimum: a}}}",
			`exclusiveMinimum: is a string, must be a number or true or false`},
		"several": {"tags: 1, security: {}", `security: is an object, must be a list of security requirements`},
	} {
		t.Run(name, func(t *testing.T) {
			file := "{openapi: 3.1.0,\n" + tc.rest + "}"
			_, err := definition.Load(t.Context(), []byte(file), definition.Limits{})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			var place *position.Error
			require.ErrorAs(t, err, &place)
		})
	}
	_, err := definition.Load(t.Context(), []byte("{openapi: 3.1.0, tags: 1, security: {}}"), definition.Limits{})
	require.Len(t, strings.Split(err.Error(), "\n"), 2, "all are reported at once")
}
