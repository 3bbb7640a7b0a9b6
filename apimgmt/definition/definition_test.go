package definition_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/position"
)

const things = `openapi: 3.0.3
info:
  title: Resource provisioning
  version: "1.0"
  description: Finds and reserves things.
servers:
- url: https://{zone}.things.example:{port}/v1/
  variables:
    zone: {default: eu, enum: [eu, us]}
    port: {default: "8443"}
x-kong-plugin-oidc: # secret: hunter2
  name: oidc
  enabled: true
  config:
    client_id: kong
    client_secret: hunter2
    bearer_only: "yes"
    realm: OpenAPI
paths:
  /things:
    get:
      operationId: listThings
      summary: All things
      tags: [things]
      responses: {"200": {description: fine}}
    post:
      x-kong-plugin-cors: {config: {origins: ["*"]}}
      responses: {"201": {description: made}}
  /things/{thing-id}:
    parameters:
    - {name: thing-id, in: path, required: true, schema: {type: string}}
    get:
      deprecated: true
      responses: {"200": {description: fine}}
`

func load(t testing.TB, text string) *definition.Definition {
	t.Helper()
	d, err := definition.Load(t.Context(), []byte(text), definition.Limits{})
	require.NoError(t, err)
	return d
}

func TestLoad_describesTheFile(t *testing.T) {
	d := load(t, things)
	require.Equal(t, "Resource provisioning", d.Title())
	require.Equal(t, "1.0", d.Version())
	require.Equal(t, "Finds and reserves things.", d.Description())
	require.Equal(t, "3.0.3", d.OpenAPI())
	require.True(t, d.IsYAML())
	require.Equal(t, []string{"https://eu.things.example:8443/v1/"}, d.Servers())
	require.Equal(t, []definition.Operation{
		{Method: "GET", Path: "/things", ID: "listThings", Summary: "All things", Tags: []string{"things"}},
		{Method: "POST", Path: "/things"},
		{Method: "GET", Path: "/things/{thing-id}", Deprecated: true},
	}, d.Operations())
}

func TestLoad_saysWhatTheFileDeclaresOfSecurity(t *testing.T) {
	d := load(t, `
openapi: 3.0.3
info: {title: a, version: "1"}
security: [{key: []}]
paths:
  /document: {get: {responses: {"200": {description: x}}}}
  /none: {get: {security: [], responses: {"200": {description: x}}}}
  /either: {get: {security: [{key: []}, {}], responses: {"200": {description: x}}}}
  /own: {get: {security: [{key: []}, {other: []}], responses: {"200": {description: x}}}}
  /plugin: {get: {security: [], x-kong-plugin-key-auth: {}, responses: {"200": {description: x}}}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}, other: {type: http, scheme: basic}}}
`)
	declares := map[string]bool{}
	for _, operation := range d.Operations() {
		declares[operation.Path] = operation.DeclaresSecurity
	}
	require.Equal(t, map[string]bool{"/document": true, "/none": false, "/either": false, "/own": true, "/plugin": false}, declares)
}

func TestDefinition_Redacted_isValidAndHasNoSecret(t *testing.T) {
	yaml := load(t, things)
	for _, d := range []*definition.Definition{yaml, load(t, string(yaml.JSON()))} {
		shown, err := d.Redacted()
		require.NoError(t, err)
		require.NotContains(t, string(shown), "hunter2")
		require.Contains(t, string(shown), entity.Redaction)
		again := load(t, string(shown))
		require.Equal(t, d.IsYAML(), again.IsYAML())
		require.Equal(t, d.Operations(), again.Operations())
		require.Less(t, strings.Index(string(shown), "servers"), strings.Index(string(shown), "paths"))
		require.Contains(t, string(shown), "kong")
	}
}

func TestLoad_namesThePlaceOfAnError(t *testing.T) {
	file := func(rest string) string {
		return "openapi: 3.1.0\ninfo: {title: a, version: '1'}\n" + rest
	}
	const fine = "{responses: {'200': {description: x}}}"
	for name, tc := range map[string]struct {
		text, want string
		is         error
	}{
		"swagger": {"swagger: '2.0'\ninfo: {}\n", `line 1, "/swagger": this is Swagger 2.0`, definition.ErrVersion},
		"3.2": {`{"openapi":"3.2.0","info":{"title":"a","version":"1"},"paths":{}}`,
			`"/openapi": the version "3.2.0" is not 3.0 or 3.1`, definition.ErrVersion},
		"4":       {"openapi: 4.0.0\n", `the version "4.0.0"`, definition.ErrVersion},
		"number":  {"openapi: 3.1\n", `as a string`, definition.ErrVersion},
		"nothing": {"title: x\n", `the field "openapi" is missing`, definition.ErrVersion},
		"list":    {"[]", `an object is needed`, definition.ErrVersion},
		"empty":   {"", `the document is empty`, nil},
		"garbage": {"\x00\x01", `read the file`, nil},
		"no info": {"openapi: 3.0.0\npaths: {}\n", `invalid info`, nil},
		"external": {file("paths:\n  /a:\n    $ref: 'http://evil.example/a'\n"),
			`line 5, "/paths/~1a/$ref": the reference "http://evil.example/a" leads out of the file`, nil},
		"file": {file("paths: {}\ncomponents:\n  schemas:\n    A: {$ref: 'file:///etc/passwd'}\n"),
			`line 6, "/components/schemas/A/$ref": the reference`, nil},
		"relative": {file("paths: {}\ncomponents:\n  schemas:\n    A: {items: {$dynamicRef: 'other.json#x'}}\n"), `leads out of the file`, nil},
		"dialect": {file("paths: {}\ncomponents:\n  schemas:\n    A: {$schema: 'file:///etc/passwd'}\n"),
			`the language of schemas "file:///etc/passwd" is not known`, nil},
		"key twice": {file("paths:\n  /a: {get: " + fine + "}\n  /a: {get: " + fine + "}\n"),
			`line 5, "/paths/~1a": the key stands here a second time, after line 4`, nil},
		"same path": {file("paths:\n  /a/{x}: {get: " + fine + "}\n  /a/{y}: {get: " + fine + "}\n"),
			`line 5, "/paths/~1a~1{y}": the path matches the same requests as "/a/{x}" in line 4, and both have GET`, nil},
		"ids": {file("paths:\n  /a:\n    get: {operationId: one, responses: {}}\n  /b:\n    get: {operationId: one, " +
			"responses: {}}\n"), `line 7, "/paths/~1b/get/operationId": the operationId "one" stands in line 5 too`, nil},
		"brace":    {file("paths:\n  /a/{x: {}\n"), `brace without its pair`, nil},
		"braces":   {file("paths:\n  /a/{}: {}\n"), `brace without its pair`, nil},
		"query":    {file("paths:\n  /a?x=1: {}\n"), `has a query`, nil},
		"no slash": {file("paths:\n  a: {}\n"), `should start with "/"`, nil},
		"scheme":   {file("paths: {}\nservers:\n- url: gopher://a\n"), `line 5, "/servers/0/url": the protocol "gopher" is not one of`, nil},
		"password": {file("paths: {}\nservers:\n- url: http://u:hunter2@a\n"), `has no user and no password`, nil},
		"port":     {file("paths: {}\nservers:\n- url: http://a:99999\n"), `the port "99999" is not between`, nil},
		"variable": {file("paths: {}\nservers:\n- url: http://{a}\n"), `the variable "a" is not defined`, nil},
		"default": {file("paths: {}\nservers:\n- url: http://{a}\n  variables: {a: {default: x, enum: [y]}}\n"),
			`the default "x" is not one of the values`, nil},
		"at a path": {file("paths:\n  /a:\n    servers:\n    - url: 'http://'\n"),
			`line 6, "/paths/~1a/servers/0/url": "http://" has no host`, nil},
		"parameter": {file("paths:\n  /a/{x}:\n    get: " + fine + "\n"),
			`line 5, "/paths/~1a~1{x}/get": invalid paths: operation GET /a/{x} must define exactly all path parameters`, nil},
		"schema":    {file("paths: {}\ncomponents:\n  schemas:\n    A: {type: nonsense}\n"), `line 6, "/components/schemas/A"`, nil},
		"operation": {file("paths:\n  /a:\n    get: {parameters: [{name: x, in: moon}], responses: {}}\n"), `line 5, "/paths/~1a/get"`, nil},
		"nowhere":   {file("paths:\n  /a: {$ref: '#/components/pathItems/A'}\n"), `leads nowhere`, nil},
		"in itself": {file("paths:\n  /a: {$ref: '#/paths/~1a'}\n"), `references follow each other`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := definition.Load(t.Context(), []byte(tc.text), definition.Limits{})
			require.ErrorIs(t, err, definition.ErrInvalid)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "hunter2")
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
			var at *position.Error
			require.ErrorAs(t, err, &at)
		})
	}
}

func TestLoad_isBounded(t *testing.T) {
	const start = "openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths: {}\n"
	var laughs strings.Builder
	laughs.WriteString(start + "x-a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&laughs, "x-a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	long := start + "x-a: &a " + strings.Repeat("x", 1<<20) + "\nx-b: [" + strings.Repeat("*a, ", 1000) + "]\n"
	var operations strings.Builder
	operations.WriteString("openapi: 3.1.0\ninfo: {title: a, version: '1'}\npaths:\n")
	for i := range 6000 {
		fmt.Fprintf(&operations, "  /a%d: {get: {responses: {'200': {description: x}}}}\n", i)
	}
	ring := func(n int, schema string) string {
		var b strings.Builder
		b.WriteString(start + "components:\n  schemas:\n")
		for i := range n {
			fmt.Fprintf(&b, "    S%d: "+schema+"\n", i, (i+1)%n)
		}
		return b.String()
	}
	for name, tc := range map[string]struct{ text, want string }{
		"ring":       {ring(4000, "{items: {$ref: '#/components/schemas/S%d'}}"), "references lead to more than 30000000 values"},
		"chain":      {ring(100, "{$ref: '#/components/schemas/S%d'}"), "more than 32 references follow each other"},
		"laughs":     {laughs.String(), "more than 200000 values"},
		"long":       {long, "keys and strings have more than 16777216 bytes"},
		"deep":       {start + "x-a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested deeper than 100"},
		"deep JSON":  {strings.Repeat(`{"a":`, 100_000), "nested deeper than 100"},
		"large":      {start + strings.Repeat("#", 5<<20), "more than 4194304"},
		"wide":       {start + "x-a: [" + strings.Repeat(",", 2_000_000) + "]", "more than 800000"},
		"operations": {operations.String(), "there are 6000 operations, more than 5000"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := definition.Load(t.Context(), []byte(tc.text), definition.Limits{})
			runtime.ReadMemStats(&after)
			require.ErrorIs(t, err, definition.ErrLimit)
			require.ErrorContains(t, err, tc.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(300<<20))
		})
	}
}

func TestLoad_takesLinearTimeForSchemasThatReferToEachOther(t *testing.T) {
	for _, version := range []string{"3.0.3", "3.1.0"} {
		var b strings.Builder
		fmt.Fprintf(&b, "openapi: %s\ninfo: {title: a, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n", version)
		for i := range 200 {
			fmt.Fprintf(&b, "    S%d: {anyOf: [{$ref: '#/components/schemas/S%d'}, {$ref: '#/components/schemas/S%d'}]}\n", i, i+1, i+1)
		}
		b.WriteString("    S200: {type: string, pattern: '(a+)+$', example: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!}\n")
		load(t, b.String())
	}
}

func TestLoad_endsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := definition.Load(ctx, []byte(things), definition.Limits{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestLoad_refusesReferencesToOtherFiles holds what Load relies on beside
// its own check: a new release of the validator must not change it.
func TestLoad_refusesReferencesToOtherFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	require.NoError(t, os.WriteFile(secret, []byte(`{"type":"string"}`), 0o600))
	file := `{"openapi":"3.0.3","info":{"title":"a","version":"1"},"paths":{},"components":{"schemas":{"A":{"$ref":"` +
		filepath.ToSlash(secret) + `"}}}}`
	_, err := openapi3.NewLoader().LoadFromData([]byte(file))
	require.ErrorContains(t, err, "disallowed external reference")
}

func TestConvert_acceptsTheDefinitionsOfTheProject(t *testing.T) {
	for _, file := range ownDefinitions(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		d := load(t, string(data))
		config, err := definition.Convert(d, definition.Options{Server: "http://localhost:8080", Plugins: []string{}})
		require.NoError(t, err, file)
		require.Len(t, config.Routes, len(d.Operations()), file)
	}
}

// ownDefinitions are the OpenAPI files of the project, wherever they are.
func ownDefinitions(t testing.TB) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "node_modules" || name == "testdata" || name == ".git"):
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains([]string{"openapi.json", "openapi.yaml", "openapi.yml"}, name):
			found = append(found, path)
		}
		return nil
	})
	require.NoError(t, err)
	require.Contains(t, found, filepath.FromSlash("../../apimgmt/gateway/admin/openapi.json"), "the one that lies deepest")
	require.GreaterOrEqual(t, len(found), 6)
	return found
}

func FuzzConvert(f *testing.F) {
	f.Add([]byte(things))
	f.Add(load(f, things).JSON())
	f.Add([]byte(layered))
	f.Add([]byte(validated))
	f.Add([]byte(pathItems))
	f.Add([]byte(alike))
	f.Add([]byte(everything))
	named := regexp.MustCompile(`\b(client_secret|x-secret|secret)"?: ?"?hunter2`)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := definition.Load(t.Context(), data, definition.Limits{Bytes: 1 << 16, Values: 5000})
		if err != nil {
			require.ErrorIs(t, err, definition.ErrInvalid)
			return
		}
		shown, err := d.Redacted()
		require.NoError(t, err)
		// Where the fuzzer has changed the name of a secret's member, it is a secret no more.
		if len(named.FindAll(data, -1)) == bytes.Count(data, []byte("hunter2")) {
			require.NotContains(t, string(shown), "hunter2")
		}
		_, err = definition.Load(t.Context(), shown, definition.Limits{})
		require.NoError(t, err, string(shown))
		for _, options := range []definition.Options{{},
			{Server: "http://localhost", SecurityPlugin: definition.OpenIDConnectPlugin, Plugins: []string{"oidc", "cors", "openid-connect"}},
			{Server: "http://localhost", SecurityPlugin: definition.OIDCPlugin, Plugins: []string{"oidc", "cors"}},
			{Server: "http://localhost", Plugins: []string{"oidc", "cors", "request-validator"}, RequestValidator: true}} {
			config, err := definition.Convert(d, options)
			if err != nil {
				require.ErrorIs(t, err, definition.ErrInvalid)
				continue
			}
			data, err := json.Marshal(config)
			require.NoError(t, err)
			require.Less(t, len(data), 64<<20)
		}
	})
}
