package kong_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gatewaytest"
	"github.com/iotenablers/enablers/apimgmt/kong"
	"github.com/iotenablers/enablers/storage"
)

// embedded is the embedded gateway behind its own Admin API.
func embedded(t *testing.T) (*gateway.Gateway, *kong.Gateway) {
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	store, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	api, err := admin.New(admin.Config{Store: store})
	require.NoError(t, err)
	server := httptest.NewServer(api.Handler())
	t.Cleanup(server.Close)
	driver, err := kong.New(kong.Config{URL: server.URL, Backoff: time.Millisecond})
	require.NoError(t, err)
	return g, driver
}

// The Admin API of the embedded gateway was written by others after the same
// documentation, so each is a witness for the other.
func TestGateway_Publish_worksWithTheEmbeddedAdminAPI(t *testing.T) {
	gatewaytest.Run(t, func(t *testing.T) apimgmt.Gateway {
		_, driver := embedded(t)
		return driver
	})
}

func TestGateway_Publish_isServedByTheEmbeddedGateway(t *testing.T) {
	g, driver := embedded(t)
	config := second()
	config.Plugins[0].Config = []byte(
		`{"discovery":"https://idm.example/.well-known/openid-configuration","client_id":"kong","client_secret":"wolpertinger"}`)
	require.NoError(t, driver.Publish(t.Context(), "enabler:w", config))
	served, _ := g.Config()
	require.Len(t, served.Services, 2)
	require.Len(t, served.Routes, 6)
	require.Len(t, served.Plugins, 3)
	require.Len(t, served.Keys, 1)
	require.Len(t, served.Targets, 1)
	require.NoError(t, driver.Publish(t.Context(), "enabler:w", config))
	again, _ := g.Config()
	require.Equal(t, served, again)
}

func TestGateway_Publish_servesBelowAPath(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }))
	t.Cleanup(service.Close)
	loaded, err := definition.Load(t.Context(), []byte(
		`{"openapi":"3.0.3","info":{"title":"w","version":"1"},"servers":[{"url":"`+service.URL+`/v1"}],
		"paths":{"/healthz":{"get":{"responses":{"200":{"description":"x"}}}},
			"/things/{id}":{"get":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
			"responses":{"200":{"description":"x"}}}}}}`), definition.Limits{})
	require.NoError(t, err)
	config, err := definition.Convert(loaded, definition.Options{Name: "w", Tags: []string{},
		Plugins: []string{definition.TransformerPlugin}, Path: "/below"})
	require.NoError(t, err)
	g, driver := embedded(t)
	require.NoError(t, driver.Publish(t.Context(), "enabler:w", config))
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	for path, want := range map[string]string{"/below/healthz": "/v1/healthz", "/below/things/a%2Fb%20c?d=1": "/v1/things/a%2Fb%20c?d=1"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, string(body))
	}
	for _, version := range versions() {
		f := newFake(version)
		require.NoError(t, f.open(t).Publish(t.Context(), "enabler:w", config))
		paths := map[any]bool{}
		for _, route := range f.tables["routes"] {
			require.Equal(t, false, route["strip_path"])
			paths[route["paths"].([]any)[0]] = true
		}
		mark := map[bool]string{true: "", false: "~"}[f.old()]
		require.Equal(t, map[any]bool{mark + `/below(?<the_path_after_the_listen_prefix>/healthz)$`: true,
			mark + `/below(?<the_path_after_the_listen_prefix>/things/(?<id>[^#?/]+))$`: true}, paths)
		for _, p := range f.tables["plugins"] {
			require.Equal(t, "/v1$(uri_captures['the_path_after_the_listen_prefix'])", p["config"].(object)["replace"].(object)["uri"])
		}
		f.writes = nil
		require.NoError(t, f.open(t).Publish(t.Context(), "enabler:w", config))
		require.Empty(t, f.writes)
	}
}
