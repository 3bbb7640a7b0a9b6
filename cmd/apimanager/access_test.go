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
		"":                         {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusOK},
		"boris-and-16-characters":  {http.StatusForbidden, http.StatusOK, http.StatusOK},
		"chloe-and-16-characters":  {http.StatusOK, http.StatusOK, http.StatusOK},
		"a-token-of-the-admin-api": {http.StatusOK, http.StatusOK, http.StatusOK},
		"another-token-of-the-api": {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusOK},
	} {
		for at, path := range []string{"/services", "/metrics", "/admin/setup"} {
			status, body := ask(t, http.MethodGet, p.admin+path, token, "", nil)
			require.Equal(t, want[at], status, "%s as %q: %s", path, token, body)
		}
	}
	status, body := ask(t, http.MethodGet, p.gateway+"/nothing", "", "", nil)
	require.Equal(t, http.StatusNotFound, status, body)
	require.NoError(t, p.Stop())
}

func TestRun_createsTheAdministratorForAdminsOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("boris operator boris-and-16-characters\nchloe admin chloe-and-16-characters\n"), 0o600))
	p := start(t, "-data", t.TempDir(), "-access-tokens", file)
	const secret = "a password of the page"
	setup := func(token string) int {
		r := form(t, p.admin+"/admin/setup", url.Values{"name": {"chloe"}, "password": {secret}, "again": {secret}})
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return noRedirect(t, r).StatusCode
	}
	require.Equal(t, http.StatusUnauthorized, setup(""))
	require.Equal(t, http.StatusForbidden, setup("boris-and-16-characters"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/admin/setup", nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html")
	answer := noRedirect(t, r)
	require.Equal(t, http.StatusSeeOther, answer.StatusCode, "a browser is sent to the door")
	require.Equal(t, "/.enablers/sign-in?to=%2Fadmin%2Fsetup", answer.Header.Get("Location"))
	require.Equal(t, http.StatusSeeOther, setup("chloe-and-16-characters"))
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
