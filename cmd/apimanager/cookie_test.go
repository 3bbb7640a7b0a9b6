package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// noRedirect sends a request and returns the answer, whatever that is.
func noRedirect(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer
}

// form makes a request that submits a form.
func form(t *testing.T, address string, fields url.Values) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(fields.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestRun_hidesItsCookiesFromUpstreams(t *testing.T) {
	seen := make(chan []string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- r.Header["Cookie"]
	}))
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("chloe admin chloe-and-16-characters\n"), 0o600))
	p := start(t, "-data", t.TempDir(), "-access-tokens", file)
	developer := p.token(t, "demodeveloper", "password for tests")
	status, body := p.publish(t, developer, "weather", definitionOf(upstream.URL, p.idp))
	require.Equal(t, http.StatusOK, status, body)

	signIn := form(t, p.admin+"/.enablers/sign-in", url.Values{"token": {"chloe-and-16-characters"}, "to": {"/"}})
	door := noRedirect(t, signIn).Cookies()
	require.Len(t, door, 1)
	page := &http.Cookie{Name: "gateway-admin", Value: "of an older version"}

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.gateway+"/open", nil)
	require.NoError(t, err)
	r.Header.Set("Cookie", "first=1; "+door[0].Name+"="+door[0].Value+"; "+page.Name+"="+page.Value+"; last=2")
	require.Equal(t, http.StatusOK, noRedirect(t, r).StatusCode)
	require.Equal(t, []string{"first=1; last=2"}, <-seen)
	r.Header.Set("Cookie", "first=1; last=2")
	require.Equal(t, http.StatusOK, noRedirect(t, r).StatusCode)
	require.Equal(t, []string{"first=1; last=2"}, <-seen)
	require.NoError(t, p.Stop())
}
