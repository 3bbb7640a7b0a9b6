package apimgmt_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// platform are the OpenAPI files of the platform's own servers, by name.
func platform(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name, folder := range map[string]string{
		"annotator":     "annotate/manager/rest",
		"collector":     "flcollect/rest",
		"fl-repository": "flcollect/repository",
		"models":        "modelrepo/rest",
		"publisher":     "apimgmt/rest",
		"gateway-admin": "apimgmt/gateway/admin",
		"links":         "multilink/node/rest",
	} {
		data, err := os.ReadFile(filepath.Join("..", folder, "openapi.json"))
		require.NoError(t, err)
		files[name] = data
	}
	return files
}

// echo answers with its name, and the method and the address that it was asked for.
func echo(t *testing.T, name string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, name, " ", r.Method, " ", r.RequestURI)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestPublisher_Publish_servesAllAPIsOfThePlatformBelowPaths(t *testing.T) {
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	w := apitest.New(t, func(c *apimgmt.Config) {
		c.Gateway, c.GatewayURL, c.Upstreams = embedded{g}, front.URL, apimgmt.Upstreams{Private: loopback()}
	})
	for name, data := range platform(t) {
		record, err := w.Publisher.Publish(t.Context(),
			apimgmt.Upload{Enabler: name, Definition: data, Server: echo(t, name).URL, Path: "/" + name})
		require.NoError(t, err, name)
		require.Equal(t, "/"+name, record.Path)
		require.Equal(t, front.URL+"/"+name, record.GatewayURL)
		for _, route := range record.Routes {
			at := strings.NewReplacer("{", "", "}", "").Replace(strings.TrimPrefix(route.URL, front.URL))
			require.True(t, strings.HasPrefix(at, "/"+name+"/"), at)
			if route.Method != http.MethodHead {
				require.Equal(t, fmt.Sprint(name, " ", route.Method, " ", strings.TrimPrefix(at, "/"+name), "?x=%2F"),
					ask(t, route.Method, front.URL+at+"?x=%2F"))
			}
		}
	}
	require.Equal(t, "annotator GET /healthz", ask(t, http.MethodGet, front.URL+"/annotator/healthz"))
	require.Equal(t, "models GET /healthz", ask(t, http.MethodGet, front.URL+"/models/healthz"))
	require.Equal(t, "models GET /m/a%2Fb/c%20%C3%A9", ask(t, http.MethodGet, front.URL+"/models/m/a%2fb/c%20%c3%a9"))
	require.Contains(t, ask(t, http.MethodGet, front.URL+"/healthz"), "no Route matched")
	require.Contains(t, ask(t, http.MethodGet, front.URL+"/modelsx/healthz"), "no Route matched")
}

// ask is the body of an answer.
func ask(t *testing.T, method, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	require.NoError(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(data)
}

func TestPublisher_Publish_offersAPathWhereRoutesCollide(t *testing.T) {
	w := apitest.New(t, apitest.Transforming)
	require.Equal(t, http.StatusOK, w.Post("First", apitest.File("1", "/healthz"), "").Status)
	a := w.Post("Second one", apitest.File("1", "/healthz"), "")
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, `both match \"~/healthz$\"; publish with path=/second-one to serve it below a prefix`)
	a = w.Post("Größe", apitest.File("1", "/healthz"), "")
	require.Contains(t, a.Body, "publish with path=/name to serve it")
	require.Equal(t, http.StatusOK, w.Post("Second one", apitest.File("1", "/healthz"), "&path=/second-one").Status)
	require.Equal(t, http.StatusOK, w.Post("Third", apitest.File("1", "/healthz"), "&path=/a").Status)

	a = w.Post("Fourth", apitest.File("1", "/one/healthz"), "&path=/second") // which are other routes
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	for _, tc := range []struct{ enabler, definition, path string }{
		{"second-one.b", apitest.File("1", "/healthz"), "/second-one"},
		{"x", apitest.File("1", "/a/healthz"), ""}, {"a", apitest.File("1", "/healthz"), "/a"},
	} {
		a = w.Post(tc.enabler, tc.definition, "&path="+tc.path)
		require.Equal(t, http.StatusConflict, a.Status, "%+v %s", tc, a.Body)
		require.NotContains(t, a.Body, "the_path_after")
	}
	require.Contains(t, a.Body, "publish with path=/a-2 to serve it below another prefix")

	require.Equal(t, http.StatusOK, w.Post("Late", apitest.File("1", "/healthz"), "&state=draft").Status)
	_, err := w.Publisher.SetState(t.Context(), "Late", "1", apimgmt.Transition{State: apimgmt.Published})
	require.ErrorIs(t, err, apimgmt.ErrConflict)
	require.ErrorContains(t, err, "publish with path=/late")
}

func TestPublisher_Publish_keepsThePath(t *testing.T) {
	w := apitest.New(t, apitest.Transforming)
	var r apimgmt.Record
	publish := func(version, path, more string) apimgmt.Record {
		t.Helper()
		a := w.Post("w", apitest.File(version, path), more)
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		var made apimgmt.Record
		a.Decode(t, &made)
		return made
	}
	r = publish("1", "/a", "&path=/below")
	require.Equal(t, "/below", r.Path)
	require.Equal(t, "http://gateway.example/below/a", r.Routes[0].URL)
	require.Equal(t, "http://gateway.example/below", r.GatewayURL)
	r = publish("1", "/b", "") // the same version again
	require.Equal(t, []string{"/below", "http://gateway.example/below/b"}, []string{r.Path, r.Routes[0].URL})
	r = publish("2", "/b", "&path=") // another version, in its place
	require.Equal(t, []string{"/below", "1"}, []string{r.Path, r.Superseded[0]})
	r = publish("3", "/b", "&path=/v3") // beside it
	require.Equal(t, "/v3", r.Path)
	require.Empty(t, r.Superseded)
	require.Equal(t, []string{"/below", "/below", "/v3"}, []string{r.Versions[0].Path, r.Versions[1].Path, r.Versions[2].Path})
	require.Len(t, apitest.Served(t, w.Gateway, "w"), 2)

	contentType, body := apitest.Form(t, apitest.File("2", "/c"))
	a := w.Do(http.MethodPut, "/OpenAPIDocumentation/w", "dev", contentType, body)
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	a = w.Get("/OpenAPIDocumentation/w/versions/2")
	require.Contains(t, a.Body, `"path":"/below"`)
	require.Contains(t, a.Body, "http://gateway.example/below/c")
	r = publish("3", "/b", "&path=/") // no longer
	require.Equal(t, []string{"", "http://gateway.example/b"}, []string{r.Path, r.Routes[0].URL})

	var preview apimgmt.Preview
	w.Post("w", apitest.File("4", "/d"), "&path=/x&dry_run=1").Decode(t, &preview)
	require.Equal(t, []string{"/x", "http://gateway.example/x/d"}, []string{preview.Path, preview.Routes[0].URL})
	list, _, err := w.Publisher.List(t.Context(), apimgmt.Query{Text: "/below"})
	require.NoError(t, err)
	require.Len(t, list, 1)

	require.NoError(t, w.Publisher.DeleteVersion(t.Context(), "w", "2", "x", apimgmt.Condition{}))
	require.Len(t, apitest.Served(t, w.Gateway, "w"), 1)
	require.NoError(t, w.Publisher.Delete(t.Context(), "w", "x", apimgmt.Condition{}))
	require.Empty(t, apitest.Served(t, w.Gateway, "w"))
}

func TestPublisher_Publish_withoutAPathAnswersAsBefore(t *testing.T) {
	w := apitest.New(t)
	a := w.Post("w", apitest.File("1", "/a"), "")
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, a.Body, `"path":""`)
	var r apimgmt.Record
	a.Decode(t, &r)
	require.Equal(t, "http://gateway.example", r.GatewayURL)
	stored, err := w.Docs.Get(t.Context(), "enabler/w")
	require.NoError(t, err)
	require.NotContains(t, string(stored.Data), "listen_path")
	a = w.Post("w", apitest.File("1", "/a"), "&path=/x") // the gateway has no request-transformer
	require.Equal(t, http.StatusBadRequest, a.Status)
	require.Contains(t, a.Body, `the gateway has no plugin \"request-transformer\"`)
}

// What the service sees does not depend on the listen path, whatever characters the
// path of its server has.
func TestPublisher_Publish_belowAPathKeepsThePathOfTheServer(t *testing.T) {
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	w := apitest.New(t, func(c *apimgmt.Config) {
		c.Gateway, c.GatewayURL, c.Upstreams = embedded{g}, front.URL, apimgmt.Upstreams{Private: loopback()}
	})
	service := echo(t, "s")
	for i, base := range []string{"", "/v1", "/a%20b", "/a%2Fb", "/a;v=1", "/%C3%A9", "/é", "/a(b)'c", "/a+b,c@d"} {
		name := fmt.Sprint("api", i)
		publish := func(path string) {
			definition := []byte(apitest.FileAt(service.URL+base, "1", "/healthz", "/t/{id}"))
			_, err := w.Publisher.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: definition, Path: path})
			require.NoError(t, err, base)
		}
		for _, path := range []string{"/healthz", "/t/a%2Fb;c='%20%C3%A9"} {
			publish(apimgmt.NoPath)
			want := ask(t, http.MethodGet, front.URL+path)
			publish("/below")
			require.Equal(t, want, ask(t, http.MethodGet, front.URL+"/below"+path), base)
		}
		require.NoError(t, w.Publisher.Delete(t.Context(), name, "x", apimgmt.Condition{}))
	}
}
