package apimgmt_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// security lists what the record says of each operation: what the gateway enforces and what
// the file declares.
func security(routes []apimgmt.Route) map[string][2]bool {
	said := map[string][2]bool{}
	for _, r := range routes {
		said[r.Method+" "+r.Path] = [2]bool{r.Secured, r.DeclaresSecurity}
	}
	return said
}

const declared = `
openapi: 3.0.3
info: {title: K, version: "1"}
servers: [{url: 'SERVICE'}]
security: [{key: []}]
paths:
  /needskey: {get: {responses: {"200": {description: ok}}}}
  /open: {get: {security: [], responses: {"200": {description: ok}}}}
  /either: {get: {security: [{key: []}, {}], responses: {"200": {description: ok}}}}
  /guarded: {get: {x-kong-plugin-key-auth: {}, responses: {"200": {description: ok}}}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
`

const unprotected = "the definition declares security for GET /needskey, but the gateway forwards requests without credentials: " +
	"it has no plugin there that authenticates callers"

func TestPublisher_Publish_warnsOfSecurityThatTheGatewayDoesNotEnforce(t *testing.T) {
	f := newFront(t)
	content := strings.ReplaceAll(declared, "SERVICE", f.service)
	want := map[string][2]bool{"GET /needskey": {false, true}, "GET /open": {}, "GET /either": {}, "GET /guarded": {true, true}}

	var preview apimgmt.Preview
	f.Post("a", content, "&dry_run=1").Decode(t, &preview)
	require.Equal(t, want, security(preview.Routes))
	require.Equal(t, []string{unprotected}, preview.Warnings)

	var record apimgmt.Record
	f.Post("a", content, "").Decode(t, &record)
	require.Equal(t, want, security(record.Routes))
	require.Equal(t, []string{unprotected}, record.Warnings)
	require.Equal(t, http.StatusOK, f.status("GET", "/needskey"))
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/guarded"))
	require.Contains(t, f.Log.String(), "published with a warning")

	got := f.Get("/OpenAPIDocumentation/a")
	require.Contains(t, got.Body, `"declaresSecurity":true`)
	got.Decode(t, &record)
	require.Equal(t, []string{unprotected}, record.Warnings, "the record has it as well")
	var version apimgmt.VersionRecord
	f.Get("/OpenAPIDocumentation/a/versions/1").Decode(t, &version)
	require.Equal(t, []string{unprotected}, version.Warnings)

	record = apimgmt.Record{}
	f.Post("a", strings.Replace(content, `version: "1"`, `version: "2"`, 1), "&state=draft").Decode(t, &record)
	require.Contains(t, record.Warnings[0], "would forward requests", "of the version that was uploaded")
}

func TestPublisher_Get_saysWhatTheGatewayEnforces(t *testing.T) {
	type plugins = []entity.Plugin
	service, route := &entity.Ref{Name: "a-1"}, &entity.Ref{Name: "a-1_needskey_get"}
	no := false
	key := func(config string) entity.Plugin {
		return entity.Plugin{Name: "key-auth", Config: json.RawMessage(config)}
	}
	on := func(p entity.Plugin, service, route *entity.Ref) entity.Plugin {
		p.Service, p.Route = service, route
		return p
	}
	oidc := func(filters string) entity.Plugin {
		return entity.Plugin{Name: "oidc", Config: json.RawMessage(
			`{"discovery":"http://127.0.0.1:1/x","bearer_only":"yes","filters":"` + filters + `"}`)}
	}
	partly, off := key("{}"), key("{}")
	partly.Protocols, off.Enabled = []string{"https"}, &no
	for name, tc := range map[string]struct {
		plugins  plugins
		enforced bool
	}{
		"nothing":                     {nil, false},
		"for everything":              {plugins{key("{}")}, true},
		"on the service":              {plugins{on(key("{}"), service, nil)}, true},
		"on the route":                {plugins{on(key("{}"), nil, route)}, true},
		"switched off":                {plugins{off}, false},
		"over TLS alone":              {plugins{partly}, false},
		"with an anonymous consumer":  {plugins{key(`{"anonymous":"guest"}`)}, false},
		"the nearest counts":          {plugins{key("{}"), on(key(`{"anonymous":"guest"}`), nil, route)}, false},
		"another kind":                {plugins{{Name: "cors"}}, false},
		"oidc":                        {plugins{oidc("")}, true},
		"oidc that leaves it out":     {plugins{oidc("/other, /needskey/")}, false},
		"oidc that leaves others out": {plugins{oidc("/needs,/needskey/below,/other")}, true},
		"oidc with an expression":     {plugins{oidc("/need.*")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t)
			require.Equal(t, http.StatusOK, f.Post("a", strings.ReplaceAll(declared, "SERVICE", f.service), "").Status)
			require.NoError(t, f.gateway.Update(func(c entity.Config) (entity.Config, error) {
				c.Consumers = append(c.Consumers, entity.Consumer{Username: "guest"})
				c.Plugins = append(c.Plugins, tc.plugins...)
				return c, nil
			}))
			// The first look after the change of an operator may be a little old; a change of the publisher's is not.
			_, err := f.Publisher.Describe(t.Context(), "a", "Anew", "", apimgmt.Condition{})
			require.NoError(t, err)
			var record apimgmt.Record
			f.Get("/OpenAPIDocumentation/a").Decode(t, &record)
			require.Equal(t, tc.enforced, security(record.Routes)["GET /needskey"][0])
			require.Equal(t, tc.enforced, f.status("GET", "/needskey") == http.StatusUnauthorized, "what the gateway does")
		})
	}
}

// What an earlier version has stored says nothing of declared security: the file does.
func TestPublisher_Get_readsOldContents(t *testing.T) {
	f := newFront(t)
	require.Equal(t, http.StatusOK, f.Post("a", strings.ReplaceAll(declared, "SERVICE", f.service), "").Status)
	for info, err := range f.Blobs.List(t.Context(), "entities/") {
		require.NoError(t, err)
		reader, err := f.Blobs.Open(t.Context(), info.Key)
		require.NoError(t, err)
		data, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		old := strings.ReplaceAll(strings.ReplaceAll(string(data), `,"declared":true`, ""), `"declaresSecurity":`, `"secured":`)
		require.NotEqual(t, string(data), old)
		w, err := f.Blobs.Create(t.Context(), info.Key)
		require.NoError(t, err)
		_, err = io.WriteString(w, old)
		require.NoError(t, err)
		_, err = w.Commit(t.Context())
		require.NoError(t, err)
	}
	again := apitest.New(t, func(c *apimgmt.Config) {
		c.Documents, c.Blobs, c.Gateway, c.GatewayURL = f.Docs, f.Blobs, embedded{f.gateway}, f.address
	})
	for range 2 {
		record, err := again.Publisher.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, [2]bool{false, true}, security(record.Routes)["GET /needskey"])
		require.Equal(t, [2]bool{true, true}, security(record.Routes)["GET /guarded"])
		require.Equal(t, []string{unprotected}, record.Warnings)
	}
}
