package plugin_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
)

// answered logs in at an issuer that answers with some tokens, over https, and
// returns the cookies that the browser has then.
func answered(t *testing.T, g http.Handler, idp *issuer, tokens map[string]any) (status int, cookies []*http.Cookie) {
	t.Helper()
	ask := func(target string, cookies []*http.Cookie) *http.Response {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		request.Header.Set("X-Forwarded-Proto", "https")
		for _, c := range cookies {
			request.AddCookie(c)
		}
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, request)
		return recorder.Result()
	}
	first := ask("/a", nil)
	require.Equal(t, http.StatusFound, first.StatusCode)
	where, err := url.Parse(first.Header.Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "https://example.com/a", where.Query().Get("redirect_uri"))
	all := map[string]any{"token_type": "Bearer", "expires_in": 60, "id_token": idp.token(t, map[string]any{
		"aud": "kong", "azp": "kong", "typ": "ID", "nonce": where.Query().Get("nonce"),
	})}
	maps.Copy(all, tokens)
	idp.tokens.Store(&all)
	back := ask("/a?code=c&state="+where.Query().Get("state"), first.Cookies())
	for _, c := range back.Cookies() {
		require.True(t, c.Secure)
		require.True(t, strings.HasPrefix(c.Name, "__Host-"), "no other host can have set it")
		if c.MaxAge >= 0 {
			cookies = append(cookies, c)
		}
	}
	if back.StatusCode != http.StatusFound {
		return back.StatusCode, cookies
	}
	require.Equal(t, "https://example.com/a", back.Header.Get("Location"))
	return ask("/a", cookies).StatusCode, cookies
}

// loginGateway is a gateway behind a proxy that does TLS.
func loginGateway(t *testing.T, config string) http.Handler {
	t.Helper()
	behind := httptest.NewServer(echo())
	t.Cleanup(behind.Close)
	g, err := gateway.New(&gateway.Options{
		Kinds: plugin.Kinds(), AllowUpstreams: []netip.Prefix{
			netip.MustParsePrefix("127.0.0.0/8")}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	service := entity.Service{Name: "s"}
	require.NoError(t, service.SetURL(behind.URL))
	require.NoError(t, g.Apply(entity.Config{
		Services: []entity.Service{service}, Routes: []entity.Route{{Name: "r", Paths: []string{"/"}, Service: &entity.Ref{Name: "s"}}},
		Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(config)}},
	}))
	return g
}

func TestOIDC_session_acceptsOpaqueTokens(t *testing.T) {
	idp := newIssuer(t)
	g := loginGateway(t, idp.config(map[string]any{"bearer_only": "no", "client_id": "kong", "client_secret": "0123456789abcdef"}))
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		tokens map[string]any
		status int
		parts  int
	}{
		"signed":              {map[string]any{"access_token": idp.token(t, nil)}, http.StatusOK, 1},
		"opaque":              {map[string]any{"access_token": "opaque"}, http.StatusOK, 1},
		"long":                {map[string]any{"access_token": "opaque", "refresh_token": long(6000)}, http.StatusOK, 3},
		"too long to refresh": {map[string]any{"access_token": "opaque", "refresh_token": long(15000)}, http.StatusOK, 1},
		"too long":            {map[string]any{"access_token": long(15000)}, http.StatusServiceUnavailable, 0},
		"of another issuer":   {map[string]any{"access_token": newIssuer(t).token(t, nil)}, http.StatusBadRequest, 1},
		"for another client": {map[string]any{"access_token": "opaque",
			"id_token": idp.token(t, map[string]any{"aud": "x", "typ": "ID"})}, http.StatusBadRequest, 0},
		"of another login": {map[string]any{"access_token": "opaque",
			"id_token": idp.token(t, map[string]any{"aud": "kong", "typ": "ID", "nonce": "x"})}, http.StatusBadRequest, 0},
		"without a name": {map[string]any{"access_token": "opaque", "id_token": ""}, http.StatusBadRequest, 0},
	} {
		t.Run(name, func(t *testing.T) {
			status, cookies := answered(t, g, idp, c.tokens)
			require.Equal(t, c.status, status)
			require.Len(t, cookies, c.parts)
		})
	}
}

func TestOIDC_verifiesCertificatesOfTheIssuerByDefault(t *testing.T) {
	idp := newIssuerAt(t, httptest.NewTLSServer)
	token := "Authorization: Bearer " + idp.token(t, nil)
	for verify, want := range map[string]int{"yes": http.StatusServiceUnavailable, "no": http.StatusOK} {
		s := oidcStage(t, idp.config(map[string]any{"ssl_verify": verify}))
		require.Equal(t, want, s.Do(http.MethodGet, "/", "", token).Status, verify)
	}
	s := oidcStage(t, idp.config(nil))
	require.Equal(t, http.StatusServiceUnavailable, s.Do(http.MethodGet, "/", "", token).Status, "the default is to verify")
}
