package apimgmt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
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
	w := apitest.New(t)
	const forAll, forOne = "squirrel", "hedgehog"
	var shown []string
	note := func(a apitest.Answer) apitest.Answer {
		shown = append(shown, a.Body)
		for _, values := range a.Header {
			shown = append(shown, values...)
		}
		return a
	}
	require.Equal(t, http.StatusOK, note(w.Post("a", secured("1", forAll, forOne), "&dry_run=true")).Status)
	require.Equal(t, http.StatusOK, note(w.Post("a", secured("1", forAll, forOne), "")).Status)
	require.Contains(t, secrets(t, w.Gateway), forAll)
	require.Contains(t, secrets(t, w.Gateway), forOne)
	require.Equal(t, http.StatusConflict, note(w.Post("b", secured("1", forAll, forOne), "")).Status)
	require.Contains(t, note(w.Post("a", secured("1", forAll+"2", forOne), "&dry_run=true")).Body,
		"config.client_secret", "the change is logged")
	for _, path := range []string{"", "a", "a/definition", "a/versions", "a/versions/1", "a/versions/1/definition", "?q=squirrel"} {
		require.Equal(t, http.StatusOK, note(w.Get("/OpenAPIDocumentation/"+path)).Status)
	}
	for _, broken := range []string{
		strings.Replace(secured("1", forAll, forOne), `"client_secret":"`+forAll, `"client_secret":["`+forAll+`"],"x":"`, 1),
		strings.Replace(secured("1", forAll, forOne), `"config":{`, `"config":"`+forAll+`","y":{`, 1),
		strings.Replace(secured("1", forAll, forOne), `"/v1"`, `"v1"`, 1),
		strings.TrimSuffix(secured("1", forAll, forOne), "}"),
	} {
		note(w.Post("a", broken, "&dry_run=true"))
	}
	require.NotContains(t, strings.Join(shown, "\n"), forAll)
	require.NotContains(t, strings.Join(shown, "\n"), forOne)
	require.NotContains(t, w.Log.String(), forAll)
	require.NotContains(t, w.Log.String(), forOne)
}

func TestPublisher_Publish_keepsSecretsOfARedactedFile(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", secured("1", "squirrel", "hedgehog"), "").Status)
	before := secrets(t, w.Gateway)
	shown := w.Get("/OpenAPIDocumentation/a/definition").Body
	require.Contains(t, shown, "[redacted]")
	for range 2 {
		a := w.Post("a", shown, "")
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		require.Equal(t, before, secrets(t, w.Gateway))
	}
	// As a new version, which takes the place of the first.
	a := w.Post("a", strings.NewReplacer(`"version": "1"`, `"version": "2"`, `"version":"1"`, `"version":"2"`).Replace(shown), "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Contains(t, a.Body, `"superseded":["1"]`)
	require.Contains(t, secrets(t, w.Gateway), "squirrel")
	require.Contains(t, secrets(t, w.Gateway), "hedgehog")
	require.NotContains(t, secrets(t, w.Gateway), "[redacted]")

	a = w.Post("b", strings.ReplaceAll(strings.ReplaceAll(shown, "/x", "/y"), "/v1", "/w1"), "")
	require.Equal(t, http.StatusBadRequest, a.Status, "another enabler has no secrets to keep")
	require.Contains(t, a.Body, "x-kong-plugin-oidc")
}

func TestPublisher_Publish_keepsReferencesToAVault(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", secured("1", "{vault://env/secret}", "x"), "").Status)
	require.Contains(t, w.Get("/OpenAPIDocumentation/a/definition").Body, "{vault://env/secret}")
	require.Contains(t, secrets(t, w.Gateway), "{vault://env/secret}")
}
