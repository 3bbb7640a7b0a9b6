package portal_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/portal"
)

func TestPortal_login_saysThatTheProviderRefusesTheClient(t *testing.T) {
	var refuses atomic.Bool
	w := newWorldOf(t, 25*time.Second, func(c *portal.Config) { // each request refreshes the tokens
		realm := c.URL + "/auth/realms/OpenAPI"
		tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if refuses.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				_, _ = io.WriteString(w, `{"error": "invalid_client"}`)
				return
			}
			forwarded, err := http.NewRequestWithContext(r.Context(), http.MethodPost, realm+"/protocol/openid-connect/token", r.Body)
			if err != nil {
				panic(err)
			}
			forwarded.Header = r.Header.Clone()
			answer, err := http.DefaultClient.Do(forwarded)
			if err != nil {
				panic(err)
			}
			defer func() { _ = answer.Body.Close() }()
			w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
		}))
		t.Cleanup(tokens.Close)
		client, err := oidc.NewClient(oidc.ClientConfig{RedirectURL: c.URL + portal.AnswerPath,
			Config: oidc.Config{Issuer: realm, ClientID: "public-frontend", Endpoints: oidc.Endpoints{Token: tokens.URL}}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		c.Client = client
	})
	p := w.person(t)
	p.signIn("demouser", "/login")
	require.Equal(t, http.StatusOK, p.part("/token").status)
	refuses.Store(true)
	require.Equal(t, http.StatusOK, p.part("/token").status, "the tokens are valid for a moment")

	refused := w.person(t).signIn("demouser", "/login")
	require.Equal(t, http.StatusServiceUnavailable, refused.status)
	require.Contains(t, refused.body, "The identity provider refuses the credentials of this portal.")
	require.NotContains(t, refused.body, "invalid_client")

	refuses.Store(false)
	require.Equal(t, http.StatusOK, p.part("/token").status, "the session has not ended")
}
