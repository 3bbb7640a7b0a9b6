package plugin_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

const reference = "{vault://env/apimanager-client-secret}"

// introspects has an issuer answer the client kong with a secret.
func (i *issuer) introspects(secret string) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("client_id") != "kong" || r.PostFormValue("client_secret") != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"active":true,"sub":"u-2"}`)
	})
	i.introspect.Store(&handler)
}

// secretKinds are the kinds of a gateway with a secret for some issuers.
func secretKinds(secret string, issuers ...string) []gateway.Kind {
	return plugin.SharedKinds(plugin.Options{ClientSecrets: []plugin.ClientSecret{
		{Variable: "APIMANAGER_CLIENT_SECRET", Secret: secret, Issuers: issuers}}})
}

func TestClientSecret_isUsedForItsReference(t *testing.T) {
	idp := newIssuer(t)
	idp.introspects("the new secret")
	for text, want := range map[string]int{
		reference:                                  http.StatusOK,
		"{vault://env/APIMANAGER_CLIENT_SECRET}":   http.StatusOK,
		"the new secret":                           http.StatusOK,
		"the old secret, which a file has in full": http.StatusServiceUnavailable,
	} {
		config := idp.config(map[string]any{
			"introspection_endpoint": idp.URL + "/introspect", "client_id": "kong", "client_secret": text})
		s := plugintest.NewStage(t, plugintest.Options{Kinds: secretKinds("the new secret", idp.URL+"/"), Service: echo(),
			Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(config)}}})
		require.Equal(t, want, s.Do(http.MethodGet, "/", "", "Authorization: Bearer x").Status, text)
		served, _ := s.Gateway.Config()
		require.Contains(t, string(served.Plugins[0].Config), text, "the configuration keeps the reference")
	}
}

func TestClientSecret_isSentToItsProviderAlone(t *testing.T) {
	idp, evil := newIssuer(t), newIssuer(t)
	kinds := secretKinds("the secret of the gateway", idp.URL+"/realms/one")
	compile := func(more map[string]any) error {
		all := map[string]any{"discovery": idp.URL + "/realms/one/.well-known/openid-configuration", "client_id": "kong",
			"client_secret": reference}
		for name, value := range more {
			all[name] = value
		}
		g, err := gateway.New(&gateway.Options{Kinds: kinds, AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		return g.Check(entity.Config{Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(idp.config(all))}}})
	}
	require.NoError(t, compile(map[string]any{"introspection_endpoint": idp.URL + "/realms/one/introspect"}))
	require.NoError(t, compile(map[string]any{"issuer": idp.URL + "/realms/one", "bearer_only": "no"}))
	require.NoError(t, compile(map[string]any{"client_secret": "{vault://env/other}"}), "it is not used")
	for field, bad := range map[string][]map[string]any{
		"config.discovery": {
			{"discovery": evil.URL + "/realms/one/.well-known/openid-configuration", "bearer_only": "no"},
			{"discovery": idp.URL + "/realms/ones/.well-known/openid-configuration", "bearer_only": "no"},
			{"discovery": idp.URL + "/realms/one/other/.well-known/openid-configuration", "bearer_only": "no"},
			{"discovery": idp.URL + "/realms/one/../two/.well-known/openid-configuration", "bearer_only": "no"},
		},
		"config.issuer": {{"discovery": "", "issuer": evil.URL, "bearer_only": "no"}},
		"config.introspection_endpoint": {
			{"introspection_endpoint": evil.URL + "/introspect"}, {"introspection_endpoint": idp.URL + "/realms/one/%2e%2e/two"},
			{"introspection_endpoint": idp.URL + "/realms/one@evil.example/"},
		},
		"config.session_secret": {{"client_secret": "s", "session_secret": reference, "bearer_only": "no"}},
		"config.ssl_verify":     {{"ssl_verify": "no", "bearer_only": "no"}},
		"config.client_secret": {
			{"client_secret": "{vault://env/apimanager-admin-token}", "bearer_only": "no"},
			{"client_secret": "{vault://aws/apimanager-client-secret}", "bearer_only": "no"},
		},
	} {
		for _, more := range bad {
			err := compile(more)
			require.ErrorIs(t, err, entity.ErrInvalid, more)
			require.ErrorContains(t, err, field, more)
			require.NotContains(t, err.Error(), "the secret of the gateway")
		}
	}
}

func TestClientSecret_thatTheGatewayLacksFailsItsPluginAlone(t *testing.T) {
	idp := newIssuer(t)
	idp.introspects("")
	config := idp.config(map[string]any{
		"introspection_endpoint": idp.URL + "/introspect", "client_id": "kong", "client_secret": reference, "filters": "/health"})
	s := plugintest.NewStage(t, plugintest.Options{Kinds: secretKinds("", idp.URL), Service: echo()})
	next, _ := s.Gateway.Config()
	next.Plugins = []entity.Plugin{{Name: "oidc", Config: []byte(config)}}
	require.ErrorContains(t, s.Gateway.Apply(next), "config.client_secret", "a change is refused")
	stored, err := entity.NewNormal(next)
	require.NoError(t, err)
	require.NoError(t, s.Gateway.Load(stored), "another process has stored it")
	answer := s.Do(http.MethodGet, "/", "", "Authorization: Bearer x")
	require.Equal(t, http.StatusServiceUnavailable, answer.Status)
	require.JSONEq(t, `{"message":"tokens cannot be checked"}`, answer.Body)
	require.Equal(t, http.StatusOK, s.Do(http.MethodGet, "/health", "").Status)
	more, _ := s.Gateway.Config()
	more.Routes[0].Paths = []string{"/", "/more"}
	require.NoError(t, s.Gateway.Apply(more), "what is served stays")
}

func TestOIDC_session_isNotSealedWithTheTextOfAReference(t *testing.T) {
	s := newSite(t, 0, map[string]any{"session_secret": reference + " the-first-session-secret"}) // the first one seals
	p := s.person()
	p.get(p.logIn("/"))
	require.Equal(t, http.StatusOK, p.get("/").StatusCode)
	stored, _ := s.Gateway.Config()
	stored.Plugins[0].Config = []byte(strings.Replace(string(stored.Plugins[0].Config), " the-first-session-secret", "", 1))
	normal, err := entity.NewNormal(stored)
	require.NoError(t, err)
	require.NoError(t, s.Gateway.Load(normal), "an earlier version has stored it")
	require.Equal(t, http.StatusFound, p.get("/").StatusCode, "anyone can seal with that text")
}

func ExampleClientSecret() {
	kinds := plugin.SharedKinds(plugin.Options{ClientSecrets: []plugin.ClientSecret{{
		Variable: "APIMANAGER_CLIENT_SECRET", Secret: "squirrel", Issuers: []string{"https://idp.example/realms/one"},
	}}})
	g, err := gateway.New(&gateway.Options{Kinds: kinds})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Close() }()
	for _, issuer := range []string{"https://idp.example/realms/one", "https://evil.example"} {
		config := `{"issuer": "` + issuer + `", "client_id": "kong", "client_secret": "{vault://env/apimanager-client-secret}"}`
		err := g.Check(entity.Config{Plugins: []entity.Plugin{{Name: "oidc", Config: []byte(config)}}})
		fmt.Println(issuer, err == nil)
	}
	// Output:
	// https://idp.example/realms/one true
	// https://evil.example false
}
