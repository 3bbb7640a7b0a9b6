package shell_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// view is that of the pages of these tests.
type view struct {
	shell.Frame
	At time.Time
}

// newHandler returns the handler of a part with a list, an item and an action.
func newHandler() http.Handler {
	part := shell.NewPart(shell.PartConfig{Section: "Things", Files: fstest.MapFS{
		"shared.html": {Data: []byte(`{{define "row"}}<i>{{time .At}}</i>{{end}}`)},
		"list.html": {Data: []byte(`{{template "head" .}}{{template "top" .}}{{if .Can "operator"}}<button>Make</button>{{end}}` +
			`{{template "row" .}}{{template "foot" .}}`)},
		"page.css": {Data: []byte("p{}")},
	}})
	show := func(w http.ResponseWriter, r *http.Request) error {
		return part.Show(w, r, http.StatusOK, "list.html", &view{Frame: part.Frame(r, "A <thing>", shell.Crumb{Name: "one", Href: "one"}),
			At: time.Unix(1e9, 0)})
	}
	return httpapi.NewHandler(append(part.Routes(),
		httpapi.Route{Pattern: "GET /{$}", Func: show, Undocumented: true},
		httpapi.Route{Pattern: "GET /things/{id}", Func: show, Undocumented: true},
		httpapi.Route{Pattern: "POST /things/{id}", Undocumented: true, Func: func(w http.ResponseWriter, _ *http.Request) error {
			return shell.SeeOther(w, "./", strings.Repeat("Gemacht: ü. ", 500))
		}},
	), nil)
}

func get(h http.Handler, path string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
	for _, cookie := range cookies {
		r.AddCookie(cookie)
	}
	h.ServeHTTP(w, r)
	return w
}

func TestPart_Show_worksWhereverItIsMounted(t *testing.T) {
	alone := newHandler()
	mux := http.NewServeMux()
	mux.Handle("/ui/things/", http.StripPrefix("/ui/things", alone))
	for path, root := range map[string]string{"/": "./", "/things/a%2Fb": "../", "/things/a/": "../../"} {
		for prefix, h := range map[string]http.Handler{"": alone, "/ui/things": mux} {
			w := get(h, prefix+path)
			require.Equal(t, http.StatusOK, w.Code, path)
			require.Contains(t, w.Body.String(), `href="`+root+`page/look.css"`, path)
			require.Contains(t, w.Body.String(), `<a href="`+root+`one">one</a>`)
			require.Contains(t, w.Body.String(), `<time datetime="2001-09-09T01:46:40Z">2001-09-09 01:46:40 UTC</time>`)
			require.Contains(t, w.Body.String(), "<title>A &lt;thing&gt; · Things</title>")
			require.Contains(t, w.Body.String(), "<button>Make</button>", "the server decides, not the page")
			require.NotContains(t, w.Body.String(), "Sign in")
		}
	}
	for _, name := range []string{"look.css", "icon.svg", "shell.js", "page.css"} {
		w := get(mux, "/ui/things/page/"+name)
		require.Equal(t, http.StatusOK, w.Code, name)
		body, err := io.ReadAll(w.Body)
		require.NoError(t, err)
		require.NotEmpty(t, body)
	}
	require.Equal(t, http.StatusNotFound, get(mux, "/ui/things/page/list.html").Code, "templates are not assets")
}

func TestShell_With_showsSectionsAndThePerson(t *testing.T) {
	person := shell.Person{Name: "Ada <x>", Role: httpapi.Reader, SignOut: "/out"}
	s := &shell.Shell{Name: "platform", Home: "/ui/", Person: func(*http.Request) shell.Person { return person },
		Sections: func(*http.Request) []shell.Section {
			return []shell.Section{{Name: "Overview", Href: "/ui/"}, {Name: "Things", Href: "/ui/things/"}}
		}}
	h := s.With(newHandler())
	page := get(h, "/").Body.String()
	require.Contains(t, page, `<a href="/ui/">Overview</a><a href="/ui/things/" aria-current="true">Things</a>`)
	require.Contains(t, page, "Ada &lt;x&gt;")
	require.Contains(t, page, `action="/out"`)
	require.NotContains(t, page, "<button>Make</button>", "a reader cannot create anything")
	person = shell.Person{Role: httpapi.Operator, SignIn: "/in"}
	page = get(h, "/").Body.String()
	require.Contains(t, page, `href="/in">Sign in</a>`)
	require.Contains(t, page, "<button>Make</button>")
	require.NotContains(t, page, "open to")
	person = shell.Person{Name: "Ada", Role: httpapi.Reader, OpenTo: "this machine"}
	page = get(h, "/").Body.String()
	require.Contains(t, page, `<strong>Ada</strong><span class="role">reader</span><span class="role">open to this machine</span>`)
	require.Contains(t, page, "<button>Make</button>", "everyone may do everything")
	person = shell.Person{OpenTo: "every machine"}
	page = get(h, "/").Body.String()
	require.Contains(t, page, `<span class="role">open to every machine</span></div>`)
	require.NotContains(t, page, "Sign in")
}

func TestSeeOther_saysOnceWhatHappened(t *testing.T) {
	h, w := newHandler(), httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/things/a", nil))
	require.Equal(t, http.StatusSeeOther, w.Code)
	cookies := w.Result().Cookies()
	require.Len(t, cookies, 1)
	require.Less(t, len(cookies[0].String()), 4096, "browsers keep no larger ones")
	page := get(h, "/", cookies...)
	require.Contains(t, page.Body.String(), `role="status">Gemacht: ü. Gemacht`)
	require.Negative(t, page.Result().Cookies()[0].MaxAge)
	require.NotContains(t, get(h, "/", &http.Cookie{Name: cookies[0].Name, Value: "%%%"}).Body.String(), `class="notice`)
}
