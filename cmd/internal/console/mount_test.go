package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/internal/shell"
)

// echo answers with its name and the path that it gets.
func echo(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, name, " ", r.URL.Path) })
}

func TestMount_servesPartsBelowTheRoot(t *testing.T) {
	parts := []console.Part{
		{Section: "Models", Path: "models", Handler: echo("models")},
		{Section: "Links", Path: "links", Handler: echo("links")},
	}
	h := console.Mount(echo("next"), console.MountConfig{Name: "enablers", Front: true, Parts: parts})
	get := func(path, accept string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", accept)
		h.ServeHTTP(w, r)
		return w
	}
	for path, want := range map[string]string{"/w3c/sosa": "next /w3c/sosa", "/ui/models/w3c": "models /w3c", "/ui/links/": "links /",
		"/": "next /", "/ui/unknown/": "next /ui/unknown/"} {
		require.Equal(t, want, get(path, "*/*").Body.String(), path)
	}
	require.Equal(t, "/ui/models/", get("/ui/", "text/html").Header().Get("Location"))
	require.Equal(t, "/ui/", get("/", "text/html,*/*;q=0.8").Header().Get("Location"))
	require.Equal(t, "Accept", get("/", "text/html").Header().Get("Vary"))
}

func TestMount_showsThePersonOfThePart(t *testing.T) {
	page := shell.NewPart(shell.PartConfig{Section: "Things", Files: fstest.MapFS{
		"page.html": {Data: []byte(`{{template "top" .}}{{template "foot" .}}`)}}})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view := struct{ shell.Frame }{page.Frame(r, "A page")}
		require.NoError(t, page.Show(w, r, http.StatusOK, "page.html", &view))
	})
	person := func(name string) func(*http.Request) shell.Person {
		return func(*http.Request) shell.Person { return shell.Person{Name: name} }
	}
	h := console.Mount(echo("next"), console.MountConfig{Name: "enablers", Person: person("Ada"), Parts: []console.Part{
		{Section: "Things", Path: "things", Handler: handler}, {Section: "Others", Path: "others", Handler: handler, Person: person("Bob")},
	}})
	for path, name := range map[string]string{"/ui/things/": "Ada", "/ui/others/": "Bob"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		require.Contains(t, w.Body.String(), "<strong>"+name+"</strong>", path)
		require.Contains(t, w.Body.String(), `<a href="/ui/others/">Others</a>`, path)
	}
}

func TestMount_leadsToPartsOfOtherListeners(t *testing.T) {
	h := console.Mount(echo("next"), console.MountConfig{Name: "enablers", Overview: echo("overview"), Parts: []console.Part{
		{Section: "Training", Path: "training", Elsewhere: "http://127.0.0.1:8000"},
	}})
	for path, want := range map[string]string{
		"/ui/training/":              "http://127.0.0.1:8000/",
		"/ui/training/live/a%2Fb?x=": "http://127.0.0.1:8000/live/a%2Fb?x=",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		require.Equal(t, want, w.Header().Get("Location"), path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/ui/", nil))
	require.Equal(t, "overview /", w.Body.String())
}

func TestMount_leadsToTheFirstPartOfASection(t *testing.T) {
	part := shell.NewPart(shell.PartConfig{Section: "APIs", Files: fstest.MapFS{
		"one.html": {Data: []byte(`{{template "head" .}}{{template "top" .}}{{template "foot" .}}`)}, "page.css": {},
	}})
	h := console.Mount(echo("next"), console.MountConfig{Name: "enablers", Parts: []console.Part{
		{Section: "APIs", Path: "apis", Name: "Library", Handler: echo("apis")},
		{Section: "APIs", Path: "gateway", Name: "Gateway", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			view := struct{ shell.Frame }{part.Frame(r, "Gateway", shell.Crumb{Name: "Gateway"})}
			_ = part.Show(w, r, http.StatusOK, "one.html", &view)
		})},
	}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/ui/gateway/", nil))
	require.Contains(t, w.Body.String(), `<a href="/ui/apis/" aria-current="true">APIs</a></nav>`, "one entry in the header")
	require.Contains(t, w.Body.String(), `<a href="/ui/apis/">Library</a><a href="/ui/gateway/" aria-current="true">Gateway</a></nav>`)
	require.Contains(t, w.Body.String(), `<li><a href="/ui/apis/">APIs</a></li><li><a href="./">Gateway</a></li>`)
}
