package oidctest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// Run runs the suite. It leaves sessions behind, and a few wrong passwords for
// users that do not exist.
func Run(t *testing.T, r Realm) {
	t.Run("the password grant answers with the fields of the contract", r.testPassword)
	t.Run("tokens carry the claims of the contract", r.testClaims)
	t.Run("refusals are in Keycloak's words", r.testRefusals)
	t.Run("a refresh token is good for once", r.testRefresh)
	t.Run("a client gets a token for itself", r.testService)
	t.Run("introspection follows the session", r.testIntrospection)
	t.Run("userinfo wants the scope openid", r.testUserInfo)
	t.Run("people log in with a code and PKCE", r.testCode)
	t.Run("logins that must not be are refused", r.testLoginFaults)
	t.Run("only pages of the clients may ask", r.testOrigins)
}

func (r Realm) verifier(t testing.TB) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(oidc.Config{Issuer: r.Issuer, Audience: []string{"account"}, ClientID: "private-backend",
		ClientSecret: r.Secret, IntrospectionTTL: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

func (r Realm) testPassword(t *testing.T) {
	got := r.post(t, "token", "client_id", "public-backend-access", "grant_type", "password", "username",
		"demodeveloper", "password", r.Password)
	require.Equal(t, http.StatusOK, got.Status, got.Text)
	require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	require.InDelta(t, 300, got.Body["expires_in"], 2)
	require.InDelta(t, 1800, got.Body["refresh_expires_in"], 2)
	require.Equal(t, "bearer", strings.ToLower(got.Body["token_type"].(string)))
	require.EqualValues(t, 0, got.Body["not-before-policy"])
	require.ElementsMatch(t, []string{"profile", "email"}, strings.Fields(got.Body["scope"].(string)))
	require.NotEmpty(t, got.Body["session_state"])
	var names []string
	for name := range got.Body {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"access_token", "expires_in", "refresh_expires_in", "refresh_token", "token_type", "not-before-policy", "session_state", "scope",
	}, names)
}

func (r Realm) testClaims(t *testing.T) {
	v := r.verifier(t)
	for user, role := range map[string]string{"demouser": "Developer", "demodeveloper": "Developer", "demoopencaller": "Open-Caller"} {
		got := r.Token(t, user, "")
		claims, err := v.Verify(t.Context(), got["access_token"].(string))
		require.NoError(t, err)
		require.Equal(t, r.Issuer, claims.Issuer)
		require.Contains(t, claims.Audience, "account")
		require.Equal(t, "private-backend", claims.AuthorizedParty)
		require.Equal(t, user, claims.Username)
		require.Equal(t, []string{role}, claims.Roles)
		require.True(t, claims.HasScope("profile"))
		require.Equal(t, got["session_state"], claims.Session)
		require.InDelta(t, 300, claims.Expires.Sub(claims.IssuedAt).Seconds(), 2)
		all := readClaims(t, got["access_token"])
		require.Equal(t, "Bearer", all["typ"])
		require.Equal(t, "1", all["acr"])
		require.Contains(t, all["allowed-origins"], r.Portal)
		_, err = v.Verify(t.Context(), got["refresh_token"].(string))
		require.ErrorIs(t, err, oidc.ErrAlgorithm, "a refresh token is sealed with a secret")
	}
}

func (r Realm) testRefusals(t *testing.T) {
	public := []string{"client_id", "public-backend-access"}
	for name, test := range map[string]struct {
		path   string
		fields []string
		status int
		code   string
		text   string
	}{
		"no client": {"token", []string{"grant_type", "password"}, 401, "invalid_client", "Invalid client or Invalid client credentials"},
		"unknown client": {"token", []string{"grant_type", "password", "client_id", "nope"}, 401, "invalid_client",
			"Invalid client or Invalid client credentials"},
		"no secret": {"token", []string{"grant_type", "password", "client_id", "private-backend"}, 401,
			"unauthorized_client", "Invalid client or Invalid client credentials"},
		"wrong secret": {"token", []string{"grant_type", "password", "client_id", "private-backend", "client_secret",
			"x"}, 401, "unauthorized_client", "Invalid client or Invalid client credentials"},
		"no grant":      {"token", public, 400, "invalid_request", "Missing form parameter: grant_type"},
		"unknown grant": {"token", append(public, "grant_type", "nope"), 400, "unsupported_grant_type", "Unsupported grant_type"},
		"no user":       {"token", append(public, "grant_type", "password"), 401, "invalid_request", "Missing parameter: username"},
		"unknown user": {"token", append(public, "grant_type", "password", "username", "absent", "password", "x"), 400,
			"invalid_grant", "Invalid user credentials"},
		"no refresh": {"token", append(public, "grant_type", "refresh_token"), 400, "invalid_request", "No refresh token"},
		"bad refresh": {"token", append(public, "grant_type", "refresh_token", "refresh_token", "x"), 400,
			"invalid_grant", "Invalid refresh token"},
		"no code": {"token", []string{"client_id", "public-frontend", "grant_type", "authorization_code"}, 400,
			"invalid_request", "Missing parameter: code"},
		"bad code": {"token", []string{"client_id", "public-frontend", "grant_type", "authorization_code", "code",
			"x", "redirect_uri", r.Portal + "/"}, 400, "invalid_grant", "Code not valid"},
		"direct access": {"token", []string{"client_id", "public-frontend", "grant_type", "password", "username", "x",
			"password", "x"}, 400, "unauthorized_client", "Client not allowed for direct access grants"},
		"public service": {"token", append(public, "grant_type", "client_credentials"), 401, "unauthorized_client",
			"Public client not allowed to retrieve service account"},
		"public asks": {"token/introspect", append(public, "token", "x"), 403, "invalid_request", "Client not allowed."},
		"who asks": {"token/introspect", []string{"client_id", "private-backend", "client_secret", "x", "token",
			"x"}, 401, "invalid_client", "Client authentication failed."},
		"what is asked":   {"token/introspect", r.backend("x", "y"), 400, "invalid_request", "Token not provided."},
		"logout of whom":  {"logout", r.backend("refresh_token", "x"), 400, "invalid_grant", "Invalid refresh token"},
		"a grant in GET":  {"", nil, 405, "HTTP 405 Method Not Allowed", ""},
		"another realm":   {"", nil, 404, "Realm does not exist", ""},
		"a field in pair": {"", nil, 400, "invalid_request", "duplicated parameter"},
	} {
		var got answer
		switch name {
		case "a grant in GET":
			got = r.get(t, r.endpoint("token"), "")
		case "another realm":
			got = r.get(t, strings.TrimSuffix(r.Issuer, "OpenAPI")+"Nope/.well-known/openid-configuration", "")
		case "a field in pair":
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.endpoint("token"),
				strings.NewReader("grant_type=password&grant_type=password&client_id=public-backend-access"))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got = ask(t, request)
			got.Body["error_description"] = test.text // is worded in many ways
		default:
			got = r.post(t, test.path, test.fields...)
		}
		require.Equal(t, test.status, got.Status, "%s: %s", name, got.Text)
		require.Equal(t, test.code, got.Body["error"], name)
		if test.text != "" {
			require.Equal(t, test.text, got.Body["error_description"], name)
		}
	}
}

func (r Realm) testRefresh(t *testing.T) {
	first := r.Token(t, "demouser", "")
	// Keycloak tells old refresh tokens by the second in which they were issued.
	issued := int64(readClaims(t, first["refresh_token"])["iat"].(float64))
	require.Eventually(t, func() bool { return time.Now().Unix() > issued }, 30*time.Second, 20*time.Millisecond)
	second := r.post(t, "token", r.backend("grant_type", "refresh_token", "refresh_token", first["refresh_token"].(string))...)
	require.Equal(t, 200, second.Status, second.Text)
	require.Equal(t, first["session_state"], second.Body["session_state"])
	require.NotEqual(t, first["refresh_token"], second.Body["refresh_token"])

	other := r.post(t, "token", "client_id", "public-backend-access", "grant_type", "refresh_token", "refresh_token",
		second.Body["refresh_token"].(string))
	require.Equal(t, 400, other.Status, "it was given to another client")
	require.Equal(t, "invalid_grant", other.Body["error"])

	third := r.post(t, "token", r.backend("grant_type", "refresh_token", "refresh_token", second.Body["refresh_token"].(string))...)
	require.Equal(t, 200, third.Status, third.Text)
	stolen := r.post(t, "token", r.backend("grant_type", "refresh_token", "refresh_token", first["refresh_token"].(string))...)
	require.Equal(t, 400, stolen.Status)
	require.Equal(t, "invalid_grant", stolen.Body["error"])
}

func (r Realm) testService(t *testing.T) {
	got := r.post(t, "token", r.backend("grant_type", "client_credentials")...)
	require.Equal(t, 200, got.Status, got.Text)
	require.EqualValues(t, 0, got.Body["refresh_expires_in"])
	require.NotContains(t, got.Body, "refresh_token")
	claims := readClaims(t, got.Body["access_token"])
	require.Equal(t, "service-account-private-backend", claims["preferred_username"])
	require.Equal(t, "private-backend", claims["client_id"])
}

func (r Realm) testIntrospection(t *testing.T) {
	v := r.verifier(t)
	got := r.Token(t, "demodeveloper", "")
	access := got["access_token"].(string)
	claims, err := v.Introspect(t.Context(), access)
	require.NoError(t, err)
	require.Equal(t, "demodeveloper", claims.Username)
	require.True(t, claims.HasRole("Developer"))
	gateway, err := oidc.New(oidc.Config{Issuer: r.Issuer, ClientID: "kong", ClientSecret: r.GatewaySecret, ClientAuth: oidc.SecretPost})
	require.NoError(t, err)
	defer gateway.Close()
	caller := r.post(t, "token", "client_id", "public-backend-access", "grant_type", "password", "username",
		"demoopencaller", "password", r.Password)
	claims, err = gateway.Introspect(t.Context(), caller.Body["access_token"].(string))
	require.NoError(t, err, "the gateway asks about tokens that other clients got")
	require.Equal(t, "public-backend-access", claims.AuthorizedParty)

	_, err = v.Introspect(t.Context(), "x")
	require.ErrorIs(t, err, oidc.ErrInactive)
	_, err = v.Introspect(t.Context(), access+"x")
	require.ErrorIs(t, err, oidc.ErrInactive)

	out := r.post(t, "logout", r.backend("refresh_token", got["refresh_token"].(string))...)
	require.Equal(t, http.StatusNoContent, out.Status, out.Text)
	_, err = v.Introspect(t.Context(), access)
	require.ErrorIs(t, err, oidc.ErrInactive, "its session has ended")
	_, err = v.Verify(t.Context(), access)
	require.NoError(t, err, "which the token does not show")
	again := r.post(t, "token", r.backend("grant_type", "refresh_token", "refresh_token", got["refresh_token"].(string))...)
	require.Equal(t, 400, again.Status)
	require.Equal(t, "invalid_grant", again.Body["error"])
}

func (r Realm) testUserInfo(t *testing.T) {
	with := r.Token(t, "demodeveloper", "openid")
	require.NotEmpty(t, with["id_token"])
	got := r.get(t, r.endpoint("userinfo"), with["access_token"].(string))
	require.Equal(t, 200, got.Status, got.Text)
	require.Equal(t, "demodeveloper", got.Body["preferred_username"])
	require.Equal(t, readClaims(t, with["access_token"])["sub"], got.Body["sub"])
	for token, want := range map[string]int{"": 401, "x": 401, r.Token(t, "demodeveloper", "")["access_token"].(string): 403} {
		got := r.get(t, r.endpoint("userinfo"), token)
		require.Equal(t, want, got.Status, got.Text)
		require.Contains(t, got.Header.Get("WWW-Authenticate"), `Bearer realm="OpenAPI"`)
	}
	id := readClaims(t, with["id_token"])
	require.Equal(t, "private-backend", id["aud"])
	require.Equal(t, "ID", id["typ"])
	_, err := r.verifier(t).Verify(t.Context(), with["id_token"].(string))
	require.ErrorIs(t, err, oidc.ErrType)
}

func (r Realm) testOrigins(t *testing.T) {
	for origin, want := range map[string]string{r.Portal: r.Portal, "https://evil.example": ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, r.endpoint("token"), nil)
		require.NoError(t, err)
		request.Header.Set("Origin", origin)
		request.Header.Set("Access-Control-Request-Method", "POST")
		preflight := ask(t, request)
		if want != "" {
			require.Equal(t, want, preflight.Header.Get("Access-Control-Allow-Origin"))
			require.Contains(t, preflight.Header.Get("Access-Control-Allow-Methods"), "POST")
		}
		body := strings.NewReader("grant_type=refresh_token&client_id=public-frontend&refresh_token=x")
		request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, r.endpoint("token"), body)
		require.NoError(t, err)
		request.Header.Set("Origin", origin)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, want, ask(t, request).Header.Get("Access-Control-Allow-Origin"))
	}
}
