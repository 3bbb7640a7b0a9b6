package page_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/page"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

var (
	model   = modelrepo.Path{Namespace: "w3c", Model: "sosa"}
	version = modelrepo.Path{Namespace: "w3c", Model: "sosa", Version: "1.0"}
)

// prepare creates the version, and what it is in.
func prepare(t *testing.T, s *modelrepo.Store) {
	t.Helper()
	require.NoError(t, s.CreateNamespace(t.Context(), version.Namespace, modelrepo.NamespaceUpdate{}))
	require.NoError(t, s.CreateModel(t.Context(), model, modelrepo.ModelUpdate{}))
	require.NoError(t, s.CreateVersion(t.Context(), version, modelrepo.VersionUpdate{}))
}

// visit is the pages of a repository, as a browser without scripts uses them.
type visit struct {
	t       *testing.T
	store   *modelrepo.Store
	handler http.Handler
}

func newVisit(t *testing.T, limits modelrepo.Limits, opts *rest.HandlerOptions) *visit {
	s, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Limits: limits,
	})
	require.NoError(t, err)
	return &visit{t, s, http.StripPrefix("/ui/models", page.NewHandler(s, opts))}
}

func (v *visit) send(method, path, contentType, body string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/ui/models"+path, strings.NewReader(body)), httptest.NewRecorder()
	r.Header.Set("Accept", "text/html")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	v.handler.ServeHTTP(w, r)
	return w
}

func (v *visit) get(path string) *httptest.ResponseRecorder { return v.send("GET", path, "", "") }

// page returns the text of a page that is there.
func (v *visit) page(path string) string {
	w := v.get(path)
	require.Equal(v.t, http.StatusOK, w.Code, "%s: %s", path, w.Body)
	return w.Body.String()
}

func (v *visit) post(path string, form url.Values) *httptest.ResponseRecorder {
	return v.send("POST", path, "application/x-www-form-urlencoded", form.Encode())
}

// follow posts a form and returns the path of the page that it leads to.
func (v *visit) follow(path string, form url.Values) string {
	w := v.post(path, form)
	require.Equal(v.t, http.StatusSeeOther, w.Code, "%s: %s", path, w.Body)
	to, err := url.Parse("/ui/models" + path)
	require.NoError(v.t, err)
	to, err = to.Parse(w.Header().Get("Location"))
	require.NoError(v.t, err)
	require.True(v.t, strings.HasPrefix(to.Path, "/ui/models/"), to.Path)
	return strings.TrimPrefix(to.Path, "/ui/models")
}

// file posts a file as the form of a version does.
func (v *visit) file(path, name, contentType, content string, fields map[string]string) *httptest.ResponseRecorder {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		require.NoError(v.t, form.WriteField(field, fields[field]))
	}
	part, err := form.CreatePart(map[string][]string{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="content"; filename="%s"`, name)}, "Content-Type": {contentType},
	})
	require.NoError(v.t, err)
	_, err = part.Write([]byte(content))
	require.NoError(v.t, err)
	require.NoError(v.t, form.Close())
	return v.send("POST", path, form.FormDataContentType(), body.String())
}

func TestNewHandler_deletesAVersionWithItsAliasesWhenItsTagIsTyped(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	_, err := v.store.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Aliases: map[string]string{"production": "1.0", "old": "0.9"}})
	require.NoError(t, err)
	page := v.page("/v/w3c/sosa/1.0")
	require.Contains(t, page, "<code>production</code>")
	require.NotContains(t, page, "<code>old</code>")
	refused := v.post("/v/w3c/sosa/1.0/delete", nil)
	require.Equal(t, http.StatusConflict, refused.Code)
	require.Contains(t, refused.Body.String(), "&#39;production&#39;")
	require.Equal(t, http.StatusBadRequest, v.post("/v/w3c/sosa/1.0/delete", url.Values{"tag": {"1"}}).Code)
	require.Equal(t, "/m/w3c/sosa", v.follow("/v/w3c/sosa/1.0/delete", url.Values{"tag": {"1.0"}}))
	m, err := v.store.Model(t.Context(), model, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"old": "0.9"}, m.Aliases)
}

func TestNewHandler_makesAndDeletesNodes(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	require.Contains(t, v.page("/"), "There is no namespace yet.")
	metadata := url.Values{"name": {" w3c "}, "metadata": {"title: The <b>W3C</b>\r\nlicence: A\r\nlicence: B\r\n"}}
	require.Equal(t, "/n/w3c", v.follow("/new", metadata))
	require.Contains(t, v.page("/"), "title: The &lt;b&gt;W3C&lt;/b&gt;")
	n, err := v.store.Namespace(t.Context(), "w3c", nil)
	require.NoError(t, err)
	require.Equal(t, modelrepo.Metadata{"title": {"The <b>W3C</b>"}, "licence": {"A", "B"}}, n.Metadata)

	require.Contains(t, v.page("/n/w3c"), "There is no model in this namespace yet.")
	require.Equal(t, "/m/w3c/sosa", v.follow("/n/w3c/new", url.Values{"name": {"sosa"}}))
	require.Contains(t, v.page("/m/w3c/sosa"), "There is no version of this model yet.")
	require.Equal(t, "/v/w3c/sosa/1.0+a", v.follow("/m/w3c/sosa/new", url.Values{"name": {"1.0+a"}}))
	require.Contains(t, v.page("/v/w3c/sosa/1.0+a"), "This version has no content yet.")
	require.Contains(t, v.page("/m/w3c/sosa"), `href="../../v/w3c/sosa/1.0&#43;a"`)

	for path, text := range map[string]string{"/n/w3c/delete": "is not empty", "/m/w3c/sosa/delete": "is not empty"} {
		refused := v.post(path, nil)
		require.Equal(t, http.StatusBadRequest, refused.Code)
		require.Contains(t, refused.Body.String(), text)
		require.Contains(t, refused.Body.String(), "Back to w3c")
	}
	require.Equal(t, "/m/w3c/sosa", v.follow("/v/w3c/sosa/1.0+a/delete", nil))
	require.Equal(t, "/n/w3c", v.follow("/m/w3c/sosa/delete", nil))
	require.Equal(t, "/", v.follow("/n/w3c/delete", nil))
	gone := v.get("/n/w3c")
	require.Equal(t, http.StatusNotFound, gone.Code)
	require.Contains(t, gone.Body.String(), "All namespaces")
}

func TestNewHandler_saysAtTheFieldWhatIsWrong(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{ModelsPerNamespace: 1}, nil)
	prepare(t, v.store)
	for _, line := range []struct {
		path, name, metadata, field string
		status                      int
	}{
		{"/new", "a/b", "", "name", http.StatusBadRequest},
		{"/new", "docs", "", "name", http.StatusBadRequest},
		{"/new", "w3c", "", "name", http.StatusConflict},
		{"/new", "other", "no colon", "metadata", http.StatusBadRequest},
		{"/new", "other", "@unset: all", "metadata", http.StatusBadRequest},
		{"/n/w3c/new", "sosa", "", "name", http.StatusConflict},
		{"/n/w3c/new", "second", "", "", http.StatusInsufficientStorage},
		{"/m/w3c/sosa/new", "latest", "", "name", http.StatusBadRequest},
		{"/m/w3c/sosa/new", "1.0", "", "name", http.StatusConflict},
	} {
		w := v.post(line.path, url.Values{"name": {line.name}, "metadata": {line.metadata + "\nkept: <kept>"}})
		require.Equal(t, line.status, w.Code, "%+v: %s", line, w.Body)
		page := w.Body.String()
		require.Contains(t, page, `role="alert"`)
		require.Contains(t, page, "kept: &lt;kept&gt;", "what was typed stays")
		if line.field != "" {
			require.Regexp(t, `id="`+line.field+`"[^>]*aria-invalid="true"`, page, "%+v", line)
		}
	}
	require.Equal(t, http.StatusNotFound, v.post("/n/none/new", url.Values{"name": {"m"}}).Code)
}

// before fills in a form as it is shown: with what is there.
func before(values url.Values) url.Values {
	form := url.Values{}
	for name, value := range values {
		form[name], form["before."+name] = value, value
	}
	return form
}

func TestNewHandler_changesWhatWasChanged(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	_, err := v.store.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{LatestVersion: "1.0",
		Aliases:  map[string]string{"stable": "1.0", "old": "0.9"},
		Metadata: modelrepo.Metadata{"text": {"two\nlines", `a\nb`}, "gone": {"x"}, "spaced": {" y "}}})
	require.NoError(t, err)
	shown := v.page("/m/w3c/sosa/change")
	require.Contains(t, shown, "gone: x\nspaced:  y \ntext: two\\nlines\ntext: a\\\\nb\n</textarea>")
	require.Contains(t, shown, "old: 0.9\nstable: 1.0\n</textarea>")

	form := before(url.Values{"latest": {"1.0"}, "aliases": {"old: 0.9\r\nstable: 1.0\r\n"},
		"metadata": {"gone: x\r\nspaced:  y \r\ntext: two\\nlines\r\ntext: a\\\\nb\r\n"}})
	form.Set("metadata", "spaced: y\ntext: two\\nlines\ntext: c")
	form.Set("aliases", "stable: 2.0\n")
	form.Set("latest", "")
	// Another person adds a key while the form is open.
	_, err = v.store.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Metadata: modelrepo.Metadata{"theirs": {"z"}}})
	require.NoError(t, err)
	require.Equal(t, "/m/w3c/sosa", v.follow("/m/w3c/sosa/change", form))
	m, err := v.store.Model(t.Context(), model, nil)
	require.NoError(t, err)
	require.Equal(t, modelrepo.Metadata{"text": {"two\nlines", "c"}, "spaced": {" y "}, "theirs": {"z"}}, m.Metadata)
	require.Equal(t, map[string]string{"stable": "2.0"}, m.Aliases)
	require.Empty(t, m.LatestVersion)

	form.Set("aliases", "stable: 1\nstable: 2")
	require.Contains(t, v.post("/m/w3c/sosa/change", form).Body.String(), "The alias &#39;stable&#39; has two lines")
	require.Equal(t, "/n/w3c", v.follow("/n/w3c/change", url.Values{"metadata": {"title: t"}}))
	require.Contains(t, v.page("/n/w3c"), "title: t")
}

func TestNewHandler_makesAVersionImmutable(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	require.Equal(t, http.StatusSeeOther, v.file("/v/w3c/sosa/1.0/content", "a.ttl", "", "a", nil).Code)
	form := before(url.Values{"defaultFormat": {"text/turtle"}, "metadata": {""}})
	form.Set("immutable", "1")
	require.Equal(t, "/v/w3c/sosa/1.0", v.follow("/v/w3c/sosa/1.0/change", form))
	page := v.page("/v/w3c/sosa/1.0")
	require.Contains(t, page, "immutable</span>")
	require.NotContains(t, page, `id="upload"`)
	require.Equal(t, http.StatusConflict, v.file("/v/w3c/sosa/1.0/content", "b.nt", "", "b", nil).Code)
	require.Equal(t, http.StatusConflict, v.post("/v/w3c/sosa/1.0/delete", nil).Code)
	require.Equal(t, http.StatusBadRequest, v.post("/v/w3c/sosa/1.0/delete", url.Values{"tag": {"1"}}).Code)
	require.Equal(t, "/m/w3c/sosa", v.follow("/v/w3c/sosa/1.0/delete", url.Values{"tag": {"1.0"}}))
	require.ErrorIs(t, v.store.Exists(t.Context(), version), modelrepo.ErrNotFound)
}

func TestNewHandler_takesFilesWithoutScripts(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	const at = "/v/w3c/sosa/1.0/content"
	for _, line := range []struct {
		name, contentType, format, stored string
	}{
		{"a.ttl", "application/octet-stream", "", "text/turtle"},
		{"a.json", "application/json; charset=utf-8", "", "application/json"},
		{"a", "", "", "application/octet-stream"},
		{"a.ttl", "text/turtle", " mine ", "mine"},
	} {
		w := v.file(at, line.name, line.contentType, "<content>", map[string]string{"format": line.format})
		require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
		require.Equal(t, "../../../../v/w3c/sosa/1.0", w.Header().Get("Location"))
		link := `/content?format=` + strings.ToLower(url.QueryEscape(line.stored)) + `" download="sosa-1.0`
		require.Contains(t, v.page("/v/w3c/sosa/1.0"), link)
	}
	require.Contains(t, v.page("/v/w3c/sosa/1.0"), fmt.Sprintf("%x", sha256.Sum256([]byte("<content>"))))
	require.Equal(t, "<content>", v.page("/api/w3c/sosa/1.0/content?format=text%2Fturtle"))

	again := v.file(at, "a.ttl", "", "other", nil)
	require.Equal(t, http.StatusBadRequest, again.Code)
	require.Contains(t, again.Body.String(), "already exists")
	require.Equal(t, http.StatusSeeOther, v.file(at, "a.ttl", "", "other", map[string]string{"overwrite": "1"}).Code)
	require.Contains(t, v.file(at, "", "", "", nil).Body.String(), "No file was chosen.")
	require.Equal(t, http.StatusUnsupportedMediaType, v.post(at, nil).Code)

	require.Equal(t, "/v/w3c/sosa/1.0", v.follow(at+"/delete", url.Values{"format": {"mine"}}))
	require.NotContains(t, v.page("/v/w3c/sosa/1.0"), "Download mine")
}

func TestNewHandler_rendersDocumentation(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	const at = "/v/w3c/sosa/1.0/documentation"
	for _, text := range []string{"# One<script>", "# Two<script>"} { // the second in place of the first
		require.Equal(t, http.StatusSeeOther, v.file(at, "README.md", "text/markdown", text, nil).Code)
	}
	require.Contains(t, v.page("/v/w3c/sosa/1.0"), `href="../../../api/w3c/sosa/1.0/doc/"`)
	require.Regexp(t, `<h1[^>]*>Two`, v.page("/api/w3c/sosa/1.0/doc/"))
	require.Equal(t, "/v/w3c/sosa/1.0", v.follow(at+"/delete", nil))
	require.NotContains(t, v.page("/v/w3c/sosa/1.0"), "Read the documentation")
	require.Equal(t, http.StatusUnsupportedMediaType, v.post(at, nil).Code)
}

func TestNewHandler_listsAPageAtATime(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	require.NoError(t, v.store.CreateNamespace(t.Context(), "many", modelrepo.NamespaceUpdate{}))
	for i := range 120 {
		at := modelrepo.Path{Namespace: "many", Model: fmt.Sprintf("m%03d", i)}
		with := modelrepo.ModelUpdate{Metadata: modelrepo.Metadata{"kind": {"k" + fmt.Sprint(i%2)}}}
		require.NoError(t, v.store.CreateModel(t.Context(), at, with))
	}
	names := func(query string) (first string, count int) {
		page := v.page("/n/many" + query)
		first = ""
		if _, rest, found := strings.Cut(page, `<th scope="row"><a href="../m/many/`); found {
			first, _, _ = strings.Cut(rest, `"`)
		}
		return first, strings.Count(page, `<th scope="row">`)
	}
	for _, line := range []struct {
		query, first string
		count        int
	}{
		{"", "m000", 50}, {"?page=3", "m100", 20}, {"?page=2&order=descending", "m069", 50}, {"?page=nonsense", "m000", 50},
		{"?key=kind&value=k1&page=2", "m101", 10}, {"?value=m007", "m007", 1},
	} {
		first, count := names(line.query)
		require.Equal(t, line.first, first, line.query)
		require.Equal(t, line.count, count, line.query)
	}
	page := v.page("/n/many?key=kind&value=k1")
	require.Contains(t, page, "60 models")
	require.Contains(t, page, `href="?key=kind&amp;page=2&amp;value=k1"`, "the filter stays")
	require.Contains(t, page, "page 1 of 2")
	for _, query := range []string{"?page=4", "?key=kind&value=none"} {
		require.Contains(t, v.page("/n/many"+query), "Show all")
	}
	require.Equal(t, http.StatusBadRequest, v.get("/n/many?key=a%20b&value=x").Code)
}

func TestNewHandler_opensPaths(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	_, err := v.store.UpdateModel(t.Context(), model, modelrepo.ModelUpdate{Aliases: map[string]string{"stable": "1.0"}})
	require.NoError(t, err)
	for path, to := range map[string]string{
		"w3c": "./n/w3c", " /w3c/sosa/ ": "./m/w3c/sosa", "w3c/sosa/1.0": "./v/w3c/sosa/1.0",
		"w3c/sosa/stable": "./v/w3c/sosa/stable",
	} {
		require.Equal(t, to, v.get("/open?path="+url.QueryEscape(path)).Header().Get("Location"))
	}
	require.Contains(t, v.page("/v/w3c/sosa/stable"), "sosa 1.0")
	for _, path := range []string{"", "none", "w3c/none", "w3c/sosa/none", "<script>", "a/b/c/d"} {
		w := v.get("/open?path=" + url.QueryEscape(path))
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.NotContains(t, w.Body.String(), "<script>")
	}
}

func TestNewHandler_showsUsageAndQuotas(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{NamespaceBytes: 2_000, ModelsPerNamespace: 7}, nil)
	prepare(t, v.store)
	const at = "/v/w3c/sosa/1.0/content"
	require.Equal(t, http.StatusSeeOther, v.file(at, "a.ttl", "", strings.Repeat("a", 1500), nil).Code)
	page := v.page("/n/w3c/usage")
	require.Contains(t, page, `max="2000" value="1500"`)
	require.Contains(t, page, `max="7" value="1"`)
	require.Contains(t, v.page("/usage"), "<dd>1.5 kB</dd>")
	require.Equal(t, http.StatusNotFound, v.get("/n/none/usage").Code)
	full := v.file(at, "a.nt", "", strings.Repeat("a", 1500), nil)
	require.Equal(t, http.StatusInsufficientStorage, full.Code)
	require.Contains(t, full.Body.String(), "can hold 2000 bytes")
}

func TestNewHandler_managesWebhooks(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	empty := v.page("/webhooks")
	require.Contains(t, empty, "No webhooks yet.")
	for _, info := range modelrepo.Actions() {
		require.Contains(t, empty, "<option value=\""+string(info.Action)+"\">")
	}
	form := url.Values{"action": {"content_upload"}, "callback": {"https://example.org/?<x>"}, "namespace": {"w3c"}}
	made := v.post("/webhooks", form)
	require.Equal(t, http.StatusOK, made.Code)
	require.Regexp(t, `id="secret">[A-Z0-9]{26}<`, made.Body.String())
	page := v.page("/webhooks")
	require.NotContains(t, page, `id="secret"`, "it is shown once")
	require.Contains(t, page, "https://example.org/?&lt;x&gt;")
	require.Contains(t, page, "w3c/*/*")
	form.Set("callback", "ftp://example.org")
	refused := v.post("/webhooks", form)
	require.Equal(t, http.StatusBadRequest, refused.Code)
	require.Contains(t, refused.Body.String(), `value="ftp://example.org"`)
	all, err := v.store.Webhooks().List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "/webhooks", v.follow("/webhooks/"+all[0].ID+"/delete", nil))
	require.Equal(t, http.StatusNotFound, v.post("/webhooks/"+all[0].ID+"/delete", nil).Code)
}

func TestNewHandler_requiresRoles(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, &rest.HandlerOptions{Authorize: httpapitest.Authorize})
	gets := map[string]string{
		"/": "reader", "/open": "reader", "/usage": "reader", "/n/w3c": "reader", "/n/w3c/usage": "reader",
		"/m/w3c/sosa": "reader", "/v/w3c/sosa/1.0": "reader", "/new": "operator", "/n/w3c/new": "operator",
		"/m/w3c/sosa/new": "operator", "/n/w3c/change": "operator", "/m/w3c/sosa/change": "operator",
		"/v/w3c/sosa/1.0/change": "operator", "/webhooks": "admin", "/api/w3c": "reader", "/api/h": "admin",
	}
	posts := map[string]string{
		"/new": "operator", "/n/w3c/new": "operator", "/m/w3c/sosa/new": "operator", "/n/w3c/change": "operator",
		"/m/w3c/sosa/change": "operator", "/v/w3c/sosa/1.0/change": "operator", "/n/w3c/delete": "operator",
		"/m/w3c/sosa/delete": "operator", "/v/w3c/sosa/1.0/delete": "operator", "/v/w3c/sosa/1.0/content": "operator",
		"/v/w3c/sosa/1.0/content/delete": "operator", "/v/w3c/sosa/1.0/documentation": "operator",
		"/v/w3c/sosa/1.0/documentation/delete": "operator", "/webhooks": "admin", "/webhooks/x/delete": "admin",
	}
	rank := map[string]int{"reader": 1, "operator": 2, "admin": 3}
	for method, paths := range map[string]map[string]string{"GET": gets, "POST": posts} {
		for path, needed := range paths {
			require.Equal(t, http.StatusUnauthorized, v.send(method, path, "", "").Code, path)
			for role := range rank {
				r, w := httptest.NewRequest(method, "/ui/models"+path, nil), httptest.NewRecorder()
				r.Header.Set("Authorization", "Bearer "+role)
				v.handler.ServeHTTP(w, r)
				refused := w.Code == http.StatusForbidden
				require.Equal(t, rank[role] < rank[needed], refused, "%s %s as %s: %d", method, path, role, w.Code)
			}
		}
	}
	require.Equal(t, http.StatusOK, v.get("/page/look.css").Code)
}

func TestNewHandler_offersWhatThePersonMayDo(t *testing.T) {
	v := newVisit(t, modelrepo.Limits{}, nil)
	prepare(t, v.store)
	require.Equal(t, http.StatusSeeOther, v.file("/v/w3c/sosa/1.0/content", "a.ttl", "", "a", nil).Code)
	person := shell.Person{Name: "Ada"}
	around := &shell.Shell{Name: "platform", Sections: func(*http.Request) []shell.Section { return nil },
		Person: func(*http.Request) shell.Person { return person }}
	v.handler = around.With(v.handler)
	changes := regexp.MustCompile(`method="post"|/new"|/change"`)
	for _, path := range []string{"/", "/n/w3c", "/m/w3c/sosa", "/v/w3c/sosa/1.0"} {
		person.Role = httpapi.Reader
		require.NotRegexp(t, changes, v.page(path), "a reader changes nothing")
		person.Role = httpapi.Operator
		require.Regexp(t, changes, v.page(path))
		require.NotContains(t, v.page(path), `/webhooks"`)
	}
	person.Role = httpapi.Admin
	require.Contains(t, v.page("/"), `/webhooks"`)
}

// FuzzReadMetadata checks that metadata are the same after they were shown and sent back.
func FuzzReadMetadata(f *testing.F) {
	for _, text := range []string{"", "a: b\na: c", "a:", "a: two\\nlines \\\\\\r\r\n\n b : x:y", "none", "@unset: x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		made, err := page.ReadMetadata(text)
		if err != nil {
			return
		}
		again, err := page.ReadMetadata(page.MetadataText(made))
		require.NoError(t, err)
		require.Equal(t, made, again)
	})
}

// BenchmarkNewHandler_list is the page of a namespace of 100,000 models, which has to open in under
// 300 ms.
func BenchmarkNewHandler_list(b *testing.B) {
	documents := storage.NewMemoryDocuments()
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: storage.NewMemoryBlobs()})
	require.NoError(b, err)
	require.NoError(b, s.CreateNamespace(b.Context(), "many", modelrepo.NamespaceUpdate{}))
	for i := range 100_000 {
		at := modelrepo.Path{Namespace: "many", Model: fmt.Sprintf("m%06d", i)}
		with := modelrepo.ModelUpdate{Metadata: modelrepo.Metadata{"kind": {fmt.Sprint(i % 100)}}}
		require.NoError(b, s.CreateModel(b.Context(), at, with))
	}
	h := page.NewHandler(s, nil)
	for name, query := range map[string]string{
		"first": "", "last": "?page=2000", "name": "?value=m050000", "filtered": "?key=kind&value=7", "usage": "/usage",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/n/many"+query, nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
