package oidc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Nerzal/gocloak/v13"
	goidc "github.com/coreos/go-oidc/v3/oidc"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/iotenablers/enablers/apimgmt/oidc/devidp"
	"github.com/iotenablers/enablers/apimgmt/oidc/oidctest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/test/interop/keycloak/keycloaktest"
)

const (
	portal   = "http://portal.example:8999"
	password = "correct horse"
	secret   = "secret of private-backend"
)

func development(t *testing.T) oidctest.Realm {
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	realm := devidp.Demo(portal, portal)
	for i := range realm.Users {
		realm.Users[i].Password = password
	}
	realm.Clients[0].Secret = secret
	provider, err := devidp.Open(t.Context(), devidp.Config{BaseURL: server.URL + "/auth", Realm: realm,
		Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	handler = provider.Handler()
	return oidctest.Realm{Issuer: provider.Issuer(), Secret: secret, Password: password, Portal: portal}
}

func TestClients_workWithTheProviderForDevelopment(t *testing.T) {
	tryAll(t, development(t))
}

func TestClients_workWithKeycloak(t *testing.T) {
	tryAll(t, keycloaktest.Start(t).Realm)
}

func tryAll(t *testing.T, realm oidctest.Realm) {
	t.Run("gocloak", func(t *testing.T) { tryGocloak(t, realm) })
	t.Run("go-oidc", func(t *testing.T) { tryGoOIDC(t, realm) })
	t.Run("oauth2 with PKCE", func(t *testing.T) { tryOAuth2(t, realm) })
}

func tryGocloak(t *testing.T, realm oidctest.Realm) {
	base := strings.TrimSuffix(realm.Issuer, "/auth/realms/OpenAPI")
	client := gocloak.NewClient(base, gocloak.SetAuthRealms("auth/realms"))
	ctx, id := t.Context(), "private-backend"

	token, err := client.GetToken(ctx, "OpenAPI", gocloak.TokenOptions{
		ClientID: &id, ClientSecret: &realm.Secret, GrantType: gocloak.StringP("password"),
		Username: gocloak.StringP("demodeveloper"), Password: &realm.Password, Scope: gocloak.StringP("openid"),
	})
	require.NoError(t, err)
	require.InDelta(t, 300, token.ExpiresIn, 2)
	require.InDelta(t, 1800, token.RefreshExpiresIn, 2)
	require.NotEmpty(t, token.SessionState)

	result, err := client.RetrospectToken(ctx, token.AccessToken, id, realm.Secret, "OpenAPI")
	require.NoError(t, err)
	require.True(t, *result.Active)
	_, claims, err := client.DecodeAccessToken(ctx, token.AccessToken, "OpenAPI")
	require.NoError(t, err)
	require.Equal(t, "demodeveloper", (*claims)["preferred_username"])
	require.Contains(t, (*claims)["realm_access"].(map[string]any)["roles"], "Developer")
	_, _, err = client.DecodeAccessToken(ctx, token.AccessToken[:len(token.AccessToken)-8]+"AAAAAAAA", "OpenAPI")
	require.Error(t, err)

	info, err := client.GetUserInfo(ctx, token.AccessToken, "OpenAPI")
	require.NoError(t, err)
	require.Equal(t, "demodeveloper", *info.PreferredUsername)

	fresh, err := client.RefreshToken(ctx, token.RefreshToken, id, realm.Secret, "OpenAPI")
	require.NoError(t, err)
	require.NotEqual(t, token.AccessToken, fresh.AccessToken)
	service, err := client.LoginClient(ctx, id, realm.Secret, "OpenAPI")
	require.NoError(t, err)
	require.NotEmpty(t, service.AccessToken)

	require.NoError(t, client.Logout(ctx, id, realm.Secret, "OpenAPI", fresh.RefreshToken))
	result, err = client.RetrospectToken(ctx, fresh.AccessToken, id, realm.Secret, "OpenAPI")
	require.NoError(t, err)
	require.False(t, *result.Active)
	_, err = client.RefreshToken(ctx, fresh.RefreshToken, id, realm.Secret, "OpenAPI")
	var refusal *gocloak.APIError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, http.StatusBadRequest, refusal.Code)
}

func tryGoOIDC(t *testing.T, realm oidctest.Realm) {
	provider, err := goidc.NewProvider(t.Context(), realm.Issuer)
	require.NoError(t, err)
	config := oauth2.Config{ClientID: "private-backend", ClientSecret: realm.Secret, Endpoint: provider.Endpoint(),
		Scopes: []string{goidc.ScopeOpenID}}
	token, err := config.PasswordCredentialsToken(t.Context(), "demoopencaller", realm.Password)
	require.NoError(t, err)
	raw, ok := token.Extra("id_token").(string)
	require.True(t, ok)
	id, err := provider.Verifier(&goidc.Config{ClientID: "private-backend"}).Verify(t.Context(), raw)
	require.NoError(t, err)
	require.NoError(t, id.VerifyAccessToken(token.AccessToken), "at_hash")
	access, err := provider.Verifier(&goidc.Config{ClientID: "account"}).Verify(t.Context(), token.AccessToken)
	require.NoError(t, err)
	require.Equal(t, id.Subject, access.Subject)
	info, err := provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	require.NoError(t, err)
	require.Equal(t, id.Subject, info.Subject)
	require.Equal(t, "demoopencaller@example.org", info.Email)

	service := clientcredentials.Config{ClientID: "private-backend", ClientSecret: realm.Secret,
		TokenURL: provider.Endpoint().TokenURL}
	_, err = service.Token(t.Context())
	require.NoError(t, err)
}

func tryOAuth2(t *testing.T, realm oidctest.Realm) {
	provider, err := goidc.NewProvider(t.Context(), realm.Issuer)
	require.NoError(t, err)
	config := oauth2.Config{ClientID: "public-frontend", Endpoint: provider.Endpoint(),
		RedirectURL: realm.Portal + "/callback", Scopes: []string{goidc.ScopeOpenID}}
	verifier := oauth2.GenerateVerifier()
	browser := oidctest.NewBrowser(t, realm.Issuer)
	login := func() url.Values {
		page := browser.Open(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier), goidc.Nonce("nonce"),
			oauth2.SetAuthURLParam("prompt", "login")))
		return browser.Submit(page, map[string]string{"username": "demodeveloper", "password": realm.Password}).URL.Query()
	}
	answer := login()
	require.Equal(t, "state", answer.Get("state"))
	token, err := config.Exchange(t.Context(), answer.Get("code"), oauth2.VerifierOption(verifier))
	require.NoError(t, err)
	id, err := provider.Verifier(&goidc.Config{ClientID: "public-frontend"}).Verify(t.Context(),
		token.Extra("id_token").(string))
	require.NoError(t, err)
	require.Equal(t, "nonce", id.Nonce)

	token.Expiry = time.Now().Add(-time.Hour)
	fresh, err := config.TokenSource(context.WithoutCancel(t.Context()), token).Token()
	require.NoError(t, err)
	require.NotEqual(t, token.AccessToken, fresh.AccessToken)

	_, err = config.Exchange(t.Context(), login().Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	var refusal *oauth2.RetrieveError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "invalid_grant", refusal.ErrorCode)
	_, err = config.Exchange(t.Context(), login().Get("code"))
	require.ErrorAs(t, err, &refusal, "a public client must prove that it began the login")
}
