package apimgmt_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

// front is a publisher over a gateway that serves, with a service behind it.
type front struct {
	*apitest.World
	gateway *gateway.Gateway
	service string
	address string
}

func newFront(t *testing.T) *front {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	t.Cleanup(service.Close)
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	w := apitest.New(t, func(c *apimgmt.Config) {
		c.Gateway, c.GatewayURL, c.Upstreams = embedded{g}, server.URL, apimgmt.Upstreams{Private: loopback()}
	})
	return &front{World: w, gateway: g, service: service.URL, address: server.URL}
}

// status is the status of the answer of the gateway.
func (f *front) status(method, path string, fields ...string) int {
	f.T.Helper()
	req, err := http.NewRequestWithContext(f.T.Context(), method, f.address+path, nil)
	require.NoError(f.T, err)
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(f.T, err)
	require.NoError(f.T, resp.Body.Close())
	return resp.StatusCode
}

// guard puts key-auth on the service of a version, as an operator does.
func (f *front) guard(service string) {
	f.T.Helper()
	require.NoError(f.T, f.gateway.Update(func(c entity.Config) (entity.Config, error) {
		c.Plugins = append(c.Plugins, entity.Plugin{Name: "key-auth", Service: &entity.Ref{Name: service}})
		return c, nil
	}))
}

// catalogue is the revision of the document that every change begins with.
func (f *front) catalogue() storage.Revision {
	f.T.Helper()
	doc, err := f.Docs.Get(f.T.Context(), "catalogue")
	require.NoError(f.T, err)
	return doc.Revision
}

func TestPublisher_Publish_carriesOverAPluginOfAnOperator(t *testing.T) {
	f := newFront(t)
	require.Equal(t, http.StatusOK, f.Post("a", apitest.FileAt(f.service, "1.0.0", "/status"), "").Status)
	require.Equal(t, http.StatusOK, f.status("GET", "/status"))
	f.guard("a-1.0.0")
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/status"))

	next := apitest.FileAt(f.service, "1.1.0", "/status", "/more")
	a := f.Post("a", next, "&dry_run=1")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	var preview apimgmt.Preview
	a.Decode(t, &preview)
	moved := []string{`plugin "key-auth" of service "a-1.0.0" is carried over to service "a-1.1.0"`}
	require.Equal(t, moved, preview.Carried)
	var lines []string
	for _, change := range preview.Changes {
		lines = append(lines, change.String())
	}
	require.Contains(t, lines, "create plugin key-auth")
	require.Contains(t, lines, "delete plugin key-auth")

	a = f.Post("a", next, "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	var record apimgmt.Record
	a.Decode(t, &record)
	require.Equal(t, moved, record.Carried)
	for _, path := range []string{"/status", "/more"} {
		require.Equal(t, http.StatusUnauthorized, f.status("GET", path), path)
	}
	require.NoError(t, f.Publisher.Reconcile(t.Context()))
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/status"))
	require.Zero(t, f.Publisher.Totals().Healed, "the gateway serves what it should")

	a = set(f.World, "1.0.0", `{"state":"published"}`) // a step back
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Contains(t, a.Body, `is carried over to service \"a-1.0.0\"`)
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/status"))
}

func TestPublisher_refusesWhatWouldRemoveAPluginOfAnOperator(t *testing.T) {
	f := newFront(t)
	require.Equal(t, http.StatusOK, f.Post("a", apitest.FileAt(f.service, "1", "/status"), "").Status)
	f.guard("a-1")
	own := `{"openapi":"3.0.3","info":{"title":"a","version":"2"},"servers":[{"url":"` + f.service + `"}],
		"x-kong-plugin-key-auth":{"config":{"key_names":["k"]}},
		"paths":{"/status":{"get":{"responses":{"200":{"description":"x"}}}}}}`
	same := apitest.FileAt(f.service, "1", "/other") // the same service, which keeps its plugin
	before := f.catalogue()
	const library = "/OpenAPIDocumentation/a"
	for name, answer := range map[string]apitest.Answer{
		"a version with its own": f.Post("a", own, ""),
		"its preview":            f.Post("a", own, "&dry_run=1"),
		"the end of the version": set(f.World, "1", `{"state":"sunset"}`),
		"its deletion":           f.Do(http.MethodDelete, library+"/versions/1", "dev", "", nil),
		"that of the enabler":    f.Do(http.MethodDelete, library, "dev", "", nil),
	} {
		require.Equal(t, http.StatusConflict, answer.Status, name+answer.Body)
		require.Contains(t, answer.Body, `plugin \"key-auth\" (id `, name)
		require.Contains(t, answer.Body, `which others have attached to service \"a-1\", would be lost`, name)
	}
	require.Equal(t, before, f.catalogue(), "no change has begun")
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/status"))
	require.Contains(t, f.Get(library).Body, `"state":"published"`)
	require.Equal(t, http.StatusOK, f.Post("a", same, "").Status)
	require.Equal(t, http.StatusUnauthorized, f.status("GET", "/other"))

	require.NoError(t, f.gateway.Update(func(c entity.Config) (entity.Config, error) {
		c.Plugins = nil
		return c, nil
	}))
	require.Equal(t, http.StatusNoContent, f.Do(http.MethodDelete, library, "dev", "", nil).Status)
}

func TestPublisher_Preview_listsWhatAnOperatorHasChanged(t *testing.T) {
	f := newFront(t)
	definition := apitest.FileAt(f.service, "1", "/status")
	require.Equal(t, http.StatusOK, f.Post("a", definition, "").Status)
	require.NoError(t, f.gateway.Update(func(c entity.Config) (entity.Config, error) {
		retries := 1
		c.Services[0].Retries = &retries
		return c, nil
	}))
	a := f.Post("a", definition, "&dry_run=1")
	var preview apimgmt.Preview
	a.Decode(t, &preview)
	require.Len(t, preview.Changes, 1)
	require.Equal(t, "update service a-1: retries", preview.Changes[0].String())
	a = f.Post("a", apitest.FileAt(f.service, "2", "/status"), "&dry_run=1&state=draft")
	a.Decode(t, &preview)
	require.Empty(t, preview.Changes, "a draft changes nothing")
}
