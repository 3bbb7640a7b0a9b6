package apimgmt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// at puts the address of a service into a definition.
func (f *front) at(definition string) string {
	return strings.ReplaceAll(definition, "SERVICE", f.service)
}

func TestPublisher_Preview_refusesThePluginThatPublishRefuses(t *testing.T) {
	f := newFront(t)
	content := f.at(`
openapi: 3.0.3
info: {title: pl, version: "1"}
servers: [{url: 'SERVICE'}]
x-kong-plugin-rate-limiting: {config: {minuet: 3}}
paths: {/plx: {get: {responses: {"200": {description: ok}}}}}
`)
	preview, publish := f.Post("a", content, "&dry_run=true"), f.Post("a", content, "")
	require.Equal(t, http.StatusBadRequest, publish.Status, publish.Body)
	require.Equal(t, publish.Status, preview.Status, preview.Body)
	for _, answer := range []apitest.Answer{preview, publish} {
		require.Contains(t, answer.Body, "config.minuet: unknown field")
	}
	require.Equal(t, http.StatusNotFound, f.Get("/OpenAPIDocumentation/a").Status)
}

func TestPublisher_Publish_routesPathsInNormalForm(t *testing.T) {
	f := newFront(t)
	a := f.Post("a", f.at(`
openapi: 3.0.3
info: {title: Enc, version: "1.0"}
servers: [{url: 'SERVICE'}]
paths:
  /na%C3%AFve: {get: {responses: {"200": {description: ok}}}}
  /x y: {get: {responses: {"200": {description: ok}}}}
  /e%20f: {get: {responses: {"200": {description: ok}}}}
  /q%2fr/{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {"200": {description: ok}}}}
  /tilde~a/{id}: {get: {parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {"200": {description: ok}}}}
  "/odd%7Epath": {get: {responses: {"200": {description: ok}}}}
  "/100%": {get: {responses: {"200": {description: ok}}}}
  "//double///slash//": {get: {responses: {"200": {description: ok}}}}
  "/dot/./seg/../x/..": {get: {responses: {"200": {description: ok}}}}
`), "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.NotContains(t, a.Body, "warnings")
	for _, path := range []string{"/na%C3%AFve", "/x%20y", "/e%20f", "/q%2Fr/7", "/tilde~a/7", "/odd~path", "/odd%7Epath", "/100%25",
		"/double/slash/", "//double/slash//", "/dot/", "/dot/./seg/../x/.."} {
		require.Equal(t, http.StatusOK, f.status("GET", path), path)
	}
	require.Equal(t, http.StatusNotFound, f.status("GET", "/dot/x"))
}

func TestPublisher_Publish_warnsOfOperationsThatNoRequestReaches(t *testing.T) {
	f := newFront(t)
	content := f.at(`
openapi: 3.0.3
info: {title: t, version: "1"}
servers: [{url: 'SERVICE'}]
paths:
  /tr: {trace: {responses: {"200": {description: ok}}}}
  /latin%E9: {get: {responses: {"200": {description: ok}}}}
  /nul%00: {get: {responses: {"200": {description: ok}}}}
  /a/b: {get: {responses: {"200": {description: ok}}}}
  /a//b: {get: {responses: {"200": {description: ok}}}, put: {responses: {"200": {description: ok}}}}
`)
	var preview apimgmt.Preview
	f.Post("a", content, "&dry_run=true").Decode(t, &preview)
	var record apimgmt.Record
	a := f.Post("a", content, "")
	a.Decode(t, &record)
	require.Equal(t, preview.Warnings, record.Warnings)
	require.Len(t, record.Warnings, 4, a.Body)
	for i, text := range []string{`no request reaches TRACE "/tr": gateways answer TRACE with 405`,
		`no request reaches the path "/latin%E9": its escapes are not text in UTF-8`, `no request reaches the path "/nul%00": it has a NUL`,
		`the path matches the same requests as "/a/b" in line 9 once gateways have normalised it, and both have GET`} {
		require.Contains(t, record.Warnings[i], text)
		require.Contains(t, record.Warnings[i], "line ")
	}
	require.Equal(t, http.StatusMethodNotAllowed, f.status("TRACE", "/tr"))
	require.Equal(t, http.StatusNotFound, f.status("GET", "/latin%E9"))
	require.Equal(t, http.StatusBadRequest, f.status("GET", "/nul%00"))
	require.Equal(t, http.StatusOK, f.status("PUT", "/a/b"))
}

func TestPublisher_Publish_answersPreflightsOfADefinitionWithCORS(t *testing.T) {
	f := newFront(t)
	a := f.Post("a", f.at(`
openapi: 3.0.3
info: {title: Cors, version: "1"}
servers: [{url: 'SERVICE'}]
x-kong-plugin-cors: {config: {origins: ["http://app.example"], methods: [GET, POST], headers: [Content-Type, Authorization], max_age: 600}}
x-kong-plugin-key-auth: {}
paths:
  /corsapi: {get: {responses: {"200": {description: ok}}}, post: {responses: {"200": {description: ok}}}}
  /own: {put: {x-kong-plugin-cors: {config: {origins: ["http://other.example"]}}, responses: {"200": {description: ok}}}}
  /asked: {get: {responses: {"200": {description: ok}}}, options: {responses: {"200": {description: ok}}}}
`), "&path=/below")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	preflight := func(path, origin, method string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, f.address+"/below"+path, nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", method)
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, resp.Header.Get("Access-Control-Allow-Origin")
	}
	for _, c := range []struct {
		path, origin, method string
		status               int
		allowed              string
	}{
		{"/corsapi", "http://app.example", "GET", 200, "http://app.example"},
		{"/corsapi", "http://app.example", "POST", 200, "http://app.example"},
		{"/corsapi", "http://app.example", "DELETE", 404, ""},
		{"/own", "http://other.example", "PUT", 200, "http://other.example"},
		{"/asked", "http://app.example", "GET", 200, "http://app.example"},
	} {
		status, allowed := preflight(c.path, c.origin, c.method)
		require.Equal(t, c.status, status, c)
		require.Equal(t, c.allowed, allowed, c)
	}
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/below/corsapi"))
	require.Equal(t, http.StatusNotFound, f.status("OPTIONS", "/below/corsapi"), "which is no preflight")
	var record apimgmt.Record
	f.Get("/OpenAPIDocumentation/a").Decode(t, &record)
	require.Len(t, record.Routes, 5, "the operations of the file")
}
