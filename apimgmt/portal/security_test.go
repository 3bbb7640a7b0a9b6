package portal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/portal"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestPortal_login_redirectsToThePortalOnly(t *testing.T) {
	w := newWorld(t)
	for _, back := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example/`, `\\evil.example`, "/\t/evil.example",
		"https:evil.example", "javascript:alert(1)",
		"/apis//evil.example", "/apis/../../evil", "/apis/%2e%2e/logout", "/login", "/auth/realms/OpenAPI/x",
		"apis/weather", "/apis/weather#x", "/apis/\r\nSet-Cookie: a=b",
	} {
		p := w.person(t)
		home := p.signIn("demouser", "/login?back="+url.QueryEscape(back))
		require.Equal(t, w.address+"/", home.url.String(), back)
		for _, step := range p.visited {
			require.True(t, strings.HasPrefix(step, w.address+"/"), "%s: %s", back, step)
		}
	}
	p := w.person(t)
	require.Equal(t, "/apis/weather%20x?version=1.0", p.signIn("demouser", "/apis/weather%20x?version=1.0").url.RequestURI())
}

func TestPortal_login_saysThatTheProviderRefusesThePortal(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = rw.Write([]byte(`{"error":"invalid_client"}`))
	}))
	t.Cleanup(refuses.Close)
	w := newWorld(t, func(c *portal.Config) {
		client, err := oidc.NewClient(oidc.ClientConfig{RedirectURL: c.URL + portal.AnswerPath, Config: oidc.Config{
			Issuer: c.URL + "/auth/realms/OpenAPI", ClientID: "public-frontend", Endpoints: oidc.Endpoints{Token: refuses.URL}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		c.Client = client
	})
	answer := w.person(t).signIn("demouser", "/login")
	require.Equal(t, http.StatusServiceUnavailable, answer.status)
	require.Contains(t, answer.body, "The identity provider refuses the credentials of this portal.")
}

func TestPortal_login_refusesAnswersOfAnotherLogin(t *testing.T) {
	w := newWorld(t)
	victim := w.person(t)
	require.Equal(t, http.StatusBadRequest, victim.get("/login/answer?code=x&state=y").status, "no login was begun")

	// The attacker signs in as far as the answer, and has the victim follow it.
	attacker := w.person(t)
	var stolen string
	follow := attacker.client.CheckRedirect
	attacker.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Path == "/login/answer" {
			stolen = r.URL.RequestURI()
			return http.ErrUseLastResponse
		}
		return follow(r, via)
	}
	attacker.signIn("demouser", "/login")
	require.NotEmpty(t, stolen)
	victim.get("/login")
	answer := victim.get(stolen)
	require.Equal(t, http.StatusBadRequest, answer.status)
	require.NotContains(t, victim.get("/").body, "Sign out")
}

func TestPortal_requiresAFormOfTheSessionAndOrigin(t *testing.T) {
	w := newWorld(t)
	p := w.person(t)
	p.signIn("demouser", "/login")
	other := w.person(t)
	other.signIn("demodeveloper", "/login")
	require.Equal(t, http.StatusOK, p.upload(p.form(), "publish", "weather", "", weather("1", "/a")).status)
	for _, form := range []string{"", "x", other.form()} {
		require.Equal(t, http.StatusForbidden, p.upload(form, "publish", "mine", "", weather("1", "/b")).status)
		for _, path := range []string{"/logout", "/apis/weather", "/apis/weather/state", "/apis/weather/delete"} {
			require.Equal(t, http.StatusForbidden, p.post(path, url.Values{"form": {form}, "version": {"1"}, "state": {"sunset"}}).status, path)
		}
	}
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"}, {"Origin", "null"}} {
		require.Equal(t, http.StatusForbidden, p.upload(p.form(), "publish", "mine", "", weather("1", "/b"), header...).status, header)
	}
	require.Contains(t, p.get("/").body, "1 API<")
	require.Equal(t, http.StatusForbidden, p.get("/token").status, "a page elsewhere cannot set the header field")
}

func TestPortal_cookie_isHiddenFromScripts(t *testing.T) {
	w := newWorld(t)
	p := w.person(t)
	p.signIn("demouser", "/login")
	at, err := url.Parse(w.address)
	require.NoError(t, err)
	for _, cookie := range p.client.Jar.Cookies(at) {
		require.NotContains(t, cookie.Value, "eyJ")
		require.NotContains(t, p.get("/").body, cookie.Value)
	}
	response := httptest.NewRecorder()
	w.portal.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/login", nil))
	line := response.Header().Get("Set-Cookie")
	require.Contains(t, line, "HttpOnly")
	require.Contains(t, line, "SameSite=Lax")

	secure := newWorld(t, func(c *portal.Config) { c.URL = "https://portal.example.org" })
	response = httptest.NewRecorder()
	secure.portal.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/login", nil))
	require.Regexp(t, `^__Host-enablers-portal-login=.*; Path=/; .*Secure`, response.Header().Get("Set-Cookie"))
}

func TestPortal_escapesUserText(t *testing.T) {
	w := newWorld(t)
	p := w.person(t)
	p.signIn("demouser", "/login")
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>`
	quoted, err := json.Marshal(evil)
	require.NoError(t, err)
	file := `{"openapi": "3.0.3", "info": {"title": ` + string(quoted) + `, "version": "1<b>", "description": "` +
		strings.Trim(string(quoted), `"`) + ` [x](javascript:alert(1)) ![y](https://evil.example/pixel) [z](https://example.org/)"},
		"servers": [{"url": "http://127.0.0.1:9"}], "paths": {"/x": {"get": {"tags": [` + string(quoted) + `],
		"summary": ` + string(quoted) + `, "responses": {"200": {"description": ` + string(quoted) + `}}}}}}`
	form := p.form()
	pages := []page{p.upload(form, "preview", "weather", evil, file), p.upload(form, "publish", "weather", evil, file)}
	for _, path := range []string{"/", "/?q=" + url.QueryEscape(evil), "/apis/weather", "/apis/weather/delete",
		"/apis/weather/delete?version=" + url.QueryEscape("1<b>"), "/apis/" + url.PathEscape(evil)} {
		pages = append(pages, p.get(path))
	}
	allowed := regexp.MustCompile(`<script (type="module" )?src="(\./|\.\./)*page/[a-z./-]+"( defer)?></script>`)
	for _, got := range pages {
		body := allowed.ReplaceAllString(got.body, "")
		require.NotContains(t, body, "<script", got.url)
		require.NotContains(t, body, "<img src=x", got.url)
		require.NotContains(t, body, "<b>alert", got.url)
		require.NotContains(t, strings.ToLower(body), `href="javascript:`, got.url)
		require.NotContains(t, body, `src="https://evil`, got.url)
		bare := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(body, `=""`)
		require.NotRegexp(t, `<[^>]* (on[a-z]+|style)=`, bare)
		policy := got.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';",
			"connect-src 'self' " + gatewayURL + ";", "frame-ancestors 'none'", "base-uri 'none'"} {
			require.Contains(t, policy, want)
		}
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
	}
	require.Contains(t, p.get("/apis/weather").body, `href="https://example.org/" rel="nofollow noreferrer"`)
	shown := p.get("/apis/weather/definition")
	require.Equal(t, "application/json", shown.header.Get("Content-Type"))
	require.Contains(t, shown.header.Get("Content-Security-Policy"), "sandbox")
}

func TestPortal_hidesSecretsOfDefinitions(t *testing.T) {
	w := newWorld(t)
	p := w.person(t)
	p.signIn("demouser", "/login")
	const secret = "s3cr3t-of-the-gateway"
	file := `{"openapi": "3.0.3", "info": {"title": "Weather", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}],
		"x-kong-plugin-oidc": {"name": "oidc", "enabled": true, "config": {"client_id": "kong",
		"client_secret": "` + secret + `", "bearer_only": "yes", "realm": "OpenAPI",
		"discovery": "` + w.address + `/auth/realms/OpenAPI/.well-known/openid-configuration"}},
		"paths": {"/x": {"get": {"responses": {"200": {"description": "ok"}}}}}}`
	form := p.form()
	pages := []page{p.upload(form, "preview", "weather", "", file), p.upload(form, "publish", "weather", "", file)}
	require.Contains(t, pages[1].body, "1 is published", pages[1].body)
	for _, path := range []string{"/", "/apis/weather", "/apis/weather/definition", "/apis/weather/delete"} {
		pages = append(pages, p.get(path))
	}
	for _, got := range pages {
		require.Equal(t, http.StatusOK, got.status)
		require.NotContains(t, got.body, secret, got.url)
	}
}

func TestPortal_upload_boundsFiles(t *testing.T) {
	w := newWorld(t, func(c *portal.Config) { c.MaxFile = 1000 })
	p := w.person(t)
	p.signIn("demouser", "/login")
	form := p.form()
	require.Equal(t, http.StatusRequestEntityTooLarge, p.upload(form, "publish", "weather", "", strings.Repeat(" ", 1001)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge,
		p.upload(form, "publish", "weather", strings.Repeat("x", 70_000), weather("1", "/a")).status)
	require.Equal(t, http.StatusOK, p.upload(form, "publish", "weather", "", weather("1", "/a")).status)
}

func TestPortal_sessionsAreBounded(t *testing.T) {
	w := newWorld(t, func(c *portal.Config) { c.Sessions = 2 })
	var people []*person
	for range 3 {
		p := w.person(t)
		p.signIn("demouser", "/login")
		people = append(people, p)
	}
	require.NotContains(t, people[0].get("/").body, "Sign out")
	require.Contains(t, people[1].get("/").body, "Sign out")
	require.Contains(t, people[2].get("/").body, "Sign out")
}

func TestPortal_refreshesTokensAndEndsWithTheProvider(t *testing.T) {
	w := newWorldOf(t, 20*time.Second) // so little that each request refreshes them
	p := w.person(t)
	p.signIn("demouser", "/login")
	first, second := p.part("/token"), p.part("/token")
	require.Equal(t, http.StatusOK, first.status)
	require.Equal(t, http.StatusOK, second.status)
	require.NotEqual(t, first.body, second.body)

	// Another window signs out at the provider, which the portal is not told.
	require.Contains(t, p.get("/").body, "Sign out")
	out := p.get("/auth/realms/OpenAPI/protocol/openid-connect/logout")
	action, fields := p.formOf(out)
	p.post(action, fields)
	require.Equal(t, http.StatusUnauthorized, p.part("/token").status)
	require.NotContains(t, p.get("/").body, "Sign out")
	require.Equal(t, http.StatusUnauthorized, p.post("/apis/weather/delete", url.Values{}).status)
}

func TestAllowPortal_admitsTheOriginOfThePortalOnly(t *testing.T) {
	var seen *http.Request
	gateway := portal.AllowPortal(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusTeapot)
	}), []string{"http://portal.example/", "http://console.example:8080", "not an origin"}, "others-")
	ask := func(method, origin string, header ...string) *httptest.ResponseRecorder {
		seen = nil
		r := httptest.NewRequest(method, "/x", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		gateway.ServeHTTP(w, r)
		return w
	}
	preflight := ask(http.MethodOptions, "http://portal.example", "Access-Control-Request-Method", "PUT",
		"Access-Control-Request-Headers", "authorization")
	require.Nil(t, seen)
	require.Equal(t, http.StatusNoContent, preflight.Code)
	require.Equal(t, "http://portal.example", preflight.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "PUT", preflight.Header().Get("Access-Control-Allow-Methods"))
	require.Equal(t, "authorization", preflight.Header().Get("Access-Control-Allow-Headers"))
	require.Empty(t, preflight.Header().Get("Access-Control-Allow-Credentials"))
	console := ask(http.MethodGet, "http://console.example:8080")
	require.Equal(t, []string{"http://console.example:8080"}, console.Header()["Access-Control-Allow-Origin"])

	real := ask(http.MethodGet, "http://portal.example", "Cookie", "a=b; enablers-portal=secret; c=d")
	require.Equal(t, []string{"http://portal.example"}, real.Header()["Access-Control-Allow-Origin"])
	require.Equal(t, http.StatusTeapot, real.Code)
	require.Equal(t, "a=b; c=d", seen.Header.Get("Cookie"))

	for _, origin := range []string{"", "http://portal.example"} { // whether or not the portal has cookies
		ask(http.MethodGet, origin, "Cookie",
			"a=b; gateway-admin=secret; __Host-gateway-admin=secret; others-1=secret; gateway-admins=c")
		require.Equal(t, "a=b; gateway-admins=c", seen.Header.Get("Cookie"))
	}

	ask(http.MethodPost, "http://portal.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors")
	require.Empty(t, seen.Header.Get("Origin"), "services that refuse other origins do not refuse the portal")
	require.Empty(t, seen.Header.Get("Sec-Fetch-Site"))
	require.Equal(t, "cors", seen.Header.Get("Sec-Fetch-Mode"))

	for _, origin := range []string{"", "http://evil.example", "http://portal.example.evil", "http://console.example",
		"null", "not an origin"} {
		other := ask(http.MethodOptions, origin, "Access-Control-Request-Method", "PUT", "Cookie", "__Host-enablers-portal=secret")
		require.NotNil(t, seen, origin)
		require.Equal(t, "*", other.Header().Get("Access-Control-Allow-Origin"), "what the service says")
		require.Empty(t, seen.Header.Get("Cookie"))
		require.Equal(t, origin, seen.Header.Get("Origin"))
	}
}
