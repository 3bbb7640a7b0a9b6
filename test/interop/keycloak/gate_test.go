package keycloak_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/keycloak/keycloaktest"
)

// gate is a running apimanager whose people and tokens are Keycloak's, with an
// upstream that answers with the header that it got.
type gate struct {
	*keycloaktest.Keycloak
	process                   *interop.Server
	gateway, upstream, secret string
}

// serve publishes APIs that the extension secures, and calls them as people would.
func serve(t *testing.T, k *keycloaktest.Keycloak) {
	g := startGate(t, k)
	developer := g.token(t, "demodeveloper")
	g.publishing(t, developer)
	t.Run("every operation is secured at the top level", g.everyOperation)
	t.Run("one operation is secured beside another", g.oneOperation)
	t.Run("a role is required", g.role)
	t.Run("a tampered token is refused", g.tampered)
	t.Run("an expired token is refused", g.expired)
	t.Run("a token is refused after the logout", g.loggedOut)
	t.Run("tokens of a new key pass", g.newKey)
	g.process.Stop()
	require.NotContains(t, g.process.Output(), g.secret, "a secret is in the log")
	require.NotContains(t, g.process.Output(), developer, "a token is in the log")
}

func startGate(t *testing.T, k *keycloaktest.Keycloak) *gate {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(r.Header)
	}))
	t.Cleanup(upstream.Close)
	process := interop.StartServer(t, interop.Build(t, "apimanager"),
		"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0", "-data",
		t.TempDir(), "-idp", k.URL, "-log-level", "debug")
	process.AwaitLine("Sign in at " + process.URL) // the last line of its first start
	g := &gate{Keycloak: k, process: process, upstream: upstream.URL, secret: k.Realm.GatewaySecret}
	for line := range strings.Lines(process.Output()) {
		if address, found := strings.CutSuffix(strings.TrimSpace(line), " (gateway)"); found {
			g.gateway = strings.TrimPrefix(address, "listening on ")
		}
	}
	require.NotEmpty(t, g.gateway, process.Output())
	return g
}

func (g *gate) token(t *testing.T, user string) string {
	t.Helper()
	return g.Realm.Token(t, user, "")["access_token"].(string)
}

// extension is the specification's, with further fields of the configuration.
func (g *gate) extension(t *testing.T, further map[string]any) map[string]any {
	t.Helper()
	config := map[string]any{
		"client_id": "kong", "client_secret": g.secret, "bearer_only": "yes", "realm": "OpenAPI",
		"introspection_endpoint": g.Realm.Issuer + "/protocol/openid-connect/token/introspect",
		"discovery":              g.Realm.Issuer + "/.well-known/openid-configuration",
	}
	maps.Copy(config, further)
	return map[string]any{"x-kong-plugin-oidc": map[string]any{"name": "oidc", "enabled": true, "config": config}}
}

// definition is an OpenAPI file with an operation GET for each path, which has the
// members given.
func (g *gate) definition(t *testing.T, members map[string]any, operations map[string]map[string]any) []byte {
	t.Helper()
	paths := map[string]any{}
	for path, own := range operations {
		operation := map[string]any{"responses": map[string]any{"200": map[string]any{"description": "the header"}}}
		maps.Copy(operation, own)
		paths[path] = map[string]any{"get": operation}
	}
	whole := map[string]any{
		"openapi": "3.0.3", "info": map[string]any{"title": "Header", "version": "1.0"},
		"servers": []any{map[string]any{"url": g.upstream}}, "paths": paths,
	}
	maps.Copy(whole, members)
	text, err := json.Marshal(whole)
	require.NoError(t, err)
	return text
}

// reply is what a server answered.
type reply struct {
	status int
	header http.Header
	text   string
}

// send makes a request; an empty token is none. Fields are names and values in turn.
func send(ctx context.Context, method, address, token string, body io.Reader, fields ...string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return reply{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for field := range slices.Chunk(fields, 2) {
		request.Header.Set(field[0], field[1])
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reply{status: response.StatusCode, header: response.Header, text: string(text)}, err
}

// ask is send for requests that are answered.
func ask(t *testing.T, method, address, token string, body io.Reader, fields ...string) reply {
	t.Helper()
	got, err := send(t.Context(), method, address, token, body, fields...)
	require.NoError(t, err)
	return got
}

// await gets an address with a token until the answer is of a status.
func await(t *testing.T, address, token string, status int) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := send(t.Context(), http.MethodGet, address, token, nil)
		return err == nil && got.status == status
	}, time.Minute, 100*time.Millisecond)
}

func (g *gate) library() string { return g.process.URL + "/OpenAPIDocumentation/" }

// publish is POST /OpenAPIDocumentation/ as the specification has it.
func (g *gate) publish(t *testing.T, token, enabler string, file []byte) reply {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("upload_file", "api.json")
	require.NoError(t, err)
	_, err = part.Write(file)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	query := url.Values{"enabler": {enabler}, "description": {"answers with the header"}}
	return ask(t, http.MethodPost, g.library()+"?"+query.Encode(), token, &body, "Content-Type", form.FormDataContentType())
}

// publishing publishes what the other tests call.
func (g *gate) publishing(t *testing.T, developer string) {
	t.Helper()
	caller := g.token(t, "demoopencaller")
	local := func(further map[string]any) map[string]any {
		further["introspect_jwt_tokens"] = "no"
		return g.extension(t, further)
	}
	files := map[string][]byte{
		"everywhere": g.definition(t, g.extension(t, nil), map[string]map[string]any{"/everywhere/a": nil,
			"/everywhere/b": nil}),
		"once": g.definition(t, nil, map[string]map[string]any{"/once/secured": g.extension(t, nil),
			"/once/open": nil}),
		"local": g.definition(t, nil, map[string]map[string]any{
			"/local/any": local(map[string]any{}), "/local/developers": local(map[string]any{"roles_required": "Developer"}),
		}),
	}
	for enabler, file := range files {
		for token, status := range map[string]int{"": http.StatusUnauthorized,
			tamper(developer): http.StatusUnauthorized, caller: http.StatusForbidden} {
			got := g.publish(t, token, enabler, file)
			require.Equal(t, status, got.status, got.text)
			require.True(t, strings.HasPrefix(got.header.Get("WWW-Authenticate"), `Bearer realm="OpenAPI"`), got.header)
		}
		got := g.publish(t, developer, enabler, file)
		require.Equal(t, http.StatusOK, got.status, got.text)
		require.NotContains(t, got.text, g.secret)
		got = ask(t, http.MethodGet, g.library()+enabler+"/definition", caller, nil)
		require.Equal(t, http.StatusOK, got.status, got.text)
		require.Contains(t, got.text, "x-kong-plugin-oidc")
		require.NotContains(t, got.text, g.secret)
	}
	got := ask(t, http.MethodGet, g.library(), caller, nil)
	require.Equal(t, http.StatusOK, got.status, got.text)
	for enabler := range files {
		require.Contains(t, got.text, `"`+enabler+`"`)
	}
}

func (g *gate) call(t *testing.T, path, token string, fields ...string) reply {
	t.Helper()
	return ask(t, http.MethodGet, g.gateway+path, token, nil, fields...)
}

// passes calls with a token and returns what the upstream gets about the caller.
func (g *gate) passes(t *testing.T, path, token string) map[string]any {
	t.Helper()
	got := g.call(t, path, token, "X-Userinfo", "forged", "X_Userinfo", "forged")
	require.Equal(t, http.StatusOK, got.status, "%s: %s", got.header.Get("WWW-Authenticate"), got.text)
	var seen http.Header
	require.NoError(t, json.Unmarshal([]byte(got.text), &seen))
	require.NotContains(t, got.text, "forged")
	require.Len(t, seen["X-Userinfo"], 1)
	text, err := base64.StdEncoding.DecodeString(seen.Get("X-Userinfo"))
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, json.Unmarshal(text, &claims))
	return claims
}

// refused calls without a token, or with one that is not good for a reason.
func (g *gate) refused(t *testing.T, path, token, reason string) {
	t.Helper()
	got := g.call(t, path, token)
	require.Equal(t, http.StatusUnauthorized, got.status, got.text)
	require.Equal(t, challenge(reason), got.header.Get("WWW-Authenticate"))
}

// challenge is the WWW-Authenticate of a gateway. No reason stands for no token.
func challenge(reason string) string {
	if reason == "" {
		return `Bearer realm="OpenAPI",error="no Authorization header found"`
	}
	return fmt.Sprintf(`Bearer realm="OpenAPI",error="invalid_token",error_description="%s"`, reason)
}

// comesToRefuse waits until a token that was good is refused: what Keycloak says of
// it is used for a second.
func (g *gate) comesToRefuse(t *testing.T, path, token, reason string) {
	t.Helper()
	await(t, g.gateway+path, token, http.StatusUnauthorized)
	g.refused(t, path, token, reason)
}

func (g *gate) everyOperation(t *testing.T) {
	token := g.token(t, "demouser")
	for _, path := range []string{"/everywhere/a", "/everywhere/b"} {
		g.refused(t, path, "", "")
		claims := g.passes(t, path, token)
		require.Equal(t, "demouser", claims["username"])
		require.Equal(t, claims["sub"], claims["id"])
		require.Equal(t, g.Realm.Issuer, claims["iss"])
		require.Equal(t, true, claims["active"], "it is Keycloak's answer")
	}
}

func (g *gate) oneOperation(t *testing.T) {
	g.refused(t, "/once/secured", "", "")
	require.Equal(t, "demouser", g.passes(t, "/once/secured", g.token(t, "demouser"))["username"])
	got := g.call(t, "/once/open", "")
	require.Equal(t, http.StatusOK, got.status, got.text)
	require.NotContains(t, got.text, "X-Userinfo")
}

func (g *gate) role(t *testing.T) {
	require.Equal(t, "demodeveloper", g.passes(t, "/local/developers", g.token(t, "demodeveloper"))["username"])
	caller := g.token(t, "demoopencaller")
	got := g.call(t, "/local/developers", caller)
	require.Equal(t, http.StatusForbidden, got.status, got.text)
	require.Contains(t, got.header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
	claims := g.passes(t, "/local/any", caller)
	require.Equal(t, "demoopencaller", claims["username"])
	require.NotContains(t, claims, "active", "Keycloak was not asked")
}

// tamper changes the end of the signature.
func tamper(token string) string { return token[:len(token)-8] + "AAAAAAAA" }

func (g *gate) tampered(t *testing.T) {
	token := g.token(t, "demoopencaller")
	own, other := strings.Split(token, "."), strings.Split(g.token(t, "demodeveloper"), ".")
	for _, forged := range []string{tamper(token), own[0] + "." + other[1] + "." + own[2], own[0] + "." + own[1] + "."} {
		g.refused(t, "/everywhere/a", forged, "the token is not active")
		g.refused(t, "/once/secured", forged, "the token is not active")
		g.refused(t, "/local/any", forged, "the signature is wrong")
	}
	g.passes(t, "/everywhere/a", token)
	g.passes(t, "/local/any", token)
}

func (g *gate) expired(t *testing.T) {
	g.Admin(http.MethodPut, "/realms/OpenAPI", map[string]any{"accessTokenLifespan": 1})
	defer g.Admin(http.MethodPut, "/realms/OpenAPI", map[string]any{"accessTokenLifespan": 300})
	brief := g.token(t, "demouser")
	g.passes(t, "/local/any", brief) // it is good but for its time, for which clocks may differ
	g.comesToRefuse(t, "/once/secured", brief, "the token is not active")
	g.refused(t, "/everywhere/a", brief, "the token is not active")
}

func (g *gate) loggedOut(t *testing.T) {
	login := g.Realm.Token(t, "demouser", "")
	token := login["access_token"].(string)
	g.passes(t, "/once/secured", token)
	form := url.Values{"client_id": {"private-backend"}, "client_secret": {g.Realm.Secret},
		"refresh_token": {login["refresh_token"].(string)}}
	got := ask(t, http.MethodPost, g.Realm.Issuer+"/protocol/openid-connect/logout", "",
		strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusNoContent, got.status, got.text)
	g.comesToRefuse(t, "/once/secured", token, "the token is not active")
	g.passes(t, "/local/any", token) // the token does not show it
}

// newKey changes the key after the gateway and the publisher have fetched the old
// one. They look for an unknown key once in ten seconds.
func (g *gate) newKey(t *testing.T) {
	old := g.token(t, "demodeveloper")
	g.passes(t, "/local/any", old)
	g.RotateKeys()
	fresh := g.token(t, "demodeveloper")
	require.NotEqual(t, strings.Split(old, ".")[0], strings.Split(fresh, ".")[0], "another key signs")
	await(t, g.gateway+"/local/any", fresh, http.StatusOK)
	await(t, g.library(), fresh, http.StatusOK)
	for _, path := range []string{"/local/any", "/local/developers", "/everywhere/a", "/once/secured"} {
		require.Equal(t, "demodeveloper", g.passes(t, path, fresh)["username"])
		g.passes(t, path, old) // the old key goes on to verify
	}
}
