package oidc_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// loginIssuer is an issuer whose token endpoint answers with what a test says.
type loginIssuer struct {
	key    jose.JSONWebKey
	iss    bool // whether it says that answers name it
	status int
	answer map[string]any
	asked  []url.Values
}

func (l *loginIssuer) client(t *testing.T, secret string) *oidc.Client {
	t.Helper()
	network := answering(func(r *http.Request) (int, string) {
		var document any
		switch r.URL.Path {
		case "/auth/realms/OpenAPI/.well-known/openid-configuration":
			document = map[string]any{
				"issuer": insideName, "jwks_uri": insideName + "/certs", "authorization_endpoint": insideName + "/auth?kc=1",
				"token_endpoint":       insideName + "/token",
				"end_session_endpoint": insideName + "/logout", "authorization_response_iss_parameter_supported": l.iss,
			}
		case "/auth/realms/OpenAPI/certs":
			document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{l.key.Public()}}
		case "/auth/realms/OpenAPI/token":
			if err := r.ParseForm(); err != nil {
				return 500, err.Error()
			}
			if name, password, ok := r.BasicAuth(); ok {
				r.PostForm.Set("basic", name+":"+password)
			}
			l.asked = append(l.asked, r.PostForm)
			text, _ := json.Marshal(l.answer)
			return l.status, string(text)
		}
		text, err := json.Marshal(document)
		if err != nil {
			return 500, err.Error()
		}
		return 200, string(text)
	})
	c, err := oidc.NewClient(oidc.ClientConfig{
		Config:      oidc.Config{Issuer: insideName, ClientID: "portal", ClientSecret: secret, HTTPClient: &http.Client{Transport: network}},
		RedirectURL: "https://portal.example/callback",
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// tokens creates a good answer, and changes the claims of its ID token.
func (l *loginIssuer) tokens(t *testing.T, nonce string, change func(map[string]any)) {
	t.Helper()
	claims := map[string]any{"iss": insideName, "aud": "portal", "azp": "portal", "typ": "ID",
		"exp": time.Now().Add(time.Minute).Unix(), "nonce": nonce, "preferred_username": "demouser"}
	if change != nil {
		change(claims)
	}
	l.status = 200
	l.answer = map[string]any{
		"access_token": "access", "refresh_token": "refresh", "token_type": "bearer", "expires_in": 300,
		"refresh_expires_in": 1800, "id_token": sign(t, l.key, "EdDSA", claims),
	}
}

func TestClient_Begin_usesAnotherRedirectAddress(t *testing.T) {
	l := &loginIssuer{key: edKey(t, "k")}
	c := l.client(t, "")
	const back = "https://second.example/callback"
	login, err := c.BeginAt(t.Context(), back)
	require.NoError(t, err)
	where, err := url.Parse(login.URL)
	require.NoError(t, err)
	require.Equal(t, back, where.Query().Get("redirect_uri"))
	l.tokens(t, login.Nonce, nil)
	_, err = c.Exchange(t.Context(), login, url.Values{"state": {login.State}, "code": {"the code"}})
	require.NoError(t, err)
	require.Equal(t, back, l.asked[0].Get("redirect_uri"), "the issuer compares the two")
	for _, bad := range []string{"/callback", "javascript:alert(1)", "https://second.example/#x"} {
		_, err = c.BeginAt(t.Context(), bad)
		require.ErrorContains(t, err, "expected http", bad)
	}
}

func TestClient_sendsPKCEAndGetsTokens(t *testing.T) {
	for _, secret := range []string{"", "s e"} {
		l := &loginIssuer{key: edKey(t, "k"), iss: true}
		c := l.client(t, secret)
		login, err := c.Begin(t.Context())
		require.NoError(t, err)
		where, err := url.Parse(login.URL)
		require.NoError(t, err)
		sent := where.Query()
		require.Equal(t, "1", sent.Get("kc"), "what the endpoint has in its query stays")
		require.Equal(t, "S256", sent.Get("code_challenge_method"))
		require.Equal(t, "openid profile email", sent.Get("scope"))
		require.Equal(t, login.State, sent.Get("state"))
		require.NotContains(t, login.URL, login.Verifier)
		require.GreaterOrEqual(t, len(login.Verifier), 43)

		l.tokens(t, login.Nonce, nil)
		tokens, err := c.Exchange(t.Context(), login, url.Values{"state": {login.State}, "code": {"the code"}, "iss": {insideName}})
		require.NoError(t, err)
		require.Equal(t, "demouser", tokens.Claims.Username)
		require.WithinDuration(t, time.Now().Add(30*time.Minute), tokens.RefreshExpires, time.Minute)
		asked := l.asked[0]
		require.Equal(t, login.Verifier, asked.Get("code_verifier"))
		require.Equal(t, "https://portal.example/callback", asked.Get("redirect_uri"))
		if secret == "" {
			require.Equal(t, "portal", asked.Get("client_id"))
		} else {
			require.Equal(t, "portal:s+e", asked.Get("basic"))
		}
		delete(l.answer, "refresh_token")
		delete(l.answer, "id_token")
		fresh, err := c.Refresh(t.Context(), tokens.Refresh)
		require.NoError(t, err)
		require.Equal(t, tokens.Refresh, fresh.Refresh, "an issuer that does not rotate it gives no new one")
	}
}

func TestClient_Exchange_tellsARefusedClientFromARefusedUser(t *testing.T) {
	l := &loginIssuer{key: edKey(t, "k")}
	c := l.client(t, "the old secret")
	login, err := c.Begin(t.Context())
	require.NoError(t, err)
	for _, test := range []struct {
		status int
		code   string
		client bool
	}{{401, "unauthorized_client", true}, {401, "invalid_client", true}, {400, "invalid_client", true}, {400, "invalid_grant", false},
		{401, "invalid_grant", false}, {400, "unauthorized_client", true}} {
		l.status, l.answer = test.status, map[string]any{"error": test.code}
		_, err = c.Exchange(t.Context(), login, url.Values{"state": {login.State}, "code": {"the code"}})
		require.Equal(t, test.client, errors.Is(err, oidc.ErrClient), test.code)
		var refusal *oidc.Refusal
		require.ErrorAs(t, err, &refusal, "as before")
		require.NotErrorIs(t, err, oidc.ErrUnreachable)
		_, err = c.Refresh(t.Context(), "refresh")
		require.Equal(t, test.client, errors.Is(err, oidc.ErrClient), test.code)
		require.NotContains(t, err.Error(), "old secret")
	}
	_, err = c.Exchange(t.Context(), login, url.Values{"state": {login.State}, "error": {"invalid_client"}})
	require.NotErrorIs(t, err, oidc.ErrClient, "it came by way of the browser")
}

func TestClient_refusesAnswersToOtherLogins(t *testing.T) {
	l := &loginIssuer{key: edKey(t, "k"), iss: true}
	c := l.client(t, "")
	login, err := c.Begin(t.Context())
	require.NoError(t, err)
	l.tokens(t, login.Nonce, nil)
	other, err := c.Begin(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, login.State, other.State)
	for name, query := range map[string]url.Values{
		"no state": {"code": {"x"}, "iss": {insideName}}, "other state": {"code": {"x"}, "state": {other.State}, "iss": {insideName}},
		"no iss": {"code": {"x"}, "state": {login.State}}, "other iss": {"code": {"x"}, "state": {login.State}, "iss": {"https://evil.example"}},
		"no code": {"state": {login.State}, "iss": {insideName}},
	} {
		_, err := c.Exchange(t.Context(), login, query)
		require.ErrorIs(t, err, oidc.ErrState, name)
	}
	_, err = c.Exchange(t.Context(), oidc.Login{}, url.Values{"code": {"x"}, "state": {""}, "iss": {insideName}})
	require.ErrorIs(t, err, oidc.ErrState, "a login that never began")
	require.Empty(t, l.asked, "no code was given away")

	_, err = c.Exchange(t.Context(), login, url.Values{"state": {login.State}, "iss": {insideName},
		"error": {"access_denied"}, "error_description": {"no"}})
	var refusal *oidc.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, "access_denied", refusal.Code)
}

func TestClient_refusesIDTokensOfOtherLogins(t *testing.T) {
	l := &loginIssuer{key: edKey(t, "k")}
	c := l.client(t, "")
	login, err := c.Begin(t.Context())
	require.NoError(t, err)
	query := url.Values{"state": {login.State}, "code": {"x"}}
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   error
	}{
		"nonce":    {func(c map[string]any) { c["nonce"] = "other" }, oidc.ErrNonce},
		"no nonce": {func(c map[string]any) { delete(c, "nonce") }, oidc.ErrNonce},
		"audience": {func(c map[string]any) { c["aud"] = "other" }, oidc.ErrAudience},
		"party":    {func(c map[string]any) { c["azp"] = "other" }, oidc.ErrAudience},
		"no party": {func(c map[string]any) { c["aud"] = []string{"portal", "other"}; delete(c, "azp") }, oidc.ErrAudience},
		"kind":     {func(c map[string]any) { c["typ"] = "Bearer" }, oidc.ErrType},
		"issuer":   {func(c map[string]any) { c["iss"] = "https://evil.example" }, oidc.ErrIssuer},
		"expired":  {func(c map[string]any) { c["exp"] = 1 }, oidc.ErrExpired},
	} {
		l.tokens(t, login.Nonce, test.change)
		_, err := c.Exchange(t.Context(), login, query)
		require.ErrorIs(t, err, test.want, name)
	}
	l.tokens(t, login.Nonce, nil)
	l.answer["id_token"] = sign(t, edKey(t, "k"), "EdDSA",
		map[string]any{"iss": insideName, "aud": "portal", "nonce": login.Nonce, "exp": time.Now().Add(time.Minute).Unix()})
	_, err = c.Exchange(t.Context(), login, query)
	require.ErrorIs(t, err, oidc.ErrSignature)
	delete(l.answer, "id_token")
	_, err = c.Exchange(t.Context(), login, query)
	require.ErrorIs(t, err, oidc.ErrMalformed)
	l.answer["token_type"] = "mac"
	_, err = c.Exchange(t.Context(), login, query)
	require.ErrorIs(t, err, oidc.ErrUnreachable)
	l.status, l.answer = 400, map[string]any{"error": "invalid_grant"}
	_, err = c.Refresh(t.Context(), "old")
	var refusal *oidc.Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, oidc.Refusal{Code: "invalid_grant", Status: 400}, *refusal)
	_, err = c.Refresh(t.Context(), "")
	require.ErrorIs(t, err, oidc.ErrMissing)
}

func TestClient_logoutNamesUserAndRedirect(t *testing.T) {
	c := (&loginIssuer{key: edKey(t, "k")}).client(t, "")
	out, err := c.EndSessionURL(t.Context(), "the id token", "https://portal.example/bye")
	require.NoError(t, err)
	require.Equal(t,
		insideName+"/logout?client_id=portal&id_token_hint=the+id+token&post_logout_redirect_uri=https%3A%2F%2Fportal.example%2Fbye", out)
}

func TestNewClient_refusesFaultyConfigurations(t *testing.T) {
	good := oidc.Config{Issuer: insideName, ClientID: "portal"}
	for want, c := range map[string]oidc.ClientConfig{
		"Config.ClientID": {Config: oidc.Config{Issuer: insideName}, RedirectURL: "https://portal.example/"},
		"RedirectURL":     {Config: good, RedirectURL: "/callback"},
		"Config.Issuer":   {Config: oidc.Config{ClientID: "portal"}, RedirectURL: "https://portal.example/"},
	} {
		_, err := oidc.NewClient(c)
		require.ErrorContains(t, err, "new client: ")
		require.ErrorContains(t, err, want)
	}
}
