package apimgmt_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
)

// set brings a version of the enabler "a" into a state.
func (w *world) set(version, body string, fields ...string) answer {
	w.t.Helper()
	return w.do(http.MethodPatch, "/OpenAPIDocumentation/a/versions/"+version, "dev", "application/json", strings.NewReader(body), fields...)
}

func TestPublisher_Publish_supersedesVersionsWithCommonRoutes(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", file("1", "/v1/x", "/health"), "").status)
	a := w.post("a", file("2", "/v2/x"), "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.NotContains(t, a.body, "superseded")
	require.ElementsMatch(t, []string{"/v1/x", "/health", "/v2/x"}, served(t, w.gateway, "a"))

	a = w.post("a", file("3", "/v3/x", "/health"), "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	var r apimgmt.Record
	a.decode(t, &r)
	require.Equal(t, []string{"1"}, r.Superseded)
	require.Equal(t, "3", r.Version.Version)
	require.ElementsMatch(t, []string{"/v2/x", "/v3/x", "/health"}, served(t, w.gateway, "a"))

	a = w.set("1", `{"state":"published"}`) // back to the first one
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Contains(t, a.body, `"superseded":["3"]`)
	require.ElementsMatch(t, []string{"/v1/x", "/v2/x", "/health"}, served(t, w.gateway, "a"))

	a = w.post("a", file("2", "/v2/y"), "") // in the place of what it was
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.ElementsMatch(t, []string{"/v1/x", "/v2/y", "/health"}, served(t, w.gateway, "a"))

	a = w.get("/OpenAPIDocumentation/a/versions")
	var versions []apimgmt.Version
	a.decode(t, &versions)
	states := map[string]apimgmt.State{}
	for _, v := range versions {
		states[v.Version] = v.State
	}
	require.Equal(t, map[string]apimgmt.State{"1": "published", "2": "published", "3": "sunset"}, states)
	require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "/OpenAPIDocumentation/a/versions/1", "dev", "", nil).status)
	require.Equal(t, []string{"/v2/y"}, served(t, w.gateway, "a"))
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/a/versions/1").status)
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/a/versions/1/definition").status)
	for _, version := range []string{"2", "3"} {
		require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "/OpenAPIDocumentation/a/versions/"+version, "dev", "", nil).status)
	}
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/a").status)
}

func TestPublisher_SetState_allowsDocumentedTransitions(t *testing.T) {
	allowed := map[string]string{"draft": "draft published", "published": "published deprecated sunset",
		"deprecated": "published deprecated sunset", "sunset": "published deprecated sunset"}
	for from, next := range allowed {
		for _, to := range []string{"draft", "published", "deprecated", "sunset"} {
			w := newWorld(t)
			require.Equal(t, http.StatusOK, w.post("a", file("1", "/x"), map[bool]string{true: "&state=draft"}[from == "draft"]).status)
			if from != "draft" {
				require.Equal(t, http.StatusOK, w.set("1", `{"state":"`+from+`"}`).status)
			}
			a := w.set("1", `{"state":"`+to+`"}`)
			now := from
			if strings.Contains(next, to) {
				require.Equal(t, http.StatusOK, a.status, "%s to %s: %s", from, to, a.body)
				now = to
			} else {
				require.Equal(t, http.StatusConflict, a.status, "%s to %s", from, to)
			}
			require.Len(t, served(t, w.gateway, "a"), map[string]int{"published": 1, "deprecated": 1}[now], now)
			var r apimgmt.Record
			w.get("/OpenAPIDocumentation/a").decode(t, &r)
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
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", file("1", "/x"), "").status)
	a := w.post("a", file("1", "/y"), "&state=draft")
	require.Equal(t, http.StatusConflict, a.status, "what is published does not become a draft by the way")
	require.Equal(t, http.StatusOK, w.post("a", file("2", "/x"), "&state=draft").status)
	require.Equal(t, http.StatusOK, w.post("b", file("1", "/x"), "&state=draft").status, "a draft conflicts with no version")
	require.Equal(t, []string{"/x"}, served(t, w.gateway, "a"))
	require.Empty(t, served(t, w.gateway, "b"))
	a = w.do(http.MethodPatch, "/OpenAPIDocumentation/b/versions/1", "dev", "application/json", strings.NewReader(`{"state":"published"}`))
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.body, `"enabler":"a"`)
	require.Equal(t, http.StatusOK, w.set("1", `{"state":"sunset"}`).status)
	a = w.do(http.MethodPatch, "/OpenAPIDocumentation/b/versions/1", "dev", "application/json", strings.NewReader(`{"state":"published"}`))
	require.Equal(t, http.StatusOK, a.status, "now the route is free")
	require.Equal(t, http.StatusConflict, w.set("1", `{"state":"deprecated"}`).status)
}

func TestPublisher_SetState_announcesDeprecation(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", file("1", "/x"), "").status)
	a := w.set("1", `{"state":"deprecated","sunset":"2199-12-31T00:00:00Z","link":"https://docs.example/end"}`)
	require.Equal(t, http.StatusOK, a.status, a.body)
	config, err := w.gateway.Config(t.Context())
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
		require.Equal(t, status, w.set("1", body).status, body)
	}
	require.Equal(t, http.StatusPreconditionFailed, w.set("1", `{"state":"sunset"}`, "If-Match", `"1000"`).status)
	require.Equal(t, http.StatusOK, w.set("1", `{"state":"published"}`).status)
	config, err = w.gateway.Config(t.Context())
	require.NoError(t, err)
	require.Empty(t, config.Plugins)
}

func TestPublisher_SetState_announcesWithAvailablePlugins(t *testing.T) {
	for kinds, config := range map[string]string{
		"oidc response-transformer": `{"add":{"headers":["Deprecation:@[0-9]+","Sunset:Tue, 31 Dec 2199 00:00:00 GMT"]}}`,
		"oidc":                      "",
	} {
		w := newWorld(t, func(c *apimgmt.Config) { c.Gateway = apimgmt.NewMemoryGateway(strings.Fields(kinds)) })
		require.Equal(t, http.StatusOK, w.post("a", file("1", "/x"), "").status)
		a := w.set("1", `{"state":"deprecated","sunset":"2199-12-31T00:00:00Z"}`)
		if config == "" {
			require.Equal(t, http.StatusBadRequest, a.status, "no caller would get the notice")
			require.Contains(t, a.body, "response-transformer")
			continue
		}
		require.Equal(t, http.StatusOK, a.status, a.body)
		served, err := w.gateway.Config(t.Context())
		require.NoError(t, err)
		require.Regexp(t, "^"+strings.NewReplacer("{", `\{`, `:["`, `:\["`).Replace(config)+"$", string(served.Plugins[0].Config))
	}
}

func TestPublisher_Publish_fillsValidatorsForTheEmbeddedGateway(t *testing.T) {
	content := strings.Replace(file("1", "/x"), "{", `{"x-kong-plugin-request-validator":{"config":{"max_body":7}},`, 1)
	for kinds, filled := range map[string]bool{"request-validator deprecation": true,
		"request-validator response-transformer": false, "": false} {
		w := newWorld(t, func(c *apimgmt.Config) {
			c.Gateway = apimgmt.NewMemoryGateway(nil)
			if kinds != "" {
				c.Gateway = apimgmt.NewMemoryGateway(strings.Fields(kinds))
			}
		})
		a := w.post("a", content, "")
		require.Equal(t, http.StatusOK, a.status, a.body)
		config, err := w.gateway.Config(t.Context())
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

func TestPublisher_Definition_returnsTheUploadedFile(t *testing.T) {
	w := newWorld(t)
	yaml := "openapi: 3.0.3\ninfo: {title: Sky, version: \"1\"}\nservers: [{url: https://weather.example}]\npaths:\n  " +
		"/x:\n    get: {responses: {\"200\": {description: fine}}}\n"
	require.Equal(t, http.StatusOK, w.post("a", yaml, "").status)
	for _, path := range []string{"/OpenAPIDocumentation/a/definition", "/OpenAPIDocumentation/a/versions/1/definition"} {
		a := w.get(path)
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, "application/yaml", a.header.Get("Content-Type"))
		require.Contains(t, a.body, "title: Sky")
		require.Equal(t, http.StatusNotModified, w.get(path, "If-None-Match", a.header.Get("ETag")).status)
		require.Equal(t, http.StatusOK, w.do(http.MethodHead, path, "dev", "", nil).status)
	}
	require.Equal(t, http.StatusOK, w.post("b", file("1", "/y"), "").status)
	require.Equal(t, "application/json", w.get("/OpenAPIDocumentation/b/definition").header.Get("Content-Type"))
}

func TestPublisher_Publish_refusesRoutesMadeByHand(t *testing.T) {
	hand := apimgmt.NewMemoryGateway([]string{"oidc"})
	require.NoError(t, hand.Publish(t.Context(), "by-hand", handmade("taken", "~/x$")))
	w := newWorld(t, func(c *apimgmt.Config) { c.Gateway = hand })
	a := w.post("a", file("1", "/x"), "")
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.body, `route \"taken\" of the gateway`)
	require.NoError(t, hand.Publish(t.Context(), "by-hand", handmade("a-1_x_get", "/y")))
	a = w.post("a", file("1", "/x"), "")
	require.Equal(t, http.StatusConflict, a.status, "the name is taken")
	require.Equal(t, http.StatusOK, w.post("a", file("2", "/x"), "").status)
	require.Len(t, served(t, hand, "a"), 1)
	config, err := hand.Config(t.Context())
	require.NoError(t, err)
	require.Len(t, config.Routes, 2)
}

func TestPublisher_Publish_treatsSimilarNamesAsOneEnabler(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("Weather Station", file("1", "/x"), "").status)
	a := w.post("weather-station", file("2", "/x"), "")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Contains(t, a.body, `"enabler":"Weather Station"`)
	require.Equal(t, http.StatusOK, w.get("/OpenAPIDocumentation/WEATHER%20STATION").status)
}

func TestPublisher_Publish_requiresABaseForRelativeServers(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusBadRequest, w.post("a", fileAt("/", "1", "/x"), "").status)
	a := w.post("a", fileAt("/v2", "1", "/x"), "&server=https%3A%2F%2Fthings.example%3A8443")
	require.Equal(t, http.StatusOK, a.status, a.body)
	config, err := w.gateway.Config(t.Context())
	require.NoError(t, err)
	require.Equal(t, "things.example", config.Services[0].Host)
	require.Equal(t, 8443, config.Services[0].Port)
	require.Equal(t, "/v2", config.Services[0].Path)
	require.Equal(t, http.StatusBadRequest, w.post("b", fileAt("/", "1", "/y"), "&server=http%3A%2F%2F10.0.0.1").status)
}

func TestPublisher_Handler_withoutAVerifierRefusesEveryCaller(t *testing.T) {
	w := httptest.NewRecorder()
	newWorld(t).publisher.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/OpenAPIDocumentation/", nil))
	require.Equal(t, http.StatusUnauthorized, w.Code)
}
