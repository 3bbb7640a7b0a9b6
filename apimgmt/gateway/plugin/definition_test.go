package plugin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func TestOIDC_securesTheOperationsOfADefinition(t *testing.T) {
	idp := newIssuer(t)
	ask := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"active":%t,"sub":"u","iss":"%s"}`, r.PostFormValue("token") == "good" &&
			r.PostFormValue("client_secret") == "squirrel", idp.URL)
	})
	idp.introspect.Store(&ask)
	behind := httptest.NewServer(echo())
	t.Cleanup(behind.Close)
	extension := fmt.Sprintf(`"x-kong-plugin-oidc": {"name": "oidc", "enabled": true, "config": {
		"client_id": "kong", "client_secret": "squirrel", "bearer_only": "yes", "realm": "OpenAPI",
		"introspection_endpoint": "%s/introspect", "discovery": "%s/.well-known/openid-configuration"
	}}`, idp.URL, idp.URL)
	const file = `{"openapi": "3.0.0", "info": {"title": "Weather", "version": "1"}, "servers": [{"url": "%s"}], %s "paths": {
		"/get": {"get": {%s "responses": {"200": {"description": "fine"}}}}, "/uuid": {"get": {"responses": {"200": {"description": "fine"}}}}
	}}`
	for name, c := range map[string]struct {
		file string
		open int // the status of the other operation without a token
	}{
		"one operation":   {fmt.Sprintf(file, behind.URL, "", extension+","), http.StatusOK},
		"every operation": {fmt.Sprintf(file, behind.URL, extension+",", ""), http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			read, err := definition.Load(t.Context(), []byte(c.file), definition.Limits{})
			require.NoError(t, err)
			config, err := definition.Convert(read, definition.Options{})
			require.NoError(t, err)
			s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds()})
			require.NoError(t, s.Gateway.Update(func(entity.Config) (entity.Config, error) { return config, nil }))

			a := s.Do(http.MethodGet, "/get", "", "X-Userinfo: forged")
			require.Equal(t, http.StatusUnauthorized, a.Status)
			require.Equal(t, `Bearer realm="OpenAPI",error="no Authorization header found"`, a.Header.Get("WWW-Authenticate"))
			require.Equal(t, "no Authorization header found", a.Body)
			require.Equal(t, http.StatusUnauthorized, s.Do(http.MethodGet, "/get", "", "Authorization: Bearer bad").Status)
			require.Equal(t, "u", claimsIn(t, seen(t, s.Do(http.MethodGet, "/get", "", "Authorization: Bearer good")).Get("X-Userinfo"))["id"])
			require.Equal(t, c.open, s.Do(http.MethodGet, "/uuid", "").Status)
		})
	}
}
