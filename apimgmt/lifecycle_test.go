package apimgmt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
)

// set brings a version of the enabler "a" into a state.
func set(w *apitest.World, version, body string, fields ...string) apitest.Answer {
	w.T.Helper()
	return w.Do(http.MethodPatch, "/OpenAPIDocumentation/a/versions/"+version, "dev", "application/json", strings.NewReader(body), fields...)
}

func TestPublisher_Publish_supersedesVersionsWithCommonRoutes(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/v1/x", "/health"), "").Status)
	a := w.Post("a", apitest.File("2", "/v2/x"), "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.NotContains(t, a.Body, "superseded")
	require.ElementsMatch(t, []string{"/v1/x", "/health", "/v2/x"}, apitest.Served(t, w.Gateway, "a"))

	a = w.Post("a", apitest.File("3", "/v3/x", "/health"), "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	var r apimgmt.Record
	a.Decode(t, &r)
	require.Equal(t, []string{"1"}, r.Superseded)
	require.Equal(t, "3", r.Version.Version)
	require.ElementsMatch(t, []string{"/v2/x", "/v3/x", "/health"}, apitest.Served(t, w.Gateway, "a"))

	a = set(w, "1", `{"state":"published"}`) // back to the first one
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Contains(t, a.Body, `"superseded":["3"]`)
	require.ElementsMatch(t, []string{"/v1/x", "/v2/x", "/health"}, apitest.Served(t, w.Gateway, "a"))

	a = w.Post("a", apitest.File("2", "/v2/y"), "") // in the place of what it was
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.ElementsMatch(t, []string{"/v1/x", "/v2/y", "/health"}, apitest.Served(t, w.Gateway, "a"))

	a = w.Get("/OpenAPIDocumentation/a/versions")
	var versions []apimgmt.Version
	a.Decode(t, &versions)
	states := map[string]apimgmt.State{}
	for _, v := range versions {
		states[v.Version] = v.State
	}
	require.Equal(t, map[string]apimgmt.State{"1": "published", "2": "published", "3": "sunset"}, states)
	require.Equal(t, http.StatusNoContent, w.Do(http.MethodDelete, "/OpenAPIDocumentation/a/versions/1", "dev", "", nil).Status)
	require.Equal(t, []string{"/v2/y"}, apitest.Served(t, w.Gateway, "a"))
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/a/versions/1").Status)
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/a/versions/1/definition").Status)
	for _, version := range []string{"2", "3"} {
		require.Equal(t, http.StatusNoContent, w.Do(http.MethodDelete, "/OpenAPIDocumentation/a/versions/"+version, "dev", "", nil).Status)
	}
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/a").Status)
}

func TestPublisher_SetState_allowsDocumentedTransitions(t *testing.T) {
	allowed := map[string]string{"draft": "draft published", "published": "published deprecated sunset",
		"deprecated": "published deprecated sunset", "sunset": "published deprecated sunset"}
	for from, next := range allowed {
		for _, to := range []string{"draft", "published", "deprecated", "sunset"} {
			w := apitest.New(t)
			require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/x"), map[bool]string{true: "&state=draft"}[from == "draft"]).Status)
			if from != "draft" {
				require.Equal(t, http.StatusOK, set(w, "1", `{"state":"`+from+`"}`).Status)
			}
			a := set(w, "1", `{"state":"`+to+`"}`)
			now := from
			if strings.Contains(next, to) {
				require.Equal(t, http.StatusOK, a.Status, "%s to %s: %s", from, to, a.Body)
				now = to
			} else {
				require.Equal(t, http.StatusConflict, a.Status, "%s to %s", from, to)
			}
			require.Len(t, apitest.Served(t, w.Gateway, "a"), map[string]int{"published": 1, "deprecated": 1}[now], now)
			var r apimgmt.Record
			w.Get("/OpenAPIDocumentation/a").Decode(t, &r)
			require.Equal(t, now, string(r.State))
			if now == "published" || now == "deprecated" {
				require.Equal(t, "http://gateway.example/x", r.Routes[0].URL)
			} else {
				require.Empty(t, r.Routes[0].URL)
			}
		}
	}
}

func TestPublisher_Publish_doesNotRouteADraft(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/x"), "").Status)
	a := w.Post("a", apitest.File("1", "/y"), "&state=draft")
	require.Equal(t, http.StatusConflict, a.Status, "what is published does not become a draft by the way")
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("2", "/x"), "&state=draft").Status)
	require.Equal(t, http.StatusOK, w.Post("b", apitest.File("1", "/x"), "&state=draft").Status, "a draft conflicts with no version")
	require.Equal(t, []string{"/x"}, apitest.Served(t, w.Gateway, "a"))
	require.Empty(t, apitest.Served(t, w.Gateway, "b"))
	a = w.Do(http.MethodPatch, "/OpenAPIDocumentation/b/versions/1", "dev", "application/json", strings.NewReader(`{"state":"published"}`))
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, `"enabler":"a"`)
	require.Equal(t, http.StatusOK, set(w, "1", `{"state":"sunset"}`).Status)
	a = w.Do(http.MethodPatch, "/OpenAPIDocumentation/b/versions/1", "dev", "application/json", strings.NewReader(`{"state":"published"}`))
	require.Equal(t, http.StatusOK, a.Status, "now the route is free")
	require.Equal(t, http.StatusConflict, set(w, "1", `{"state":"deprecated"}`).Status)
}

func TestPublisher_SetState_announcesDeprecation(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/x"), "").Status)
	a := set(w, "1", `{"state":"deprecated","sunset":"2199-12-31T00:00:00Z","link":"https://docs.example/end"}`)
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	config, err := w.Gateway.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, config.Plugins, 1)
	require.Equal(t, "deprecation", config.Plugins[0].Name)
	require.Regexp(t, `^\{"at":"20[0-9T:-]+Z","link":"https://docs.example/end","sunset":"2199-12-31T00:00:00Z"\}$`,
		string(config.Plugins[0].Config))
	require.NotNil(t, config.Plugins[0].Service)
	for body, status := range map[string]int{
		`{"state":"deprecated","sunset":"2001-01-01T00:00:00Z"}`:   http.StatusBadRequest,
		`{"state":"deprecated","link":"javascript:alert(1)"}`:      http.StatusBadRequest,
		`{"state":"deprecated","link":"https://x/\u003e; rel=up"}`: http.StatusBadRequest,
		`{"state":"published","link":"https://docs.example/end"}`:  http.StatusBadRequest,
		`{"state":"retired"}`:                    http.StatusUnprocessableEntity,
		`{}`:                                     http.StatusUnprocessableEntity,
		`{"state":"deprecated","sunset":"soon"}`: http.StatusUnprocessableEntity,
		`{"state":"deprecated"} {"state":"draft"}`: http.StatusUnprocessableEntity,
	} {
		require.Equal(t, status, set(w, "1", body).Status, body)
	}
	require.Equal(t, http.StatusPreconditionFailed, set(w, "1", `{"state":"sunset"}`, "If-Match", `"1000"`).Status)
	require.Equal(t, http.StatusOK, set(w, "1", `{"state":"published"}`).Status)
	config, err = w.Gateway.Config(t.Context())
	require.NoError(t, err)
	require.Empty(t, config.Plugins)
}

func TestPublisher_SetState_announcesWithAvailablePlugins(t *testing.T) {
	for kinds, config := range map[string]string{
		"oidc response-transformer": `{"add":{"headers":["Deprecation:@[0-9]+","Sunset:Tue, 31 Dec 2199 00:00:00 GMT"]}}`,
		"oidc":                      "",
	} {
		w := apitest.New(t, func(c *apimgmt.Config) { c.Gateway = apimgmt.NewMemoryGateway(strings.Fields(kinds)) })
		require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/x"), "").Status)
		a := set(w, "1", `{"state":"deprecated","sunset":"2199-12-31T00:00:00Z"}`)
		if config == "" {
			require.Equal(t, http.StatusBadRequest, a.Status, "no caller would get the notice")
			require.Contains(t, a.Body, "response-transformer")
			continue
		}
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		served, err := w.Gateway.Config(t.Context())
		require.NoError(t, err)
		require.Regexp(t, "^"+strings.NewReplacer("{", `\{`, `:["`, `:\["`).Replace(config)+"$", string(served.Plugins[0].Config))
	}
}

func TestPublisher_Publish_fillsValidatorsForTheEmbeddedGateway(t *testing.T) {
	content := strings.Replace(apitest.File("1", "/x"), "{", `{"x-kong-plugin-request-validator":{"config":{"max_body":7}},`, 1)
	for kinds, filled := range map[string]bool{"request-validator deprecation": true,
		"request-validator response-transformer": false, "": false} {
		w := apitest.New(t, func(c *apimgmt.Config) {
			c.Gateway = apimgmt.NewMemoryGateway(nil)
			if kinds != "" {
				c.Gateway = apimgmt.NewMemoryGateway(strings.Fields(kinds))
			}
		})
		a := w.Post("a", content, "")
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		config, err := w.Gateway.Config(t.Context())
		require.NoError(t, err)
		require.Len(t, config.Plugins, 1)
		require.Equal(t, filled, config.Plugins[0].Route != nil, kinds)
		want := `{"max_body":7}`
		if filled {
			want = `{"max_body":7,"definition":{}}`
		}
		require.JSONEq(t, want, string(config.Plugins[0].Config), kinds)
	}
}

func TestPublisher_Publish_refusesRoutesMadeByHand(t *testing.T) {
	hand := apimgmt.NewMemoryGateway([]string{"oidc"})
	require.NoError(t, hand.Publish(t.Context(), "by-hand", handmade("taken", "~/x$")))
	w := apitest.New(t, func(c *apimgmt.Config) { c.Gateway = hand })
	a := w.Post("a", apitest.File("1", "/x"), "")
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, `route \"taken\" of the gateway`)
	require.NoError(t, hand.Publish(t.Context(), "by-hand", handmade("a-1_x_get", "/y")))
	a = w.Post("a", apitest.File("1", "/x"), "")
	require.Equal(t, http.StatusConflict, a.Status, "the name is taken")
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("2", "/x"), "").Status)
	require.Len(t, apitest.Served(t, hand, "a"), 1)
	config, err := hand.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, config.Routes, 2)
}

func TestPublisher_Publish_treatsSimilarNamesAsOneEnabler(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("Weather Station", apitest.File("1", "/x"), "").Status)
	a := w.Post("weather-station", apitest.File("2", "/x"), "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Contains(t, a.Body, `"enabler":"Weather Station"`)
	require.Equal(t, http.StatusOK, w.Get("/OpenAPIDocumentation/WEATHER%20STATION").Status)
}

func TestPublisher_Publish_requiresABaseForRelativeServers(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusBadRequest, w.Post("a", apitest.FileAt("/", "1", "/x"), "").Status)
	a := w.Post("a", apitest.FileAt("/v2", "1", "/x"), "&server=https%3A%2F%2Fthings.example%3A8443")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	config, err := w.Gateway.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, "things.example", config.Services[0].Host)
	require.Equal(t, 8443, config.Services[0].Port)
	require.Equal(t, "/v2", config.Services[0].Path)
	require.Equal(t, http.StatusBadRequest, w.Post("b", apitest.FileAt("/", "1", "/y"), "&server=http%3A%2F%2F10.0.0.1").Status)
}
