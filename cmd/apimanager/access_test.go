package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/door/doortest"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestRun_hasTheDoor(t *testing.T) {
	doortest.Command{
		Run: run,
		Args: func(host, folder string) []string {
			return []string{"-listen", host + ":0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0", "-data", folder}
		},
		Listener: "portal", Read: "GET /metrics", Change: "POST /OpenAPIDocumentation/", OwnAccess: true,
	}.Check(t)
}

func TestRun_letsTheAdminAPIBeUsedWithATokenOfAnAdministrator(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("boris operator boris-and-16-characters\nchloe admin chloe-and-16-characters\n"), 0o600))
	p := start(t, "-data", t.TempDir(), "-access-tokens", file, "-admin-token", "a-token-of-the-admin-api")
	for token, want := range map[string][3]int{
		"":                         {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
		"boris-and-16-characters":  {http.StatusForbidden, http.StatusOK, http.StatusOK},
		"chloe-and-16-characters":  {http.StatusOK, http.StatusOK, http.StatusOK},
		"a-token-of-the-admin-api": {http.StatusOK, http.StatusOK, http.StatusOK},
		"another-token-of-the-api": {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		for at, path := range []string{"/services", "/metrics", "/admin/services"} {
			status, body := ask(t, http.MethodGet, p.admin+path, token, "", nil)
			require.Equal(t, want[at], status, "%s as %q: %s", path, token, body)
		}
	}
	status, body := ask(t, http.MethodGet, p.gateway+"/nothing", "", "", nil)
	require.Equal(t, http.StatusNotFound, status, body)
	require.NoError(t, p.Stop())
}

func TestRun_showsTheGatewayByRoles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("anna reader anna-and-16-characters-\nboris operator boris-and-16-characters\n"+
		"chloe admin chloe-and-16-characters\n"), 0o600))
	p := start(t, "-data", t.TempDir(), "-access-tokens", file)
	for _, folder := range []string{"/ui/gateway/", "/admin/"} {
		for token, want := range map[string][4]int{
			"":                        {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
			"anna-and-16-characters-": {http.StatusOK, http.StatusForbidden, http.StatusForbidden, http.StatusForbidden},
			"boris-and-16-characters": {http.StatusOK, http.StatusOK, http.StatusBadRequest, http.StatusForbidden},
			"chloe-and-16-characters": {http.StatusOK, http.StatusOK, http.StatusBadRequest, http.StatusOK},
		} {
			for at, one := range []struct{ method, path string }{{http.MethodGet, ""}, {http.MethodGet, "services/new"},
				{http.MethodPost, "services/new"}, {http.MethodGet, "key-auths/new"}} {
				status, body := ask(t, one.method, p.admin+folder+one.path, token, "application/x-www-form-urlencoded", nil)
				require.Equal(t, want[at], status, "%s %s as %q: %s", one.method, one.path, token, body)
			}
		}
	}
	for _, path := range []string{"/ui/gateway/routes", "/admin/setup"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+path, nil)
		require.NoError(t, err)
		r.Header.Set("Accept", "text/html")
		answer := noRedirect(t, r)
		require.Equal(t, http.StatusSeeOther, answer.StatusCode, "a browser is sent to the door")
		require.True(t, strings.HasPrefix(answer.Header.Get("Location"), "/.enablers/sign-in?to="), answer.Header.Get("Location"))
	}
	require.NoError(t, p.Stop())
}

// TestRun_servesEverythingOverTLS publishes over https, with a token of the identity
// provider inside, whose keys the process fetches from itself.
func TestRun_servesEverythingOverTLS(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_CLIENT_SECRET", "client secret for tests")
	authority := servertest.NewAuthority(t)
	own := authority.Issue("apis")
	trusted := http.DefaultClient
	t.Cleanup(func() { http.DefaultClient = trusted })
	http.DefaultClient = authority.Client()
	p := start(t, "-data", t.TempDir(), "-tls-cert", own.Cert, "-tls-key", own.Key)
	for _, at := range []string{p.portal, p.gateway, p.admin, p.idp} {
		require.True(t, strings.HasPrefix(at, "https://"), at)
	}
	token := p.token(t, "demodeveloper", "password for tests")
	status, body := p.publish(t, token, "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusOK, status, body)
	status, body = ask(t, http.MethodGet, p.gateway+"/open", "", "", nil)
	require.Equal(t, http.StatusOK, status, body)
	status, _ = ask(t, http.MethodGet, p.gateway+"/secured", "", "", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	status, body = ask(t, http.MethodGet, p.gateway+"/secured", token, "", nil)
	require.Equal(t, http.StatusOK, status, body)
	status, body = ask(t, http.MethodGet, p.admin+"/services", "", "", nil)
	require.Equal(t, http.StatusOK, status, body)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.portal+"/.enablers/sign-on", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Transport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	to, err := url.Parse(answer.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "https", to.Scheme, answer.Status)
	require.NoError(t, p.Stop())
}
