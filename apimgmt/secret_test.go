package apimgmt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
)

// secured is a definition with secrets of the plugin oidc, for all and for one
// operation.
func secured(version, forAll, forOne string) string {
	return `{"openapi":"3.0.3","info":{"title":"Weather","version":"` + version + `"},"servers":[{"url":"https://weather.example"}],
		"x-kong-plugin-oidc":{"config":{"realm":"OpenAPI","client_id":"kong","client_secret":"` + forAll + `"}},
		"paths":{"/x":{"get":{"responses":{"200":{"description":"fine"}},"x-kong-plugin-oidc":{"config":{"client_secret":"` + forOne + `"}}}},
		"/v` + version + `":{"get":{"responses":{"200":{"description":"fine"}}}}}}`
}

// secrets lists the client secrets that the gateway has.
func secrets(t *testing.T, g apimgmt.Gateway) string {
	t.Helper()
	c, err := g.Config(t.Context())
	require.NoError(t, err)
	text := ""
	for _, p := range c.Plugins {
		text += string(p.Config)
	}
	return text
}

func TestPublisher_sendsSecretsToTheGatewayOnly(t *testing.T) {
	w := newWorld(t)
	const forAll, forOne = "squirrel", "hedgehog"
	var shown []string
	note := func(a answer) answer {
		shown = append(shown, a.body)
		for _, values := range a.header {
			shown = append(shown, values...)
		}
		return a
	}
	require.Equal(t, http.StatusOK, note(w.post("a", secured("1", forAll, forOne), "&dry_run=true")).status)
	require.Equal(t, http.StatusOK, note(w.post("a", secured("1", forAll, forOne), "")).status)
	require.Contains(t, secrets(t, w.gateway), forAll)
	require.Contains(t, secrets(t, w.gateway), forOne)
	require.Equal(t, http.StatusConflict, note(w.post("b", secured("1", forAll, forOne), "")).status)
	require.Contains(t, note(w.post("a", secured("1", forAll+"2", forOne), "&dry_run=true")).body,
		"config.client_secret", "the change is logged")
	for _, path := range []string{"", "a", "a/definition", "a/versions", "a/versions/1", "a/versions/1/definition", "?q=squirrel"} {
		require.Equal(t, http.StatusOK, note(w.get("/OpenAPIDocumentation/"+path)).status)
	}
	for _, broken := range []string{
		strings.Replace(secured("1", forAll, forOne), `"client_secret":"`+forAll, `"client_secret":["`+forAll+`"],"x":"`, 1),
		strings.Replace(secured("1", forAll, forOne), `"config":{`, `"config":"`+forAll+`","y":{`, 1),
		strings.Replace(secured("1", forAll, forOne), `"/v1"`, `"v1"`, 1),
		strings.TrimSuffix(secured("1", forAll, forOne), "}"),
	} {
		note(w.post("a", broken, "&dry_run=true"))
	}
	require.NotContains(t, strings.Join(shown, "\n"), forAll)
	require.NotContains(t, strings.Join(shown, "\n"), forOne)
	require.NotContains(t, w.log.String(), forAll)
	require.NotContains(t, w.log.String(), forOne)
}

func TestPublisher_Publish_keepsSecretsOfARedactedFile(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", secured("1", "squirrel", "hedgehog"), "").status)
	before := secrets(t, w.gateway)
	shown := w.get("/OpenAPIDocumentation/a/definition").body
	require.Contains(t, shown, "[redacted]")
	for range 2 {
		a := w.post("a", shown, "")
		require.Equal(t, http.StatusOK, a.status, a.body)
		require.Equal(t, before, secrets(t, w.gateway))
	}
	// As a new version, which takes the place of the first.
	a := w.post("a", strings.NewReplacer(`"version": "1"`, `"version": "2"`, `"version":"1"`, `"version":"2"`).Replace(shown), "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Contains(t, a.body, `"superseded":["1"]`)
	require.Contains(t, secrets(t, w.gateway), "squirrel")
	require.Contains(t, secrets(t, w.gateway), "hedgehog")
	require.NotContains(t, secrets(t, w.gateway), "[redacted]")

	a = w.post("b", strings.ReplaceAll(strings.ReplaceAll(shown, "/x", "/y"), "/v1", "/w1"), "")
	require.Equal(t, http.StatusBadRequest, a.status, "another enabler has no secrets to keep")
	require.Contains(t, a.body, "x-kong-plugin-oidc")
}

func TestPublisher_Publish_keepsReferencesToAVault(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", secured("1", "{vault://env/secret}", "x"), "").status)
	require.Contains(t, w.get("/OpenAPIDocumentation/a/definition").body, "{vault://env/secret}")
	require.Contains(t, secrets(t, w.gateway), "{vault://env/secret}")
}
