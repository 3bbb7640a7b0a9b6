package apimgmt_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
)

// transforming is a gateway that can take paths off.
func transforming(c *apimgmt.Config) {
	c.Gateway = apimgmt.NewMemoryGateway([]string{"cors", "deprecation", "request-transformer"})
}

// platform are the OpenAPI files of the platform's own servers, by name.
func platform(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for name, folder := range map[string]string{
		"annotator":     "annotate/manager",
		"collector":     "flcollect",
		"fl-repository": "flcollect/repository",
		"models":        "modelrepo/rest",
		"publisher":     "apimgmt",
		"gateway-admin": "apimgmt/gateway/admin",
		"links":         "multilink/node",
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
	w := newWorld(t, func(c *apimgmt.Config) {
		c.Gateway, c.GatewayURL, c.Upstreams = embedded{g}, front.URL, apimgmt.Upstreams{Private: loopback()}
	})
	for name, data := range platform(t) {
		record, err := w.publisher.Publish(t.Context(),
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
	w := newWorld(t, transforming)
	require.Equal(t, http.StatusOK, w.post("First", file("1", "/healthz"), "").status)
	a := w.post("Second one", file("1", "/healthz"), "")
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.body, `both match \"~/healthz$\"; publish with path=/second-one to serve it below a prefix`)
	a = w.post("Größe", file("1", "/healthz"), "")
	require.Contains(t, a.body, "publish with path=/name to serve it")
	require.Equal(t, http.StatusOK, w.post("Second one", file("1", "/healthz"), "&path=/second-one").status)
	require.Equal(t, http.StatusOK, w.post("Third", file("1", "/healthz"), "&path=/a").status)

	a = w.post("Fourth", file("1", "/one/healthz"), "&path=/second") // which are other routes
	require.Equal(t, http.StatusOK, a.status, a.body)
	for _, tc := range []struct{ enabler, definition, path string }{
		{"second-one.b", file("1", "/healthz"), "/second-one"}, {"x", file("1", "/a/healthz"), ""}, {"a", file("1", "/healthz"), "/a"},
	} {
		a = w.post(tc.enabler, tc.definition, "&path="+tc.path)
		require.Equal(t, http.StatusConflict, a.status, "%+v %s", tc, a.body)
		require.NotContains(t, a.body, "the_path_after")
	}
	require.Contains(t, a.body, "publish with path=/a-2 to serve it below another prefix")

	require.Equal(t, http.StatusOK, w.post("Late", file("1", "/healthz"), "&state=draft").status)
	_, err := w.publisher.SetState(t.Context(), "Late", "1", apimgmt.Transition{State: apimgmt.Published})
	require.ErrorIs(t, err, apimgmt.ErrConflict)
	require.ErrorContains(t, err, "publish with path=/late")
}

func TestPublisher_Publish_keepsThePath(t *testing.T) {
	w := newWorld(t, transforming)
	var r apimgmt.Record
	publish := func(version, path, more string) apimgmt.Record {
		t.Helper()
		a := w.post("w", file(version, path), more)
		require.Equal(t, http.StatusOK, a.status, a.body)
		var made apimgmt.Record
		a.decode(t, &made)
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
	require.Len(t, served(t, w.gateway, "w"), 2)

	contentType, body := form(t, file("2", "/c"))
	a := w.do(http.MethodPut, "/OpenAPIDocumentation/w", "dev", contentType, body)
	require.Equal(t, http.StatusOK, a.status, a.body)
	a = w.get("/OpenAPIDocumentation/w/versions/2")
	require.Contains(t, a.body, `"path":"/below"`)
	require.Contains(t, a.body, "http://gateway.example/below/c")
	r = publish("3", "/b", "&path=/") // no longer
	require.Equal(t, []string{"", "http://gateway.example/b"}, []string{r.Path, r.Routes[0].URL})

	var preview apimgmt.Preview
	w.post("w", file("4", "/d"), "&path=/x&dry_run=1").decode(t, &preview)
	require.Equal(t, []string{"/x", "http://gateway.example/x/d"}, []string{preview.Path, preview.Routes[0].URL})
	list, _, err := w.publisher.List(t.Context(), apimgmt.Query{Text: "/below"})
	require.NoError(t, err)
	require.Len(t, list, 1)

	require.NoError(t, w.publisher.DeleteVersion(t.Context(), "w", "2", "x", apimgmt.Condition{}))
	require.Len(t, served(t, w.gateway, "w"), 1)
	require.NoError(t, w.publisher.Delete(t.Context(), "w", "x", apimgmt.Condition{}))
	require.Empty(t, served(t, w.gateway, "w"))
}

func TestPublisher_Publish_withoutAPathAnswersAsBefore(t *testing.T) {
	w := newWorld(t)
	a := w.post("w", file("1", "/a"), "")
	require.Equal(t, http.StatusOK, a.status)
	require.NotContains(t, a.body, `"path":""`)
	var r apimgmt.Record
	a.decode(t, &r)
	require.Equal(t, "http://gateway.example", r.GatewayURL)
	stored, err := w.docs.Get(t.Context(), "enabler/w")
	require.NoError(t, err)
	require.NotContains(t, string(stored.Data), "listen_path")
	a = w.post("w", file("1", "/a"), "&path=/x") // the gateway has no request-transformer
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.body, `the gateway has no plugin \"request-transformer\"`)
}

func TestUpload_path_isCheckedAndMayBeInTheForm(t *testing.T) {
	w := newWorld(t, transforming)
	for _, path := range []string{"a", "/a/", "/a//b", "/a/../b", "/{id}", "/a.*", "//", "~/a"} {
		a := w.post("w", file("1", "/a"), "&path="+url.QueryEscape(path))
		require.Equal(t, http.StatusUnprocessableEntity, a.status, path)
		require.Contains(t, a.body, `{"loc":["query","path"],"msg":"the path `, path)
	}
	inForm := func(path, more string) answer {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		part, err := m.CreateFormFile("upload_file", "api.json")
		require.NoError(t, err)
		_, err = io.WriteString(part, file("1", "/a"))
		require.NoError(t, err)
		require.NoError(t, m.WriteField("path", path))
		require.NoError(t, m.Close())
		return w.do(http.MethodPost, "/OpenAPIDocumentation/?enabler=w&description="+more, "dev", m.FormDataContentType(), &b)
	}
	a := inForm("/{id}", "")
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.Contains(t, a.body, `{"loc":["body","path"]`)
	require.Equal(t, http.StatusUnprocessableEntity, inForm("/a", "&path=/b").status)
	require.Equal(t, http.StatusOK, inForm("", "").status)
	require.Equal(t, []string{"/a"}, served(t, w.gateway, "w"))
	a = inForm("/below", "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, []string{"/below(?<the_path_after_the_listen_prefix>/a)"}, served(t, w.gateway, "w"))
	_, err := w.publisher.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(file("1", "/a")), Path: "x"})
	require.ErrorIs(t, err, apimgmt.ErrInvalid)
}

func TestClient_Publish_sendsThePath(t *testing.T) {
	w := newWorld(t, transforming)
	client, err := apimgmt.NewClient(w.server.URL, &apimgmt.ClientOptions{Token: func(context.Context) (string, error) { return "dev", nil }})
	require.NoError(t, err)
	r, err := client.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(file("1", "/a")), Path: "/below"})
	require.NoError(t, err)
	require.Equal(t, "/below", r.Path)
	r, err = client.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(file("1", "/a")),
		KeepDescription: true, Path: apimgmt.NoPath})
	require.NoError(t, err)
	require.Empty(t, r.Path)
}

// What the service sees does not depend on the listen path, whatever characters the
// path of its server has.
func TestPublisher_Publish_belowAPathKeepsThePathOfTheServer(t *testing.T) {
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	w := newWorld(t, func(c *apimgmt.Config) {
		c.Gateway, c.GatewayURL, c.Upstreams = embedded{g}, front.URL, apimgmt.Upstreams{Private: loopback()}
	})
	service := echo(t, "s")
	for i, base := range []string{"", "/v1", "/a%20b", "/a%2Fb", "/a;v=1", "/%C3%A9", "/é", "/a(b)'c", "/a+b,c@d"} {
		name := fmt.Sprint("api", i)
		publish := func(path string) {
			definition := []byte(fileAt(service.URL+base, "1", "/healthz", "/t/{id}"))
			_, err := w.publisher.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: definition, Path: path})
			require.NoError(t, err, base)
		}
		for _, path := range []string{"/healthz", "/t/a%2Fb;c='%20%C3%A9"} {
			publish(apimgmt.NoPath)
			want := ask(t, http.MethodGet, front.URL+path)
			publish("/below")
			require.Equal(t, want, ask(t, http.MethodGet, front.URL+"/below"+path), base)
		}
		require.NoError(t, w.publisher.Delete(t.Context(), name, "x", apimgmt.Condition{}))
	}
}
