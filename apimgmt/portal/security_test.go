package portal_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/portal"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestPortal_refusesUploadsOfOtherOrigins(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"}, {"Origin", "null"}} {
		require.Equal(t, http.StatusForbidden, p.upload("publish", "mine", "", weather("1", "/b"), header...).status, header)
	}
	require.Contains(t, p.get("/").body, "No API is published yet.")
	require.Equal(t, http.StatusForbidden, p.get("/token").status, "a page elsewhere cannot set the header field")
}

func TestPortal_escapesUserText(t *testing.T) {
	w := newWorld(t)
	p := w.person(t, developerToken)
	const evil = `</script><script>alert(1)</script><img src=x onerror=alert(1)>`
	quoted, err := json.Marshal(evil)
	require.NoError(t, err)
	file := `{"openapi": "3.0.3", "info": {"title": ` + string(quoted) + `, "version": "1<b>", "description": "` +
		strings.Trim(string(quoted), `"`) + ` [x](javascript:alert(1)) ![y](https://evil.example/pixel) [z](https://example.org/)"},
		"servers": [{"url": "http://127.0.0.1:9"}], "paths": {"/x": {"get": {"tags": [` + string(quoted) + `],
		"summary": ` + string(quoted) + `, "responses": {"200": {"description": ` + string(quoted) + `}}}}}}`
	pages := []page{p.upload("preview", "weather", evil, file), p.upload("publish", "weather", evil, file)}
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
	p := w.person(t, developerToken)
	const secret = "s3cr3t-of-the-gateway"
	file := `{"openapi": "3.0.3", "info": {"title": "Weather", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}],
		"x-kong-plugin-oidc": {"name": "oidc", "enabled": true, "config": {"client_id": "kong",
		"client_secret": "` + secret + `", "bearer_only": "yes", "realm": "OpenAPI",
		"discovery": "` + w.address + `/auth/realms/OpenAPI/.well-known/openid-configuration"}},
		"paths": {"/x": {"get": {"responses": {"200": {"description": "ok"}}}}}}`
	pages := []page{p.upload("preview", "weather", "", file), p.upload("publish", "weather", "", file)}
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
	p := w.person(t, developerToken)
	require.Equal(t, http.StatusRequestEntityTooLarge, p.upload("publish", "weather", "", strings.Repeat(" ", 1001)).status)
	require.Equal(t, http.StatusRequestEntityTooLarge,
		p.upload("publish", "weather", strings.Repeat("x", 70_000), weather("1", "/a")).status)
	require.Equal(t, http.StatusOK, p.upload("publish", "weather", "", weather("1", "/a")).status)
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

	real := ask(http.MethodGet, "http://portal.example", "Cookie", "a=b; gateway-admin=secret; c=d")
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
		other := ask(http.MethodOptions, origin, "Access-Control-Request-Method", "PUT", "Cookie", "__Host-gateway-admin=secret")
		require.NotNil(t, seen, origin)
		require.Equal(t, "*", other.Header().Get("Access-Control-Allow-Origin"), "what the service says")
		require.Empty(t, seen.Header.Get("Cookie"))
		require.Equal(t, origin, seen.Header.Get("Origin"))
	}
}
