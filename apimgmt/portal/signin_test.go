package portal_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/portal"
)

// mounted is a portal below /ui/apis.
type mounted struct{ handler http.Handler }

func newMounted(t *testing.T) *mounted {
	return &mounted{http.StripPrefix("/ui/apis", newWorld(t).portal.Handler())}
}

func (m *mounted) send(method, path, token string, form url.Values, header ...string) *httptest.ResponseRecorder {
	r, w := httptest.NewRequest(method, "/ui/apis"+path, strings.NewReader(form.Encode())), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Person", token)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	m.handler.ServeHTTP(w, r)
	return w
}

func TestPortal_Handler_leadsToWhereTheProgramSignsIn(t *testing.T) {
	m := newMounted(t)
	for path, to := range map[string]string{
		"/apis/weather?version=1": "/ui/apis/apis/weather?version=1",
		"/login":                  "/ui/apis/",
		"/login?back=%2Fapis%2Fx": "/ui/apis/apis/x",
		"/login?back=%2Fapis%2Fweather%2520x%3Fversion%3D1.0": "/ui/apis/apis/weather%20x?version=1.0",
	} {
		w := m.send(http.MethodGet, path, "", nil)
		require.Equal(t, http.StatusSeeOther, w.Code, path)
		require.Equal(t, "/sign-in?"+url.Values{"to": {to}}.Encode(), w.Header().Get("Location"), path)
		require.Empty(t, w.Header()["Set-Cookie"], "the portal keeps no session")
	}
	for _, back := range []string{
		"https://evil.example/", "//evil.example/", `/\evil.example/`, `\\evil.example`, "/\t/evil.example",
		"https:evil.example", "javascript:alert(1)", "/apis//evil.example", "/apis/../../evil", "/apis/%2e%2e/logout",
		"/login", "/auth/realms/OpenAPI/x", "apis/weather", "/apis/weather#x", "/apis/\r\nSet-Cookie: a=b",
	} {
		w := m.send(http.MethodGet, "/login?back="+url.QueryEscape(back), "", nil)
		require.Equal(t, "/sign-in?to=%2Fui%2Fapis%2F", w.Header().Get("Location"), back)
	}
	home := m.send(http.MethodGet, "/", "", nil)
	require.Contains(t, home.Body.String(), `href="/sign-in?to=%2Fui%2Fapis%2F"`)
	out := m.send(http.MethodPost, "/logout", "", nil)
	require.Equal(t, http.StatusTemporaryRedirect, out.Code)
	require.Equal(t, "/sign-out", out.Header().Get("Location"))
	require.Equal(t, http.StatusNotFound, m.send(http.MethodGet, "/login/answer?code=x&state=y", "", nil).Code, "the program's")
	require.Equal(t, http.StatusServiceUnavailable, m.send(http.MethodGet, "/", "away", nil).Code)
	require.Equal(t, http.StatusInternalServerError, m.send(http.MethodGet, "/", "broken", nil).Code)
	require.Equal(t, http.StatusSeeOther, m.send(http.MethodGet, "/apis/x", "expired", nil).Code)
}

func TestPortal_Handler_takesTheRolesOfTheToken(t *testing.T) {
	m := newMounted(t)
	for who, want := range map[string][3]int{
		"":             {http.StatusOK, http.StatusSeeOther, http.StatusUnauthorized},
		noRoleToken:    {http.StatusOK, http.StatusForbidden, http.StatusForbidden},
		callerToken:    {http.StatusOK, http.StatusNotFound, http.StatusForbidden},
		developerToken: {http.StatusOK, http.StatusNotFound, http.StatusNotFound},
	} {
		require.Equal(t, want[0], m.send(http.MethodGet, "/", who, nil).Code)
		require.Equal(t, want[1], m.send(http.MethodGet, "/apis/none", who, nil).Code)
		require.Equal(t, want[2], m.send(http.MethodPost, "/apis/none/delete", who, nil).Code)
	}
	home := m.send(http.MethodGet, "/", developerToken, nil).Body.String()
	require.Contains(t, home, `<strong>demodeveloper</strong><span class="role">Developer</span>`)
	require.Contains(t, home, `action="/sign-out"`)
	require.Contains(t, home, `id="upload"`)
	require.NotContains(t, m.send(http.MethodGet, "/", callerToken, nil).Body.String(), `id="upload"`)
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		for _, path := range []string{"/apis", "/apis/none", "/apis/none/state", "/apis/none/delete", "/logout"} {
			require.Equal(t, http.StatusForbidden, m.send(http.MethodPost, path, developerToken, nil, header...).Code, path)
		}
	}
}

func TestNew_requiresTheSignInOfTheProgram(t *testing.T) {
	w := newWorld(t)
	whole := portal.Config{
		Publisher: w.publisher, Verifier: tokens{}, URL: w.address, GatewayURL: gatewayURL,
		SignedIn: signedIn, SignIn: "/sign-in", SignOut: "/sign-out",
	}
	_, err := portal.New(whole)
	require.NoError(t, err)
	for name, remove := range map[string]func(*portal.Config){
		"SignedIn": func(c *portal.Config) { c.SignedIn = nil },
		"SignIn":   func(c *portal.Config) { c.SignIn = "" },
		"SignOut":  func(c *portal.Config) { c.SignOut = "" },
	} {
		config := whole
		remove(&config)
		_, err := portal.New(config)
		require.ErrorContains(t, err, "Config.SignedIn, SignIn and SignOut are required", name)
	}
}
