package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_enforcesSecurityRequirementsWhenSet(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }))
	defer upstream.Close()
	t.Setenv("APIMANAGER_DEMO_PASSWORD", "password for tests")
	t.Setenv("APIMANAGER_CLIENT_SECRET", "client secret for tests")
	for plugin, want := range map[string]map[string]int{
		"":     {"/profile": http.StatusOK, "/other": http.StatusOK, "/open": http.StatusOK},
		"oidc": {"/profile": http.StatusUnauthorized, "/other": http.StatusUnauthorized, "/open": http.StatusOK},
	} {
		t.Run("plugin "+plugin, func(t *testing.T) {
			p := start(t, "-data", t.TempDir(), "-security-plugin", plugin)
			file := `{"openapi": "3.0.3", "info": {"title": "Weather", "version": "1.0"}, "servers": [{"url": "` + upstream.URL + `"}],
				"components": {"securitySchemes": {"idm": {"type": "openIdConnect", "openIdConnectUrl": "` + p.idp +
				`realms/OpenAPI/.well-known/openid-configuration"}}},
				"security": [{"idm": ["profile", "email"]}],
				"paths": {
					"/profile": {"get": {"responses": {"200": {"description": "ok"}}}},
					"/other": {"get": {"security": [{"idm": ["profile", "scope-of-no-client"]}], "responses": {"200": {"description": "ok"}}}},
					"/open": {"get": {"security": [], "responses": {"200": {"description": "ok"}}}}}}`
			token := p.token(t, "demodeveloper", "password for tests")
			status, body := p.publish(t, token, "weather", file)
			require.Equal(t, http.StatusOK, status, body)
			for path, status := range want {
				got, body := ask(t, http.MethodGet, p.gateway+path, "", "", nil)
				require.Equal(t, status, got, "%s %s", path, body)
			}
			status, body = ask(t, http.MethodGet, p.gateway+"/profile", token, "", nil)
			require.Equal(t, http.StatusOK, status, body)
			if plugin != "" {
				status, body = ask(t, http.MethodGet, p.gateway+"/other", token, "", nil)
				require.Equal(t, http.StatusForbidden, status, body)
			}
		})
	}
	_, err := readSettings([]string{"-security-plugin", "basic-auth"})
	require.ErrorContains(t, err, "-security-plugin (APIMANAGER_SECURITY_PLUGIN): expected oidc, openid-connect or nothing")
}
