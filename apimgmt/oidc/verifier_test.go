package oidc_test

import (
	"context"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

func TestVerifier_Verify_acceptsEveryAlgorithm(t *testing.T) {
	r, e256, e384, e521, ed := rsaKey(t, "r"), ecKey(t, "e256", elliptic.P256()), ecKey(t, "e384",
		elliptic.P384()), ecKey(t, "e521", elliptic.P521()), edKey(t, "ed")
	issuer := newFakeIssuer(t, r, e256, e384, e521, ed)
	v := issuer.verifier(t, nil)
	for algorithm, k := range map[string]jose.JSONWebKey{
		"RS256": r, "RS384": r, "RS512": r, "PS256": r, "PS384": r, "PS512": r, "ES256": e256, "ES384": e384, "ES512": e521, "EdDSA": ed,
	} {
		claims, err := v.Verify(t.Context(), sign(t, k, algorithm, issuer.claims(), "typ", "JWT"))
		require.NoError(t, err, algorithm)
		require.Equal(t, "demodeveloper", claims.Username)
	}
	require.EqualValues(t, 1, issuer.fetches.Load())
	require.EqualValues(t, 1, issuer.discoveries.Load(), "the document is fetched once")
}

func TestVerifier_Verify_returnsTheClaims(t *testing.T) {
	k := rsaKey(t, "k")
	issuer := newFakeIssuer(t, k)
	v := issuer.verifier(t, nil)
	signed := issuer.claims()
	claims, err := v.Verify(t.Context(), sign(t, k, "RS256", signed))
	require.NoError(t, err)
	require.Equal(t, []string{"account"}, claims.Audience)
	require.Equal(t, "private-backend", claims.AuthorizedParty)
	require.Equal(t, []string{"profile", "email"}, claims.Scopes)
	require.Equal(t, "s1", claims.Session)
	require.Equal(t, issuer.name, claims.Issuer)
	require.EqualValues(t, signed["exp"], claims.Expires.Unix())
	require.True(t, claims.HasRole("Developer"))
	require.False(t, claims.HasRole("Open-Caller"))
	require.True(t, claims.HasScope("email"))
	require.False(t, claims.HasScope("mail"))
	require.True(t, json.Valid(claims.Raw))
	require.Contains(t, string(claims.Raw), `"realm_access"`)
	require.False(t, (*oidc.Claims)(nil).HasRole("Developer"))
}

func TestVerifier_Verify_hasASentinelForEveryRefusal(t *testing.T) {
	k, other, ec := rsaKey(t, "k"), rsaKey(t, "k"), ecKey(t, "k", elliptic.P256())
	issuer := newFakeIssuer(t, k)
	v := issuer.verifier(t, func(c *oidc.Config) {
		c.Audience, c.AuthorizedParties = []string{"account", "other"}, []string{"private-backend"}
		c.CacheEntries = -1
	})
	good := sign(t, k, "RS256", issuer.claims())
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	now := time.Now()
	hour := now.Add(time.Hour).Unix()
	public, err := x509.MarshalPKIXPublicKey(k.Public().Key)
	require.NoError(t, err)
	hmac := jose.JSONWebKey{Key: public, KeyID: "k"}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k"}`)) + "." + body + "."
	twice := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"x","iss":"y"}`))
	claims := issuer.claims
	for name, test := range map[string]struct {
		token string
		want  error
	}{
		"nothing":              {"", oidc.ErrMissing},
		"no token":             {"nonsense", oidc.ErrMalformed},
		"two parts":            {head + "." + body, oidc.ErrMalformed},
		"four parts":           {good + ".x", oidc.ErrMalformed},
		"too long":             {good + strings.Repeat("A", 16<<10), oidc.ErrMalformed},
		"a line break":         {head + "\n." + rest, oidc.ErrMalformed},
		"no base64":            {"*." + rest, oidc.ErrMalformed},
		"a claim twice":        {head + "." + twice + "." + signature, oidc.ErrMalformed},
		"claims no object":     {sign(t, k, "RS256", []int{1}), oidc.ErrMalformed},
		"exp no number":        {sign(t, k, "RS256", with(claims(), "exp", "soon")), oidc.ErrMalformed},
		"exp far away":         {sign(t, k, "RS256", with(claims(), "exp", 1e300)), oidc.ErrMalformed},
		"no exp":               {sign(t, k, "RS256", with(claims(), "exp", nil)), oidc.ErrMalformed},
		"alg none":             {none, oidc.ErrAlgorithm},
		"hmac with public key": {sign(t, hmac, "HS256", claims()), oidc.ErrAlgorithm},
		"ec for an rsa key":    {sign(t, ec, "ES256", claims()), oidc.ErrAlgorithm},
		"other key, same name": {sign(t, other, "RS256", claims()), oidc.ErrSignature},
		"tampered": {head + "." + base64.RawURLEncoding.EncodeToString(
			[]byte(`{"iss":"`+issuer.name+`","exp":9999999999}`)) + "." + signature, oidc.ErrSignature},
		"no signature":         {head + "." + body + ".", oidc.ErrSignature},
		"unknown key":          {sign(t, rsaKey(t, "new"), "RS256", claims()), oidc.ErrUnknownKey},
		"other issuer":         {sign(t, k, "RS256", with(claims(), "iss", "https://evil.example")), oidc.ErrIssuer},
		"other issuer and key": {sign(t, rsaKey(t, "new"), "RS256", with(claims(), "iss", "https://evil.example")), oidc.ErrIssuer},
		"other audience":       {sign(t, k, "RS256", with(claims(), "aud", []string{"a", "b"})), oidc.ErrAudience},
		"no audience":          {sign(t, k, "RS256", with(claims(), "aud", nil)), oidc.ErrAudience},
		"other party":          {sign(t, k, "RS256", with(claims(), "azp", "evil")), oidc.ErrAudience},
		"expired":              {sign(t, k, "RS256", with(claims(), "exp", now.Add(-time.Minute).Unix())), oidc.ErrExpired},
		"not yet":              {sign(t, k, "RS256", with(claims(), "nbf", hour)), oidc.ErrNotYetValid},
		"issued later":         {sign(t, k, "RS256", with(claims(), "iat", hour)), oidc.ErrNotYetValid},
		"refresh token":        {sign(t, k, "RS256", with(claims(), "typ", "Refresh")), oidc.ErrType},
		"id token":             {sign(t, k, "RS256", with(claims(), "typ", "ID")), oidc.ErrType},
		"logout token":         {sign(t, k, "RS256", claims(), "typ", "logout+jwt"), oidc.ErrType},
	} {
		got, err := v.Verify(t.Context(), test.token)
		require.ErrorIs(t, err, test.want, name)
		require.ErrorContains(t, err, "verify token: ", name)
		require.Nil(t, got, name)
		require.Less(t, len(err.Error()), 800, name)
		if len(test.token) > 20 {
			require.NotContains(t, err.Error(), test.token, name)
		}
	}
	_, err = v.Verify(t.Context(), good)
	require.NoError(t, err, "the token that all those were made of is good")
}

func TestVerifier_Verify_readsOneAudienceOrSeveral(t *testing.T) {
	k := edKey(t, "k")
	issuer := newFakeIssuer(t, k)
	v := issuer.verifier(t, func(c *oidc.Config) { c.Audience = []string{"us"} })
	for _, aud := range []any{"us", []string{"them", "us"}} {
		_, err := v.Verify(t.Context(), sign(t, k, "EdDSA", with(issuer.claims(), "aud", aud)))
		require.NoError(t, err)
	}
}

func TestVerifier_Verify_triesKeysWithoutAKeyID(t *testing.T) {
	k := edKey(t, "")
	issuer := newFakeIssuer(t, edKey(t, "a"), rsaKey(t, "b"), k)
	_, err := issuer.verifier(t, nil).Verify(t.Context(), sign(t, k, "EdDSA", issuer.claims()))
	require.NoError(t, err)
}

func TestVerifier_Verify_ignoresUnsuitableKeys(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	small := jose.JSONWebKey{Key: weak, KeyID: "small"}
	sealing := rsaKey(t, "sealing")
	sealing.Use = "enc"
	pinned := rsaKey(t, "pinned")
	pinned.Algorithm = "PS256"
	issuer := newFakeIssuer(t, small, sealing, pinned)
	v := issuer.verifier(t, nil)
	// Signing with a key of 1,024 bits is what no library does any more, so the
	// token names it and is signed by another.
	named := rsaKey(t, "small")
	_, err = v.Verify(t.Context(), sign(t, named, "RS256", issuer.claims()))
	require.ErrorIs(t, err, oidc.ErrUnknownKey)
	_, err = v.Verify(t.Context(), sign(t, sealing, "RS256", issuer.claims()))
	require.ErrorIs(t, err, oidc.ErrUnknownKey)
	pinned.Algorithm = ""
	_, err = v.Verify(t.Context(), sign(t, pinned, "RS256", issuer.claims()))
	require.ErrorIs(t, err, oidc.ErrAlgorithm)
	_, err = v.Verify(t.Context(), sign(t, pinned, "PS256", issuer.claims()))
	require.NoError(t, err)
}

func TestVerifier_Verify_restrictsAlgorithms(t *testing.T) {
	r, ed := rsaKey(t, "r"), edKey(t, "ed")
	issuer := newFakeIssuer(t, r, ed)
	v := issuer.verifier(t, func(c *oidc.Config) { c.Algorithms = []string{"RS256"} })
	_, err := v.Verify(t.Context(), sign(t, ed, "EdDSA", issuer.claims()))
	require.ErrorIs(t, err, oidc.ErrAlgorithm)
	_, err = v.Verify(t.Context(), sign(t, r, "RS256", issuer.claims()))
	require.NoError(t, err)
}

func TestVerifier_Verify_acceptsAnIssuerBehindAProxy(t *testing.T) {
	k := edKey(t, "k")
	issuer := newFakeIssuer(t, k)
	back := issuer.URL + "/.well-known/openid-configuration"
	for public, name := range map[string]string{"configured": "https://public.example/auth", "of the document": ""} {
		v := issuer.verifier(t, func(c *oidc.Config) { c.Issuer, c.Discovery = name, back })
		if name == "" {
			name = issuer.name
		}
		_, err := v.Verify(t.Context(), sign(t, k, "EdDSA", with(issuer.claims(), "iss", name)))
		require.NoError(t, err, public)
		_, err = v.Verify(t.Context(), sign(t, k, "EdDSA", with(issuer.claims(), "iss", "https://elsewhere.example")))
		require.ErrorIs(t, err, oidc.ErrIssuer, public)
	}
}

func TestVerifier_refusesTheDocumentOfAnotherIssuer(t *testing.T) {
	k := edKey(t, "k")
	issuer := newFakeIssuer(t, k)
	v := issuer.verifier(t, nil)
	issuer.name = "https://evil.example"
	_, err := v.Verify(t.Context(), sign(t, k, "EdDSA", issuer.claims()))
	require.ErrorIs(t, err, oidc.ErrUnreachable)
	require.ErrorContains(t, err, "https://evil.example")
	require.ErrorIs(t, v.Ready(t.Context()), oidc.ErrUnreachable)
}

func TestVerifier_needsNoDocumentWithEndpoints(t *testing.T) {
	k := edKey(t, "k")
	issuer := newFakeIssuer(t, k)
	v := issuer.verifier(t, func(c *oidc.Config) { c.Endpoints.Keys = issuer.URL + "/certs" })
	_, err := v.Verify(t.Context(), sign(t, k, "EdDSA", issuer.claims()))
	require.NoError(t, err)
	require.NoError(t, v.Ready(t.Context()))
	require.Zero(t, issuer.discoveries.Load())
}

func TestVerifier_Verify_reportsAnUnreachableIssuer(t *testing.T) {
	token := sign(t, edKey(t, "k"), "EdDSA", map[string]any{})
	secret := "the answer is not shown"
	for name, answer := range map[string]http.HandlerFunc{
		"status":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusInternalServerError) },
		"redirect":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(secret)) },
		"no issuer": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) },
		"too large": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 300<<10)))
		},
		"other hosts": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": "http://" + r.Host, "jwks_uri": "http://169.254.169.254/latest"})
		},
	} {
		server := httptest.NewServer(answer)
		v, err := oidc.New(oidc.Config{Issuer: server.URL})
		require.NoError(t, err)
		_, err = v.Verify(t.Context(), token)
		require.ErrorIs(t, err, oidc.ErrUnreachable, name)
		require.NotContains(t, err.Error(), secret)
		require.NoError(t, v.Close())
		server.Close()
	}
}

func TestVerifier_refusesRedirectsAndLongAnswers(t *testing.T) {
	k := edKey(t, "k")
	for name, padding := range map[string]int{"a good answer": 0, "a long answer": 300 << 10} {
		for _, redirect := range []bool{false, true} {
			var server *httptest.Server
			server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/certs":
					_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{k.Public()}})
				case redirect && r.URL.Path != "/elsewhere":
					http.Redirect(w, r, "/elsewhere", http.StatusFound)
				default:
					_ = json.NewEncoder(w).Encode(map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/certs"})
					_, _ = w.Write([]byte(strings.Repeat(" ", padding)))
				}
			}))
			v, err := oidc.New(oidc.Config{Issuer: server.URL})
			require.NoError(t, err)
			err = v.Ready(t.Context())
			if padding == 0 && !redirect {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, oidc.ErrUnreachable, "%s, redirected: %t", name, redirect)
			}
			server.Close()
		}
	}
}

func TestVerifier_Verify_distinguishesACancelledCaller(t *testing.T) {
	asked := make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	v, err := oidc.New(oidc.Config{Issuer: server.URL, Timeout: time.Minute})
	require.NoError(t, err)
	token := sign(t, edKey(t, "k"), "EdDSA", map[string]any{})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for range 3 { // one fetches, the others wait for it
		wait.Go(func() {
			_, err := v.Verify(ctx, token)
			if !errors.Is(err, context.Canceled) || errors.Is(err, oidc.ErrUnreachable) {
				t.Error(err)
			}
		})
	}
	<-asked
	cancel()
	wait.Wait()
}

func TestNew_namesTheFieldOfAnError(t *testing.T) {
	for field, c := range map[string]oidc.Config{
		"Config.Issuer":           {},
		"Config.Discovery":        {Issuer: "http://idm.example"},
		"expected https":          {Issuer: "ftp://idm.example"},
		"https://HOST":            {Issuer: "https://user:hunter2@idm.example"},
		"not a URL":               {Issuer: "http://u:hunter2@host\x7f"},
		"may be asked":            {Issuer: "https://idm.example", Hosts: []string{"other.example"}},
		"Config.Endpoints.Keys":   {Issuer: "https://idm.example", Endpoints: oidc.Endpoints{Keys: "http://idm.example"}},
		"Config.Algorithms":       {Issuer: "https://idm.example", Algorithms: []string{"HS256"}},
		"Config.ClientAuth":       {Issuer: "https://idm.example", ClientAuth: "private_key_jwt"},
		"Config.Timeout":          {Issuer: "https://idm.example", Timeout: -1},
		"Endpoints.Introspection": {Issuer: "https://idm.example", Endpoints: oidc.Endpoints{Introspection: "/relative"}},
	} {
		_, err := oidc.New(c)
		require.ErrorContains(t, err, "new verifier: ", field)
		require.ErrorContains(t, err, field)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := oidc.New(oidc.Config{Issuer: "http://idm.example:8080/auth", AllowHTTP: true, Hosts: []string{"idm.example"}})
	require.NoError(t, err)
}
