package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const password = "correct horse battery"

// browser is a user of the pages in a browser.
type browser struct {
	*client
	http *http.Client
}

func newBrowser(c *client) *browser {
	jar, err := cookiejar.New(nil)
	require.NoError(c, err)
	return &browser{client: c, http: &http.Client{Jar: jar}}
}

// answer is what came at the end of the redirects.
type answer struct {
	status int
	at     string // the path
	header http.Header
	text   string
}

func (b *browser) read(response *http.Response, err error) answer {
	b.Helper()
	require.NoError(b, err)
	data, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	require.NoError(b, response.Body.Close())
	return answer{response.StatusCode, response.Request.URL.Path, response.Header, string(data)}
}

func (b *browser) get(path string) answer {
	b.Helper()
	return b.read(b.http.Get(b.url + path))
}

// submit fills the form of a page in, with what it has hidden.
func (b *browser) submit(path string, fields url.Values) answer {
	b.Helper()
	page := b.get(path)
	for _, hidden := range regexp.MustCompile(
		`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(page.text, -1) {
		if !fields.Has(hidden[1]) {
			fields.Set(hidden[1], hidden[2])
		}
	}
	return b.read(b.http.PostForm(b.url+path, fields))
}

func (b *browser) setup() {
	b.Helper()
	require.Equal(b, "/admin/setup", b.get("/admin").at)
	a := b.submit("/admin/setup", url.Values{"name": {"root"}, "password": {password}, "again": {password}})
	require.Equal(b, 200, a.status)
	require.Equal(b, "/admin/", a.at)
}

func TestPages_createTheAdministratorOnce(t *testing.T) {
	c := newClient(t)
	var visits sync.WaitGroup
	results := make(chan answer, 4)
	for i := range 4 {
		b := newBrowser(c)
		visits.Go(func() {
			response, err := b.http.PostForm(b.url+"/admin/setup",
				url.Values{"name": {fmt.Sprint("root", i)}, "password": {password}, "again": {password}})
			if err == nil {
				results <- b.read(response, nil)
			}
		})
	}
	visits.Wait()
	close(results)
	statuses := map[int]int{}
	for a := range results {
		statuses[a.status]++
	}
	require.Equal(t, map[int]int{200: 1, 409: 3}, statuses)
	b := newBrowser(c)
	require.Equal(t, "/admin/sign-in", b.get("/admin/").at)
	require.Equal(t, "/admin/sign-in", b.get("/admin/setup").at)
	require.Equal(t, "/admin/sign-in", b.get("/admin/services").at)
}

func TestPages_refuseWeakOrDifferentPasswords(t *testing.T) {
	b := newBrowser(newClient(t))
	require.Equal(t, 400, b.submit("/admin/setup", url.Values{"name": {"root"}, "password": {"short"}, "again": {"short"}}).status)
	require.Equal(t, 400, b.submit("/admin/setup", url.Values{"name": {""}, "password": {password}, "again": {password}}).status)
	require.Equal(t, 400, b.submit("/admin/setup", url.Values{"name": {"root"}, "password": {password}, "again": {"other"}}).status)
	b.setup()
}

func TestPages_signInAndOut(t *testing.T) {
	c := newClient(t)
	b := newBrowser(c)
	b.setup()
	page := b.get("/admin/")
	require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
	require.NotContains(t, page.header.Get("Content-Security-Policy"), "unsafe")
	require.Equal(t, "no-store", page.header.Get("Cache-Control"))
	require.NotContains(t, page.text, "<script>")
	elsewhere := mustRequest(t, b.url+"/admin/sign-out", nil)
	elsewhere.Header.Set("Origin", "https://evil.example")
	require.Equal(t, 403, b.read(b.http.Do(elsewhere)).status, "a form of a page elsewhere")
	require.Contains(t, page.text, `action="./sign-out"`)
	require.Equal(t, "/admin/sign-in", b.read(b.http.PostForm(b.url+"/admin/sign-out", nil)).at)
	require.Equal(t, "/admin/sign-in", b.get("/admin/").at)

	response, err := http.DefaultTransport.RoundTrip(mustRequest(t, b.url+"/admin/sign-in",
		url.Values{"name": {"root"}, "password": {password}}))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	cookie := response.Cookies()[0]
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	require.Equal(t, "/admin/", b.submit("/admin/sign-in", url.Values{"name": {"root"}, "password": {password}}).at)

	// Guessing is slowed down, and the right password does not help then.
	for range 5 {
		require.Equal(t, 403, b.submit("/admin/sign-in", url.Values{"name": {"root"}, "password": {"wrong password"}}).status)
	}
	require.Equal(t, 429, b.submit("/admin/sign-in", url.Values{"name": {"root"}, "password": {password}}).status)
}

func mustRequest(t *testing.T, address string, form url.Values) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestPages_requireTheTokenForTheFirstVisit(t *testing.T) {
	handler := guarded(t, token)
	post := func(form url.Values) int {
		r := mustRequest(t, "http://gateway.example/admin/setup", form)
		r.RemoteAddr = there
		w := newRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	form := url.Values{"name": {"root"}, "password": {password}, "again": {password}}
	require.Equal(t, 403, post(form))
	form.Set("token", "a-wrong-token-of-it")
	require.Equal(t, 403, post(form))
	form.Set("token", token)
	require.Equal(t, 303, post(form))
	require.Equal(t, 403, ask(guarded(t, ""), "GET", "/admin/setup", "192.0.2.1:8101", there, nil).Code,
		"without a token only this machine has a page")
}

func TestPages_createChangeAndDeleteEntities(t *testing.T) {
	b := newBrowser(newClient(t))
	b.setup()
	a := b.submit("/admin/services/new", url.Values{"name": {"lamps"}, "protocol": {"http"}, "host": {"lamps.example"},
		"retries": {"2"}, "enabled": {"true"}, "tags": {"a\r\nb"}})
	require.Equal(t, "/admin/services", a.at)
	require.Contains(t, a.text, "Saved service “lamps”")
	service := b.do("GET", "/services/lamps", nil, 200)
	require.Equal(t, 2.0, service["retries"])
	require.Equal(t, []any{"a", "b"}, service["tags"])
	require.Equal(t, 60000.0, service["read_timeout"], "an empty field is the default")
	id := service["id"].(string)

	a = b.submit("/admin/services/"+id, url.Values{"name": {"lamps"}, "protocol": {"http"}, "host": {""}, "enabled": {"true"}})
	require.Equal(t, 400, a.status)
	require.Contains(t, a.text, "is required")
	a = b.submit("/admin/services/"+id, url.Values{"name": {"lamps"}, "protocol": {"https"}, "host": {"<b>.example"}})
	require.Equal(t, 400, a.status)
	require.NotContains(t, a.text, "<b>")
	a = b.submit("/admin/services/"+id, url.Values{"name": {"lamps"}, "protocol": {"https"}, "host": {"other.example"}, "port": {"8443"}})
	require.Equal(t, "/admin/services", a.at)
	service = b.do("GET", "/services/lamps", nil, 200)
	require.Equal(t, "other.example", service["host"])
	require.Equal(t, false, service["enabled"])
	a = b.submit("/admin/services/"+id, url.Values{"name": {"lamps"}, "host": {"late.example"}, "seen": {"older"}})
	require.Equal(t, 409, a.status, "another administrator has changed it meanwhile")

	a = b.submit("/admin/routes/new?service="+id,
		url.Values{"name": {"r"}, "service": {id}, "paths": {"/lamps\n\n/lights"}, "strip_path": {"true"}})
	require.Equal(t, "/admin/routes", a.at)
	require.Equal(t, []any{"/lamps", "/lights"}, b.do("GET", "/routes/r", nil, 200)["paths"])
	require.Equal(t, 409, b.submit("/admin/services/"+id+"/delete", url.Values{}).status, "it has a route")

	require.Contains(t, b.get("/admin/plugins/new?service="+id).text, "plugins/new?kind=note&amp;service="+id)
	const notes = "/admin/plugins/new?kind=note"
	a = b.submit(notes, url.Values{"service": {id}, "config": {`{"text": "bad"}`}, "enabled": {"true"}})
	require.Equal(t, 400, a.status)
	require.Contains(t, a.text, "is bad")
	require.Equal(t, 400, b.submit(notes, url.Values{"config": {`{`}}).status)
	require.Equal(t, "/admin/plugins", b.submit(notes, url.Values{"service": {id}, "enabled": {"true"}}).at)
	plugin := b.do("GET", "/services/lamps/plugins", nil, 200)["data"].([]any)[0].(object)["id"].(string)
	require.Contains(t, b.get("/admin/plugins").text, "service lamps")
	require.Equal(t, "/admin/plugins", b.submit("/admin/plugins/"+plugin+"/delete", url.Values{}).at)

	routeID := b.do("GET", "/routes/r", nil, 200)["id"].(string)
	require.Equal(t, "/admin/routes", b.submit("/admin/routes/"+routeID+"/delete", url.Values{}).at)
	require.Contains(t, b.get("/admin/services/"+id+"/delete").text, "Delete service")
	require.Equal(t, "/admin/services", b.submit("/admin/services/"+id+"/delete", url.Values{}).at)
	require.Equal(t, 404, b.get("/admin/services/"+id).status)
	for _, asset := range []string{"look.css", "page.css", "traffic.js", "icon.svg", "uPlot.iife.min.js",
		"uPlot.min.css", "uPlot.LICENSE.txt"} {
		require.Equal(t, 200, b.get("/admin/page/"+asset).status, asset)
	}
	require.Equal(t, 404, b.get("/admin/page/edit.html").status)
}

func TestPages_hideAndKeepSecrets(t *testing.T) {
	b := newBrowser(newClient(t))
	b.setup()
	id := b.do("POST", "/plugins", object{"name": "secretive", "config": object{"client_secret": "hush", "issuer": "a"}}, 201)["id"].(string)
	page := b.get("/admin/plugins/" + id)
	require.Contains(t, page.text, "[redacted]")
	require.NotContains(t, page.text, "hush")
	a := b.submit("/admin/plugins/"+id, url.Values{"name": {"secretive"},
		"config": {`{"client_secret": "[redacted]", "issuer": "b"}`}, "enabled": {"true"}})
	require.Equal(t, "/admin/plugins", a.at)
	require.Equal(t, object{"client_secret": "hush", "issuer": "b"}, b.do("GET", "/plugins/"+id, nil, 200)["config"])
}
