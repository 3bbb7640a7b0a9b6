package portal_test

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/portal"
	"github.com/iotenablers/enablers/storage"
)

// world is a portal with an identity provider beside it, and a gateway that serves
// nothing.
type world struct {
	address   string
	publisher *apimgmt.Publisher
	portal    *portal.Portal
	password  string
}

const gatewayURL = "http://127.0.0.1:1"

func newWorld(t *testing.T, change ...func(*portal.Config)) *world {
	t.Helper()
	return newWorldOf(t, 0, change...)
}

// newWorldOf returns a world whose tokens are good for a while; zero means for the
// provider's five minutes.
func newWorldOf(t *testing.T, good time.Duration, change ...func(*portal.Config)) *world {
	t.Helper()
	w := &world{password: "a password for tests"}
	var handler atomic.Pointer[http.Handler]
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(rw, r) }))
	t.Cleanup(server.Close)
	w.address = server.URL

	realm := devidp.Demo(w.address, gatewayURL)
	realm.Users = append(realm.Users, devidp.User{Name: "visitor"})
	for i := range realm.Users {
		realm.Users[i].Password = w.password
	}
	documents := storage.NewMemoryDocuments()
	provider, err := devidp.Open(t.Context(), devidp.Config{BaseURL: w.address + "/auth", Realm: realm, Documents: documents, AccessTTL: good})
	require.NoError(t, err)
	w.publisher, err = apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: apimgmt.NewMemoryGateway(nil), GatewayURL: gatewayURL,
		Upstreams: apimgmt.Upstreams{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	require.NoError(t, err)
	client, err := oidc.NewClient(oidc.ClientConfig{Config: oidc.Config{Issuer: provider.Issuer(),
		ClientID: "public-frontend"}, RedirectURL: w.address + portal.AnswerPath})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	verifier, err := oidc.New(oidc.Config{Issuer: provider.Issuer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, verifier.Close()) })
	config := portal.Config{Publisher: w.publisher, Client: client, Verifier: verifier, URL: w.address, GatewayURL: gatewayURL}
	for _, f := range change {
		f(&config)
	}
	w.portal, err = portal.New(config)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/auth/", provider.Handler())
	mux.Handle("/", w.portal.Handler())
	var all http.Handler = mux
	handler.Store(&all)
	return w
}

// person is a user of a browser without scripts.
type person struct {
	t       *testing.T
	w       *world
	client  *http.Client
	visited []string
}

func (w *world) person(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	p := &person{t: t, w: w}
	p.client = &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		p.visited = append(p.visited, r.URL.String())
		if r.URL.Host != strings.TrimPrefix(w.address, "http://") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return p
}

// page is an answer.
type page struct {
	status int
	url    *url.URL
	header http.Header
	body   string
}

func (p *person) do(r *http.Request) page {
	p.t.Helper()
	answer, err := p.client.Do(r)
	require.NoError(p.t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	require.NoError(p.t, answer.Body.Close())
	return page{answer.StatusCode, answer.Request.URL, answer.Header, string(body)}
}

func (p *person) get(path string) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.w.address+path, nil)
	require.NoError(p.t, err)
	return p.do(r)
}

// part asks as a script of the page does.
func (p *person) part(path string) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.w.address+path, nil)
	require.NoError(p.t, err)
	r.Header.Set("X-Part", "1")
	return p.do(r)
}

func (p *person) post(path string, fields url.Values) page {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.w.address+path, strings.NewReader(fields.Encode()))
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(r)
}

var (
	actionPattern = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
	hiddenPattern = regexp.MustCompile(`<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"|<input[^>]*value="([^"]*)"[^>]*name="([^"]+)"`)
)

// signIn signs in at the provider, beginning at a path of the portal.
func (p *person) signIn(user, path string) page {
	p.t.Helper()
	login := p.get(path)
	require.Equal(p.t, http.StatusOK, login.status, login.body)
	action, fields := p.formOf(login)
	fields.Set("username", user)
	fields.Set("password", p.w.password)
	return p.post(action, fields)
}

// formOf returns where the first form of a page of the provider leads, and what it
// hides.
func (p *person) formOf(of page) (action string, fields url.Values) {
	p.t.Helper()
	found := actionPattern.FindStringSubmatch(of.body)
	require.NotNil(p.t, found, of.body)
	fields = url.Values{}
	for _, hidden := range hiddenPattern.FindAllStringSubmatch(of.body, -1) {
		fields.Set(html.UnescapeString(hidden[1]+hidden[4]), html.UnescapeString(hidden[2]+hidden[3]))
	}
	at, err := of.url.Parse(html.UnescapeString(found[1]))
	require.NoError(p.t, err)
	return strings.TrimPrefix(at.String(), p.w.address), fields
}

// form is the token that the forms of this person have.
func (p *person) form() string {
	p.t.Helper()
	found := regexp.MustCompile(`name="form" value="([A-Z2-7]+)"`).FindStringSubmatch(p.get("/").body)
	require.NotNil(p.t, found)
	return found[1]
}

// upload sends the form for definitions. A field that is empty is sent as well.
func (p *person) upload(form, action, enabler, description, file string, header ...string) page {
	p.t.Helper()
	return p.uploadBelow("", form, action, enabler, description, file, header...)
}

// uploadBelow is upload with a path at the gateway.
func (p *person) uploadBelow(path, form, action, enabler, description, file string, header ...string) page {
	p.t.Helper()
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"form", form}, {"action", action}, {"enabler", enabler}, {"description", description}, {"path", path}} {
		require.NoError(p.t, parts.WriteField(field[0], field[1]))
	}
	part, err := parts.CreateFormFile("upload_file", map[bool]string{true: "api.json"}[file != ""])
	require.NoError(p.t, err)
	_, err = part.Write([]byte(file))
	require.NoError(p.t, err)
	require.NoError(p.t, parts.Close())
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.w.address+"/apis", &body)
	require.NoError(p.t, err)
	r.Header.Set("Content-Type", parts.FormDataContentType())
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return p.do(r)
}

// weather is a definition.
func weather(version, path string) string {
	return fmt.Sprintf(`{"openapi": "3.0.3", "info": {"title": "Weather", "version": %q, "description": "What the *sky* does."},
		"servers": [{"url": "http://127.0.0.1:9/base"}],
		"paths": {%q: {"servers": [{"url": "http://127.0.0.1:9/other"}], "get": {"summary": "The forecast",
		"tags": ["sky"], "responses": {"200": {"description": "ok"}}}}}}`, version, path)
}
