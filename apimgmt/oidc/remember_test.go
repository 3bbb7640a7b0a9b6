package oidc_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

func TestVerifier_Verify_expiresACachedToken(t *testing.T) {
	k := edKey(t, "1")
	synctest.Test(t, func(t *testing.T) {
		i := &inside{keys: []jose.JSONWebKey{k}}
		v := i.verifier(t, func(c *oidc.Config) { c.Skew = -1 })
		token := sign(t, k, "EdDSA", map[string]any{"iss": insideName, "exp": time.Now().Add(time.Minute).Unix(),
			"nbf": time.Now().Add(time.Second).Unix()})
		_, err := v.Verify(t.Context(), token)
		require.ErrorIs(t, err, oidc.ErrNotYetValid)
		time.Sleep(time.Second)
		first, err := v.Verify(t.Context(), token)
		require.NoError(t, err)
		again, err := v.Verify(t.Context(), token)
		require.NoError(t, err)
		require.Same(t, first, again)
		time.Sleep(58 * time.Second)
		_, err = v.Verify(t.Context(), token)
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, err = v.Verify(t.Context(), token)
		require.ErrorIs(t, err, oidc.ErrExpired)
	})
}

func TestVerifier_Verify_doesNotCacheARefusal(t *testing.T) {
	k := edKey(t, "1")
	i := &inside{keys: []jose.JSONWebKey{k}}
	v := i.verifier(t, nil)
	token := sign(t, k, "EdDSA", map[string]any{"iss": insideName, "exp": time.Now().Add(time.Hour).Unix(), "typ": "Refresh"})
	for range 2 {
		_, err := v.Verify(t.Context(), token)
		require.ErrorIs(t, err, oidc.ErrType)
	}
}

func BenchmarkVerify(b *testing.B) {
	k := rsaKey(b, "k")
	issuer := newFakeIssuer(b, k)
	token := sign(b, k, "RS256", issuer.claims())
	for name, entries := range map[string]int{"remembered": 0, "every call": -1} {
		b.Run(name, func(b *testing.B) {
			v := issuer.verifier(b, func(c *oidc.Config) { c.CacheEntries = entries })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzVerify looks for tokens that pass without a valid signature, and for
// panics.
func FuzzVerify(f *testing.F) {
	k := edKey(f, "k")
	i := &inside{keys: []jose.JSONWebKey{k}}
	v, err := oidc.New(oidc.Config{Issuer: insideName, HTTPClient: &http.Client{Transport: i}, KeysRetry: time.Hour, CacheEntries: -1})
	require.NoError(f, err)
	good := sign(f, k, "EdDSA", map[string]any{"iss": insideName, "exp": time.Now().Add(100 * time.Hour).Unix()})
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("eyJhbGciOiJIUzI1NiIsImtpZCI6ImsiLCJ0eXAiOiJKV1QifQ.eyJleHAiOjF9.AAAA")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		claims, err := v.Verify(t.Context(), token)
		// Some bits of the last character mean nothing.
		if err == nil && !strings.HasPrefix(token, good[:len(good)-1]) {
			t.Fatalf("it passed: %q", token)
		}
		if (err == nil) != (claims != nil) {
			t.Fatalf("claims %v with error %v", claims, err)
		}
	})
}
