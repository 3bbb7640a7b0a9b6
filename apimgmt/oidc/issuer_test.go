package oidc_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// fakeIssuer is an issuer whose every answer a test can change.
type fakeIssuer struct {
	*httptest.Server
	name string // iss; the server's address unless changed

	mu         sync.Mutex
	keys       []jose.JSONWebKey
	header     http.Header // of the key set
	introspect http.HandlerFunc

	discoveries, fetches, questions atomic.Int32
}

func newFakeIssuer(t testing.TB, keys ...jose.JSONWebKey) *fakeIssuer {
	t.Helper()
	f := &fakeIssuer{header: http.Header{}}
	f.publish(keys...)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		f.discoveries.Add(1)
		f.write(w, map[string]any{
			"issuer": f.name, "jwks_uri": f.URL + "/certs", "introspection_endpoint": f.URL + "/introspect",
			"authorization_endpoint": f.URL + "/auth", "token_endpoint": f.URL + "/token", "end_session_endpoint": f.URL + "/logout",
		})
	})
	mux.HandleFunc("GET /certs", func(w http.ResponseWriter, _ *http.Request) {
		f.fetches.Add(1)
		f.mu.Lock()
		set := jose.JSONWebKeySet{Keys: f.keys}
		for name := range f.header {
			w.Header().Set(name, f.header.Get(name))
		}
		f.mu.Unlock()
		f.write(w, set)
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		f.questions.Add(1)
		f.introspect(w, r)
	})
	f.Server = httptest.NewServer(mux)
	f.name = f.URL
	t.Cleanup(f.Close)
	return f
}

func (*fakeIssuer) write(w http.ResponseWriter, document any) {
	_ = json.NewEncoder(w).Encode(document)
}

// publish replaces the keys.
func (f *fakeIssuer) publish(keys ...jose.JSONWebKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keys = nil
	for _, k := range keys {
		f.keys = append(f.keys, k.Public())
	}
}

// verifier creates one for the issuer, with what the change changes.
func (f *fakeIssuer) verifier(t testing.TB, change func(*oidc.Config)) *oidc.Verifier {
	t.Helper()
	c := oidc.Config{Issuer: f.name, HTTPClient: f.Client(), KeysRetry: time.Nanosecond}
	if change != nil {
		change(&c)
	}
	v, err := oidc.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

// claims are those of a good access token.
func (f *fakeIssuer) claims() map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": f.name, "sub": "1", "aud": "account", "azp": "private-backend", "typ": "Bearer", "jti": "t1",
		"exp": now.Add(5 * time.Minute).Unix(), "iat": now.Unix(), "preferred_username": "demodeveloper",
		"scope": "profile email", "sid": "s1", "realm_access": map[string]any{"roles": []string{"Developer"}},
	}
}

// with returns the claims with one changed, or without it if the value is nil.
func with(claims map[string]any, name string, value any) map[string]any {
	if value == nil {
		delete(claims, name)
	} else {
		claims[name] = value
	}
	return claims
}

func rsaKey(t testing.TB, id string) jose.JSONWebKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: id, Use: "sig"}
}

func ecKey(t testing.TB, id string, curve elliptic.Curve) jose.JSONWebKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: id, Use: "sig"}
}

func edKey(t testing.TB, id string) jose.JSONWebKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: id, Use: "sig"}
}

// sign creates a token. headers are names and values in turn.
func sign(t testing.TB, k jose.JSONWebKey, algorithm string, claims any, headers ...string) string {
	t.Helper()
	text, err := json.Marshal(claims)
	require.NoError(t, err)
	options := &jose.SignerOptions{}
	for i := 0; i < len(headers); i += 2 {
		options = options.WithHeader(jose.HeaderKey(headers[i]), headers[i+1])
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: k}, options)
	require.NoError(t, err)
	signed, err := signer.Sign(text)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}
