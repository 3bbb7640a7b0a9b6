// Package oidctest is the suite of an identity provider that the API management
// works with: the addresses, tokens and errors of Keycloak's realm OpenAPI. A real
// Keycloak passes it, and so does the built-in provider for development.
package oidctest

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Realm is a running realm with the clients private-backend, kong,
// public-frontend and public-backend-access, and the users demouser,
// demodeveloper and demoopencaller.
type Realm struct {
	// Issuer is the address of the realm.
	Issuer string
	// Secret is the secret of private-backend, GatewaySecret that of kong.
	Secret, GatewaySecret string
	// Password is the password of all users.
	Password string
	// Portal is the base address of public-frontend. Nothing need be there.
	Portal string
}

// answer is what an endpoint said.
type answer struct {
	Status int
	Header http.Header
	Text   string
	Body   map[string]any
}

func (r Realm) endpoint(name string) string { return r.Issuer + "/protocol/openid-connect/" + name }

// post sends a form. Fields are names and values in turn.
func (r Realm) post(t testing.TB, name string, fields ...string) answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.endpoint(name), strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return ask(t, request)
}

func (r Realm) get(t testing.TB, address, token string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return ask(t, request)
}

func ask(t testing.TB, request *http.Request) answer {
	t.Helper()
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	got := answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	_ = json.Unmarshal(text, &got.Body) // not every answer is JSON
	return got
}

// backend are the credentials of private-backend, before other fields.
func (r Realm) backend(fields ...string) []string {
	return append([]string{"client_id", "private-backend", "client_secret", r.Secret}, fields...)
}

// Token logs a user in by password, as private-backend, and returns the
// fields of the answer. An empty scope requests none.
func (r Realm) Token(t testing.TB, user, scope string) map[string]any {
	t.Helper()
	fields := r.backend("grant_type", "password", "username", user, "password", r.Password)
	if scope != "" {
		fields = append(fields, "scope", scope)
	}
	got := r.post(t, "token", fields...)
	require.Equal(t, http.StatusOK, got.Status, got.Text)
	return got.Body
}

// ServiceToken returns an access token of a client for itself.
func (r Realm) ServiceToken(t testing.TB, client, secret string) string {
	t.Helper()
	got := r.post(t, "token", "grant_type", "client_credentials", "client_id", client, "client_secret", secret)
	require.Equal(t, http.StatusOK, got.Status, got.Text)
	return got.Body["access_token"].(string)
}

// readClaims reads a token without checking it.
func readClaims(t testing.TB, token any) map[string]any {
	t.Helper()
	parts := strings.Split(token.(string), ".")
	require.Len(t, parts, 3)
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, json.Unmarshal(text, &claims))
	return claims
}
