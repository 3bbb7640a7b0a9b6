// Package keycloak_test tries the verification of tokens, the suite of identity
// providers, and a whole apimanager on a real Keycloak.
package keycloak_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/test/interop/keycloak/keycloaktest"
)

// TestKeycloak starts one Keycloak for all.
func TestKeycloak(t *testing.T) {
	k := keycloaktest.Start(t)
	t.Logf("Keycloak answered after %s", k.Started.Round(100*time.Millisecond))
	t.Run("it passes the suite", func(t *testing.T) { oidctest.Run(t, k.Realm) })
	t.Run("tampered and expired tokens are refused", func(t *testing.T) { refuse(t, k) })
	t.Run("tokens of a new key are verified", func(t *testing.T) { rotate(t, k) })
	t.Run("published APIs are served as their definitions secure them", func(t *testing.T) { serve(t, k) })
	t.Run("people sign in at the portal in a browser", func(t *testing.T) { browse(t, k) })
	t.Run("tokens of another realm are refused", func(t *testing.T) { otherRealm(t, k) })
	t.Run("an unknown issuer behind another address", func(t *testing.T) { backChannel(t, k) })
}

func verifier(t *testing.T, c oidc.Config) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

func refuse(t *testing.T, k *keycloaktest.Keycloak) {
	v := verifier(t, oidc.Config{Issuer: k.Realm.Issuer, Audience: []string{"account"}, AuthorizedParties: []string{"private-backend"}})
	token := k.Realm.Token(t, "demodeveloper", "")["access_token"].(string)
	claims, err := v.Verify(t.Context(), token)
	require.NoError(t, err)
	require.True(t, claims.HasRole("Developer"))
	caller, err := v.Verify(t.Context(), k.Realm.Token(t, "demoopencaller", "")["access_token"].(string))
	require.NoError(t, err)
	require.False(t, caller.HasRole("Developer"))

	parts := strings.Split(token, ".")
	other := strings.Split(k.Realm.Token(t, "demoopencaller", "")["access_token"].(string), ".")
	for _, tampered := range []string{
		parts[0] + "." + other[1] + "." + parts[2], token[:len(token)-8] + "AAAAAAAA", parts[0] + "." + parts[1] + ".",
	} {
		_, err = v.Verify(t.Context(), tampered)
		require.ErrorIs(t, err, oidc.ErrSignature)
	}
	_, err = verifier(t, oidc.Config{Issuer: k.Realm.Issuer, AuthorizedParties: []string{"kong"}}).Verify(t.Context(), token)
	require.ErrorIs(t, err, oidc.ErrAudience)

	// A realm whose tokens are good for a second.
	k.Admin("PUT", "/realms/OpenAPI", map[string]any{"accessTokenLifespan": 1})
	defer k.Admin("PUT", "/realms/OpenAPI", map[string]any{"accessTokenLifespan": 300})
	brief := k.Realm.Token(t, "demodeveloper", "")["access_token"].(string)
	exact := verifier(t, oidc.Config{Issuer: k.Realm.Issuer, Skew: -1})
	require.Eventually(t, func() bool {
		_, err := exact.Verify(t.Context(), brief)
		return err != nil
	}, time.Minute, 50*time.Millisecond)
	_, err = exact.Verify(t.Context(), brief)
	require.ErrorIs(t, err, oidc.ErrExpired)
	asking := verifier(t, oidc.Config{Issuer: k.Realm.Issuer, ClientID: "private-backend",
		ClientSecret: k.Realm.Secret, IntrospectionTTL: -1})
	require.Eventually(t, func() bool {
		_, err = asking.Introspect(t.Context(), brief)
		return err != nil
	}, time.Minute, 50*time.Millisecond)
	require.ErrorIs(t, err, oidc.ErrInactive)
}

func rotate(t *testing.T, k *keycloaktest.Keycloak) {
	v := verifier(t, oidc.Config{Issuer: k.Realm.Issuer, KeysRetry: time.Nanosecond})
	old := k.Realm.Token(t, "demouser", "")["access_token"].(string)
	_, err := v.Verify(t.Context(), old)
	require.NoError(t, err)
	k.RotateKeys()
	fresh := k.Realm.Token(t, "demouser", "")["access_token"].(string)
	require.NotEqual(t, strings.Split(old, ".")[0], strings.Split(fresh, ".")[0], "another key signs")
	_, err = v.Verify(t.Context(), fresh)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), old)
	require.NoError(t, err)
}

func otherRealm(t *testing.T, k *keycloaktest.Keycloak) {
	k.Admin("POST", "/realms", map[string]any{
		"realm": "Other", "enabled": true, "clients": []any{map[string]any{"clientId": "evil", "publicClient": false,
			"secret": "x", "serviceAccountsEnabled": true}},
	})
	evil := oidctest.Realm{Issuer: strings.TrimSuffix(k.Realm.Issuer, "OpenAPI") + "Other"}
	token := evil.ServiceToken(t, "evil", "x")
	_, err := verifier(t, oidc.Config{Issuer: k.Realm.Issuer}).Verify(t.Context(), token)
	require.ErrorIs(t, err, oidc.ErrIssuer)
	_, err = verifier(t, oidc.Config{Issuer: evil.Issuer}).Verify(t.Context(), token)
	require.NoError(t, err)
}

// backChannel has the verifier fetch keys at an address that tokens do not name.
func backChannel(t *testing.T, k *keycloaktest.Keycloak) {
	inside := strings.Replace(k.Realm.Issuer, "127.0.0.1", "localhost", 1)
	v := verifier(t, oidc.Config{Issuer: k.Realm.Issuer, Discovery: inside + "/.well-known/openid-configuration"})
	_, err := v.Verify(t.Context(), k.Realm.Token(t, "demouser", "")["access_token"].(string))
	require.NoError(t, err)
	v = verifier(t, oidc.Config{Discovery: inside + "/.well-known/openid-configuration"})
	_, err = v.Verify(t.Context(), k.Realm.Token(t, "demouser", "")["access_token"].(string))
	require.ErrorIs(t, err, oidc.ErrIssuer, "the document names the address that it was fetched from")
}
