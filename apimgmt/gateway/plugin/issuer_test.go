package plugin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// issuer signs what a test wants.
type issuer struct {
	*httptest.Server
	key        *ecdsa.PrivateKey
	introspect atomic.Pointer[http.HandlerFunc]
	tokens     atomic.Pointer[map[string]any] // the answer of the token endpoint
	down       atomic.Bool
	fetches    atomic.Int32 // of the discovery document
}

func newIssuer(t testing.TB) *issuer { return newIssuerAt(t, httptest.NewServer) }

func newIssuerAt(t testing.TB, start func(http.Handler) *httptest.Server) *issuer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{key: private}
	point, err := private.PublicKey.Bytes() // 4, x, y
	require.NoError(t, err)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any) {
		if i.down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.fetches.Add(1)
		answer(w, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/certs", "introspection_endpoint": i.URL + "/elsewhere",
			"authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "end_session_endpoint": i.URL + "/logout",
		})
	})
	mux.HandleFunc("GET /certs", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]string{
			"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "alg": "ES256", "x": encoded(point[1:33]), "y": encoded(point[33:]),
		}}})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) { (*i.introspect.Load())(w, r) })
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, *i.tokens.Load())
	})
	i.Server = start(mux)
	t.Cleanup(i.Close)
	return i
}

// config is the least configuration for the issuer, and more.
func (i *issuer) config(more map[string]any) string {
	config := map[string]any{"discovery": i.URL + "/.well-known/openid-configuration", "bearer_only": "yes", "realm": "OpenAPI"}
	maps.Copy(config, more)
	text, _ := json.Marshal(config)
	return string(text)
}

// token signs claims, of which those that are usual need not be given.
func (i *issuer) token(t testing.TB, claims map[string]any) string {
	t.Helper()
	all := map[string]any{
		"iss": i.URL, "sub": "u-1", "preferred_username": "ada", "aud": "account", "azp": "public-backend-access", "typ": "Bearer",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "scope": "profile email",
		"realm_access": map[string]any{"roles": []string{"Developer"}},
	}
	maps.Copy(all, claims)
	return i.sign(t, all)
}

func (i *issuer) sign(t testing.TB, claims map[string]any) string {
	t.Helper()
	return signedES256(t, i.key, claims)
}

// unsigned are header and claims of a token, up to the last dot.
func unsigned(t testing.TB, algorithm string, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	require.NoError(t, err)
	return encoded([]byte(`{"alg":"`+algorithm+`","typ":"JWT","kid":"k"}`)) + "." + encoded(text)
}

func signedES256(t testing.TB, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	text := unsigned(t, "ES256", claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	require.NoError(t, err)
	return text + "." + encoded(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func encoded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }
