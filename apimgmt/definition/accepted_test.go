package definition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
)

// head begins a file of OpenAPI 3.1 whose third line is the first of the rest.
func head(rest string) string {
	return "{openapi: 3.1.0, info: {title: pumps, version: '1'}, servers: [{url: 'https://pumps.example/v1'}],\n" + rest + "}"
}

const pathItems = `
openapi: 3.1.0
info: {title: pumps, version: "1"}
servers: [{url: 'https://pumps.example/v1'}]
paths:
  /pumps/{id}: {$ref: '#/components/pathItems/Pump'}
  /status: {$ref: '#/components/pathItems/Status'}
webhooks:
  pathItems.Pump: {post: {responses: {'200': {$ref: '#/components/pathItems/Status/get/responses/200'}}}}
components:
  pathItems:
    Status:
      servers: [{url: 'https://status.example'}]
      get: {operationId: status, responses: {'200': {description: fine}}}
    Pump:
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      get: {responses: {'200': {description: fine}}}
      delete: {responses: {'204': {description: gone}}}
    Unused: {$ref: '#/components/pathItems/Status'}
`

func TestLoad_acceptsPathItemsAmongTheComponents(t *testing.T) {
	d := load(t, pathItems)
	require.Empty(t, d.Warnings())
	var found []string
	for _, o := range d.Operations() {
		found = append(found, o.Method+" "+o.Path)
	}
	require.Equal(t, []string{"GET /pumps/{id}", "DELETE /pumps/{id}", "GET /status"}, found)
	config := convert(t, pathItems, definition.Options{})
	require.Len(t, config.Routes, 3)
	require.Equal(t, "status.example", findService(t, config, routeNamed(t, config, "pumps_status")).Host)
	require.Contains(t, string(d.JSON()), `"$ref":"#/components/pathItems/Pump"`, "the file stays as it is")
}

func TestLoad_checksPathItemsAmongTheComponents(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"unused": {"    Unused: {$ref: '#/components/pathItems/Status'}", "    Unused: {get: {responses: {'99': {}}}}",
			`line 19, "/components/pathItems/Unused/get"`},
		"type": {"{operationId: status,", "{operationId: [status],",
			`line 14, "/components/pathItems/Status/get/operationId": operationId: is a list, must be a string`},
		"server": {"https://status.example", "gopher://status.example",
			`line 13, "/components/pathItems/Status/servers/0/url": the protocol "gopher"`},
		"name": {"    Unused:", "    Un/used:", `line 19, "/components/pathItems/Un~1used": the name "Un/used" of a component`},
		"nowhere": {"pathItems/Pump'", "pathItems/Pumps'",
			`line 6, "/paths/~1pumps~1{id}/$ref": the reference "#/components/pathItems/Pumps" leads nowhere`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, pathItems, tc.old)
			_, err := definition.Load(t.Context(), []byte(strings.Replace(pathItems, tc.old, tc.new, 1)), definition.Limits{})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestLoad_acceptsWhatOpenAPI31Allows(t *testing.T) {
	const fine = "{responses: {'200': {description: fine}}}"
	for name, rest := range map[string]string{
		"operation without responses": "paths: {/a: {get: {}}}",
		"link out of the file": "paths: {/a: {get: {responses: {'200': {description: fine, links: {next: " +
			"{operationRef: 'https://b.example/openapi.json#/paths/~1x/get'}}}}}}}",
		"link component": "paths: {/a: {get: " + fine +
			"}}, components: {links: {next: {operationRef: 'other.yaml#/paths/~1x/get'}}}",
		"example without value": "paths: {/a: {get: {responses: {'200': {description: fine, content: " +
			"{application/json: {examples: {none: {summary: nothing}}}}}}}}}",
		"example component": "paths: {/a: {get: " + fine +
			"}}, components: {examples: {none: {summary: nothing}, empty: {value: null}}}",
		"example of a parameter": "paths: {/a: {get: {parameters: [{name: x, in: query, schema: {type: string}, " +
			"examples: {none: {summary: nothing}}}]}}}",
		"example of a header": "paths: {/a: {get: {responses: {'200': {description: fine, headers: {x: {schema: " +
			"{type: string}, examples: {none: {description: nothing}}}}}}}}}",
		"webhooks beside paths": "paths: {/a: {get: " + fine + "}}, webhooks: {stopped: {post: " + fine + "}}",
		"type null":             "paths: {/a: {get: " + fine + "}}, components: {schemas: {A: {type: [string, 'null']}, B: true}}",
		"fields beside a reference": "paths: {/a: {get: " + fine +
			"}}, components: {schemas: {A: {$ref: '#/components/schemas/B', minLength: 2}, B: {type: string}}}",
		"summary beside a reference": "paths: {/a: {get: {responses: {'200': {$ref: '#/components/responses/R', " +
			"description: other}}}}}, components: {responses: {R: {description: fine}}}",
		"security scheme mutual TLS":   "paths: {/a: {get: " + fine + "}}, components: {securitySchemes: {tls: {type: mutualTLS}}}",
		"license with an identifier":   "paths: {/a: {get: " + fine + "}}, x-a: 1e999",
		"path without operations":      "paths: {/a: {get: " + fine + "}, /b: {}}",
		"null where a value may stand": "paths: {/a: {get: " + fine + "}}, tags: null",
	} {
		t.Run(name, func(t *testing.T) {
			d := load(t, head(rest))
			require.Empty(t, d.Warnings())
			config := convert(t, head(rest), definition.Options{})
			require.Len(t, config.Routes, 1)
		})
	}
}

func TestLoad_acceptsEveryPatchVersion(t *testing.T) {
	for _, version := range []string{"3.1.0", "3.1.9", "3.1.0-rc1"} {
		load(t, strings.Replace(head("paths: {/a: {get: {}}}, webhooks: {b: {post: {}}}"), "3.1.0", version, 1))
	}
	for _, version := range []string{"3.0.0", "3.0.9"} {
		load(t, strings.Replace(head("paths: {/a: {get: {responses: {'200': {description: fine}}}}}"), "3.1.0", version, 1))
		_, err := definition.Load(t.Context(), []byte(strings.Replace(head("paths: {/a: {get: {}}}"), "3.1.0", version, 1)), definition.Limits{})
		require.ErrorContains(t, err, "responses", version)
	}
}

func TestLoad_warnsOfADefinitionWithoutOperations(t *testing.T) {
	for _, rest := range []string{"paths: {}", "webhooks: {stopped: {post: {}}}", "components: {}",
		"paths: null, webhooks: null, components: {pathItems: {A: {get: {}}}}"} {
		d := load(t, head(rest))
		require.Equal(t, []string{"there is no operation: the gateway routes no request to the API"}, d.Warnings(), rest)
		require.Empty(t, convert(t, head(rest), definition.Options{}).Routes, rest)
	}
}

const alike = `openapi: 3.0.3
info: {title: attestations, version: "1"}
servers: [{url: 'https://a.example/v1'}]
paths:
  /orgs/{org}/attestations/{id}:
    delete:
      parameters:
      - {name: org, in: path, required: true, schema: {type: string}}
      - {name: id, in: path, required: true, schema: {type: integer}}
      responses: {"204": {description: gone}}
  /orgs/{org}/attestations/{digest}:
    parameters: [{name: org, in: path, required: true, schema: {type: string}}]
    get:
      parameters: [{name: digest, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: fine}}
`

func TestLoad_warnsOfPathsThatDifferInTheirMethods(t *testing.T) {
	d := load(t, alike)
	require.Equal(t, []string{`line 11, "/paths/~1orgs~1{org}~1attestations~1{digest}": the path matches the same requests as ` +
		`"/orgs/{org}/attestations/{id}" in line 5, which OpenAPI forbids; the methods differ, and each request is routed ` +
		`by its method`}, d.Warnings())
	config := convert(t, alike, definition.Options{})
	require.Len(t, config.Routes, 2)
	m := newMatcher(t, config)
	for method, group := range map[string]string{"DELETE": "<id>", "GET": "<digest>"} {
		found := m.match(call{method, "/orgs/o/attestations/7"})
		require.Len(t, found, 1)
		require.Contains(t, found[0].Paths[0], group)
	}
	require.Empty(t, m.match(call{"PUT", "/orgs/o/attestations/7"}))

	_, err := definition.Load(t.Context(), []byte(strings.Replace(alike, "name: digest", "name: other", 1)), definition.Limits{})
	require.ErrorContains(t, err,
		`line 13, "/paths/~1orgs~1{org}~1attestations~1{digest}/get": invalid paths: operation GET /orgs/{org}/attestations/{digest} must`,
		"both paths are checked, under their own names")
	_, err = definition.Load(t.Context(), []byte(strings.Replace(alike, "    get:", "    delete:", 1)), definition.Limits{})
	require.ErrorContains(t, err, "and both have DELETE")
}
