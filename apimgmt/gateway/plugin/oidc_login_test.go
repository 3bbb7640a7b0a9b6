package plugin_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/storage"
)

// site is a gateway where people log in at the provider for development.
type site struct {
	*plugintest.Stage
	t      *testing.T
	issuer string
	// reopen opens the provider anew, over its store, with the lifetime of access tokens.
	reopen func(access time.Duration)
}

func newSite(t *testing.T, access time.Duration, config map[string]any) *site {
	t.Helper()
	s := &site{Stage: plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(),
		Service: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Asked", r.Method+" "+r.URL.RequestURI())
			_ = json.NewEncoder(w).Encode(r.Header)
		})}), t: t}
	var handler atomic.Pointer[http.Handler]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	realm := devidp.Demo("http://portal.example", s.URL)
	for i := range realm.Users {
		realm.Users[i].Password = "correct horse"
	}
	for i := range realm.Clients {
		if !realm.Clients[i].Public {
			realm.Clients[i].Secret = "secret of " + realm.Clients[i].ID
		}
	}
	documents := storage.NewMemoryDocuments()
	s.reopen = func(access time.Duration) {
		idp, err := devidp.Open(t.Context(), devidp.Config{
			BaseURL: server.URL + "/auth", Realm: realm, Documents: documents, TokensPerSecond: -1, AccessTTL: access,
		})
		require.NoError(t, err)
		h := idp.Handler()
		handler.Store(&h)
		s.issuer = idp.Issuer()
	}
	s.reopen(access)
	s.configure(config)
	return s
}

// configure replaces the plugin.
func (s *site) configure(config map[string]any) {
	all := map[string]any{
		"discovery": s.issuer + "/.well-known/openid-configuration", "client_id": "kong", "client_secret": "secret of kong",
		"session_secret": "the-first-session-secret",
	}
	for name, value := range config {
		all[name] = value
	}
	text, err := json.Marshal(all)
	require.NoError(s.t, err)
	require.NoError(s.t, s.Gateway.Update(func(c entity.Config) (entity.Config, error) {
		c.Plugins = []entity.Plugin{{Name: "oidc", Config: text}}
		return c, nil
	}))
}

// person is a user with a browser.
type person struct {
	site   *site
	client *http.Client
	idp    *oidctest.Browser
}

func (s *site) person() *person {
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	return &person{site: s, idp: oidctest.NewBrowser(s.t, s.issuer), client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get asks for an address, or a path of the site.
func (p *person) get(address string, header ...string) *http.Response {
	p.site.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.site.URL + address
	}
	return p.send(http.MethodGet, address, header...)
}

func (p *person) send(method, address string, header ...string) *http.Response {
	p.site.t.Helper()
	request, err := http.NewRequestWithContext(p.site.t.Context(), method, address, nil)
	require.NoError(p.site.t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	response, err := p.client.Do(request)
	require.NoError(p.site.t, err)
	p.site.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// logIn asks for a path, logs in, and returns the address that the provider sends
// the browser back to.
func (p *person) logIn(path string) string {
	p.site.t.Helper()
	first := p.get(path)
	require.Equal(p.site.t, http.StatusFound, first.StatusCode)
	page := p.idp.Open(first.Header.Get("Location"))
	if strings.Contains(page.Body, "<form") {
		page = p.idp.Submit(page, map[string]string{"username": "demodeveloper", "password": "correct horse"})
	}
	require.True(p.site.t, strings.HasPrefix(page.URL.String(), p.site.URL), page.URL)
	return page.URL.String()
}

// header is what the service saw.
func (p *person) header(r *http.Response) http.Header {
	p.site.t.Helper()
	require.Equal(p.site.t, http.StatusOK, r.StatusCode)
	var header http.Header
	require.NoError(p.site.t, json.NewDecoder(r.Body).Decode(&header))
	return header
}

func claimsIn(t *testing.T, value string) map[string]any {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(value)
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, json.Unmarshal(text, &claims))
	return claims
}

func TestOIDC_login_returnsToTheRequestedPage(t *testing.T) {
	for name, config := range map[string]map[string]any{
		"to the path itself":   {"roles_required": "Developer"},
		"to a path of its own": {"redirect_uri_path": "/login/done"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 0, config)
			p := s.person()
			back := p.get(p.logIn("/orders/7?a=%20b"))
			require.Equal(t, http.StatusFound, back.StatusCode)
			require.Equal(t, s.URL+"/orders/7?a=%20b", back.Header.Get("Location"))
			header := p.header(p.get(back.Header.Get("Location"), "X-Userinfo: forged", "Cookie: theme=dark"))
			require.Equal(t, "GET /orders/7?a=%20b", header.Get("Asked"))
			require.Equal(t, "demodeveloper", claimsIn(t, header.Get("X-Userinfo"))["username"])
			require.Equal(t, "demodeveloper", claimsIn(t, header.Get("X-Id-Token"))["preferred_username"])
			require.Equal(t, 2, strings.Count(header.Get("X-Access-Token"), "."))
			require.NotContains(t, header.Get("Cookie"), "enablers-oidc", "the session is the gateway's")
			require.Contains(t, header.Get("Cookie"), "theme=dark")
		})
	}
}

func TestOIDC_login_keepsCookiesFromScripts(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	back := p.get(p.logIn("/"))
	cookies := back.Cookies()
	require.NotEmpty(t, cookies)
	for _, c := range cookies {
		require.True(t, c.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, "/", c.Path)
		require.Less(t, len(c.Raw), 4096, "browsers drop longer ones")
	}
}

func TestOIDC_login_refusesProgramsWithoutRedirect(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	for _, r := range []*http.Response{
		p.send(http.MethodPost, s.URL), p.get("/", "X-Requested-With: XMLHttpRequest"), p.get("/",
			"Sec-Fetch-Mode: cors"), p.get("/", "Accept: application/json"),
		p.get("/", "Authorization: Bearer nonsense"),
	} {
		require.Equal(t, http.StatusUnauthorized, r.StatusCode)
		require.Empty(t, r.Header.Get("Location"))
	}
	require.Equal(t, http.StatusFound, p.get("/", "Authorization: Basic dTpw").StatusCode)
}

func TestOIDC_session_refusesTamperedCookies(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	p.get(p.logIn("/"))
	here, err := url.Parse(s.URL)
	require.NoError(t, err)
	good := p.client.Jar.Cookies(here)
	require.NotEmpty(t, good)
	ask := func(header ...string) int {
		return s.Do(http.MethodGet, "/", "", header...).Status
	}
	line := func(cookies []*http.Cookie) string {
		var all []string
		for _, c := range cookies {
			all = append(all, c.Name+"="+c.Value)
		}
		return "Cookie: " + strings.Join(all, "; ")
	}
	require.Equal(t, http.StatusOK, ask(line(good)))
	for i := range good {
		for at := 0; at < len(good[i].Value); at += 97 {
			bad := make([]*http.Cookie, len(good))
			for j := range good {
				c := *good[j]
				bad[j] = &c
			}
			changed := []byte(bad[i].Value)
			changed[at] ^= 1
			bad[i].Value = string(changed)
			require.Equal(t, http.StatusFound, ask(line(bad)), "byte %d of %s", at, good[i].Name)
		}
	}
	require.Equal(t, http.StatusFound, ask(line(good[:len(good)-1])))
	require.Equal(t, http.StatusFound, ask(line(good), "Host: other.example"), "a session is for one host")
}

func TestOIDC_login_refusesForeignAnswers(t *testing.T) {
	s := newSite(t, 0, nil)
	attacker, victim := s.person(), s.person()
	link := attacker.logIn("/") // not opened by the attacker
	r := victim.get(link)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Empty(t, r.Cookies(), "the victim must not be in the session of the attacker")

	// Nor with a state of the victim's own.
	first := victim.get("/")
	where, err := url.Parse(first.Header.Get("Location"))
	require.NoError(t, err)
	mixed, err := url.Parse(link)
	require.NoError(t, err)
	query := mixed.Query()
	query.Set("state", where.Query().Get("state"))
	mixed.RawQuery = query.Encode()
	r = victim.get(mixed.String())
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "the code belongs to another verifier")
}

func TestOIDC_login_redirectsToTheGatewayOnly(t *testing.T) {
	s := newSite(t, 0, map[string]any{"redirect_uri_path": "/cb"})
	for _, path := range []string{"//evil.example/a", "/%5cevil.example", "/\\evil.example",
		"/?next=https://evil.example", "/@evil.example", "/%2f/evil.example"} {
		p := s.person()
		back := p.get(p.logIn(path))
		require.Equal(t, http.StatusFound, back.StatusCode, path)
		require.True(t, strings.HasPrefix(back.Header.Get("Location"), s.URL+"/"), "%s leads to %s", path, back.Header.Get("Location"))
	}
	for _, host := range []string{"evil.example@good.example", "a b", "x/y", "x?y", "x#y"} {
		require.NotEqual(t, http.StatusFound, s.Do(http.MethodGet, "/", "", "Host: "+host).Status, host)
	}
}

func TestOIDC_login_redirectsFailuresToTheRecoveryPage(t *testing.T) {
	s := newSite(t, 0, map[string]any{"recovery_page_path": "/sorry", "redirect_uri_path": "/cb"})
	p := s.person()
	r := p.get("/cb?code=x&state=y")
	require.Equal(t, http.StatusFound, r.StatusCode)
	require.Equal(t, "/sorry", r.Header.Get("Location"))
	require.Equal(t, http.StatusOK, p.get("/sorry").StatusCode)
	require.Equal(t, http.StatusFound, p.get("/sorry/for/that").StatusCode)
}

func TestOIDC_session_renewsOnceForConcurrentRequests(t *testing.T) {
	s := newSite(t, 5*time.Second, nil) // not more than the time ahead of which they are renewed
	p := s.person()
	p.get(p.logIn("/"))
	s.reopen(0) // tokens that are renewed last for longer
	here, err := url.Parse(s.URL)
	require.NoError(t, err)
	before := p.client.Jar.Cookies(here)
	var all sync.WaitGroup
	tokens := make(chan string, 8)
	for range 8 {
		all.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				return
			}
			for _, c := range before {
				request.AddCookie(c)
			}
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				return
			}
			defer func() { _ = response.Body.Close() }()
			var header http.Header
			if json.NewDecoder(response.Body).Decode(&header) == nil && len(response.Cookies()) > 0 {
				tokens <- header.Get("X-Access-Token")
			}
		})
	}
	all.Wait()
	close(tokens)
	first := <-tokens
	require.NotEmpty(t, first)
	count := 1
	for token := range tokens {
		require.Equal(t, first, token, "all get the tokens of one renewal")
		count++
	}
	require.Equal(t, 8, count)
}

func TestOIDC_logout_endsTheSession(t *testing.T) {
	s := newSite(t, 0, map[string]any{"redirect_after_logout_uri": "/bye"})
	p := s.person()
	p.get(p.logIn("/"))
	require.Equal(t, http.StatusOK, p.get("/").StatusCode)
	r := p.get("/logout")
	require.Equal(t, http.StatusFound, r.StatusCode)
	where, err := url.Parse(r.Header.Get("Location"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(where.String(), s.issuer), where)
	require.Equal(t, s.URL+"/bye", where.Query().Get("post_logout_redirect_uri"))
	require.Equal(t, http.StatusFound, p.get("/").StatusCode, "the cookies are gone")
	require.Equal(t, s.URL+"/bye", p.get("/logout").Header.Get("Location"), "without a session there is nothing to end")
}

func TestOIDC_session_survivesAChangeOfSecrets(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	p.get(p.logIn("/"))
	s.configure(map[string]any{"session_secret": "the-second-session-secret the-first-session-secret"})
	require.Equal(t, http.StatusOK, p.get("/").StatusCode, "the old one still counts")
	s.configure(map[string]any{"session_secret": "the-second-session-secret"})
	require.Equal(t, http.StatusFound, p.get("/").StatusCode)
}

func TestOIDC_login_saysThatTheIssuerRefusesTheGateway(t *testing.T) {
	s := newSite(t, 5*time.Second, nil) // not more than the time ahead of which tokens are renewed
	p, late := s.person(), s.person()
	p.get(p.logIn("/"))
	back := late.logIn("/")
	s.configure(map[string]any{"client_secret": "the old secret"})
	for _, r := range []*http.Response{p.get("/"), late.get(back)} {
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, "signing in again would not help")
		text, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "refuses the credentials")
	}
	s.configure(nil)
	require.Equal(t, http.StatusOK, p.get("/").StatusCode, "the session goes on")
}

func TestOIDC_session_refusesOtherSites(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	p.get(p.logIn("/"))
	require.Equal(t, http.StatusOK, p.send(http.MethodPost, s.URL, "Origin: "+s.URL).StatusCode)
	require.Equal(t, http.StatusForbidden, p.send(http.MethodPost, s.URL, "Origin: https://evil.example").StatusCode)
	require.Equal(t, http.StatusForbidden, p.send(http.MethodPost, s.URL, "Sec-Fetch-Site: cross-site").StatusCode)
	require.Equal(t, http.StatusForbidden, p.get("/", "Origin: https://evil.example", "Connection: Upgrade", "Upgrade: websocket").StatusCode)
}

func TestOIDC_login_boundsUnfinishedLogins(t *testing.T) {
	s := newSite(t, 0, nil)
	p := s.person()
	here, err := url.Parse(s.URL)
	require.NoError(t, err)
	for i := range 20 {
		p.get(fmt.Sprintf("/%d", i))
		require.LessOrEqual(t, len(p.client.Jar.Cookies(here)), 5)
	}
}
