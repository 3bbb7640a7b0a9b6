package apimgmt_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestPublisher_Handler_matchesTheOpenAPIDocument(t *testing.T) {
	routes, document := apimgmt.RoutesAndDocument(newWorld(t).publisher)
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
}

// Specification, part B, section 4: publisher, register an API definition.
func TestPublisher_Handler_storesAndRoutes(t *testing.T) {
	w := newWorld(t)
	a := w.post("Weather station", file("1.0", "/stations/{id}", "/stations"), "", "Accept", "application/json")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	var r apimgmt.Record
	a.decode(t, &r)
	require.Equal(t, "Weather station", r.Enabler)
	require.Equal(t, "About it", r.Description)
	require.Equal(t, "demodeveloper", r.UploadedBy)
	require.Equal(t, "3.0.3", r.OpenAPI)
	require.Equal(t, apimgmt.Published, r.State)
	require.Equal(t, int64(len(file("1.0", "/stations/{id}", "/stations"))), r.Size)
	require.Len(t, r.SHA256, 64)
	require.ElementsMatch(t, []string{"http://gateway.example/stations", "http://gateway.example/stations/{id}"},
		[]string{r.Routes[0].URL, r.Routes[1].URL})
	require.ElementsMatch(t, []string{"/stations", "/stations/(?<id>[^#?/]+)"}, served(t, w.gateway, "weather-station"))
	require.Contains(t, w.log.String(), "by=demodeveloper")

	a = w.get("/OpenAPIDocumentation/Weather%20station")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, `"`+r.Revision+`"`, a.header.Get("ETag"))
	a = w.do(http.MethodPost, "/OpenAPIDocumentation?enabler=x&description=", "dev", "", nil) // without the slash, too
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
}

// Specification, part B, section 5.
func TestPublisher_Handler_requiresAToken(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("a", file("1", "/a"), "").status)
	routes, _ := apimgmt.RoutesAndDocument(w.publisher)
	checked := 0
	for _, route := range routes {
		method, path, _ := strings.Cut(strings.NewReplacer("{enabler}", "a", "{version}", "1", "{$}", "").Replace(route.Pattern), " ")
		if !strings.HasPrefix(path, "/OpenAPIDocumentation") {
			continue
		}
		checked++
		a := w.do(method, path, "", "", nil)
		require.Equal(t, http.StatusUnauthorized, a.status, route.Pattern)
		require.Equal(t, `Bearer realm="OpenAPI"`, a.header.Get("WWW-Authenticate"))
		require.JSONEq(t, `{"detail":"Not authenticated"}`, a.body)
		a = w.do(method, path, "forged", "", nil)
		require.Equal(t, http.StatusUnauthorized, a.status, route.Pattern)
		require.Contains(t, a.header.Get("WWW-Authenticate"), `error="invalid_token", error_description="bad signature"`)
		require.NotContains(t, a.body, "forged")
		a = w.do(method, path, "visitor", "", nil)
		require.Equal(t, http.StatusForbidden, a.status, route.Pattern)
		require.Contains(t, a.header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
		a = w.do(method, path, "unreachable", "", nil)
		require.Equal(t, http.StatusServiceUnavailable, a.status, route.Pattern)
		require.NotEmpty(t, a.header.Get("Retry-After"))
		a = w.do(method, path, "caller", "", nil)
		if method == http.MethodGet {
			require.Equal(t, http.StatusOK, a.status, route.Pattern)
		} else {
			require.Equal(t, http.StatusForbidden, a.status, route.Pattern)
		}
	}
	require.Equal(t, 14, checked)
	a := w.do(http.MethodGet, "/OpenAPIDocumentation/", "", "", nil, "Authorization", "Basic ZGV2OmRldg==")
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, http.StatusUnauthorized, w.do(http.MethodGet, "/OpenAPIDocumentation/", "old", "", nil).status)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, path, "", "", nil).status, path)
	}
}

// roles is an Authorize by tokens that are roles.
func roles(r *http.Request, role string) error {
	switch header := r.Header.Get("Authorization"); {
	case header == "Bearer operator", header == "Bearer reader" && role == "reader":
		return nil
	case header == "Bearer reader":
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "The role " + role + " is required."}
	}
	return &httpapi.Error{Status: http.StatusUnauthorized, Detail: "Not this one."}
}

func TestHandlerOptions_Authorize_acceptsFurtherCallers(t *testing.T) {
	w := newWorld(t)
	w.server.Config.Handler = w.publisher.Handler(&apimgmt.HandlerOptions{Verifier: demoTokens(), Authorize: roles})
	require.Equal(t, http.StatusOK, w.post("a", file("1", "/a"), "").status, "a token of the issuer is as good as before")
	for token, want := range map[string][3]int{
		"operator":    {http.StatusOK, http.StatusNotFound, http.StatusOK},
		"reader":      {http.StatusOK, http.StatusForbidden, http.StatusOK},
		"forged":      {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
		"caller":      {http.StatusOK, http.StatusForbidden, http.StatusUnauthorized},
		"unreachable": {http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusUnauthorized},
		"":            {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		for at, request := range [][2]string{{"GET", "/OpenAPIDocumentation/a"}, {"DELETE", "/OpenAPIDocumentation/none"}, {"GET", "/metrics"}} {
			a := w.do(request[0], request[1], token, "", nil)
			require.Equal(t, want[at], a.status, "%v as %q: %s", request, token, a.body)
			require.False(t, a.status == http.StatusOK && a.header.Get("WWW-Authenticate") != "", "%v as %q", request, token)
			require.False(t, a.status == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") == "", "%v as %q", request, token)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, w.do(http.MethodGet, path, "", "", nil).status, path)
	}
}

func TestPublisher_Handler_listsMissingParameters(t *testing.T) {
	w := newWorld(t)
	a := w.do(http.MethodPost, "/OpenAPIDocumentation/", "dev", "", nil)
	require.Equal(t, http.StatusUnprocessableEntity, a.status)
	require.JSONEq(t, `{"detail":[{"loc":["query","enabler"],"msg":"field required","type":"value_error.missing"},
		{"loc":["query","description"],"msg":"field required","type":"value_error.missing"},
		{"loc":["body","upload_file"],"msg":"field required","type":"value_error.missing"}]}`, a.body)
	for _, more := range []string{"&state=sunset", "&dry_run=perhaps", "&server=ftp://x", "&enabler="} {
		a = w.post("", file("1", "/a"), more)
		require.Equal(t, http.StatusUnprocessableEntity, a.status, more)
	}
	require.Equal(t, http.StatusUnprocessableEntity, w.post("../etc", file("1", "/a"), "").status)
	require.Empty(t, served(t, w.gateway, "a"))
}

func TestPublisher_Handler_namesThePlaceOfAnError(t *testing.T) {
	w := newWorld(t, func(c *apimgmt.Config) { c.Definition.Bytes = 4000 })
	for content, place := range map[string]string{
		`swagger: "2.0"`: "swagger",
		`{"openapi":"3.0.3","info":{"title":"a","version":"1"},` +
			`"paths":{"/a":{"get":{"responses":{"200":{"$ref":"http://evil.example/x"}}}}}}`: "/paths/~1a/get/responses/200",
		"{\n\n  nonsense":                                                          "line 3",
		fileAt("http://127.0.0.1:9", "1", "/a"):                                    "not public",
		fileAt("http://localhost", "1", "/a"):                                      "not public",
		fileAt("http://169.254.169.254", "1", "/a"):                                "not public",
		fileAt("http://2130706433", "1", "/a"):                                     "neither a name nor an address",
		file("a/b", "/a"):                                                          "info.version",
		file("1", "/a")[:len(file("1", "/a"))-1] + `,"x-kong-plugin-nope":{}}`:     `/x-kong-plugin-nope`,
		file("1", "/a")[:len(file("1", "/a"))-1] + `,"x-kong-tags":["enabler:b"]}`: "publisher's own",
	} {
		a := w.post("a", content, "")
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
		require.Contains(t, a.body, place)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, w.post("a", file("1", "/a")+strings.Repeat(" ", 4000), "").status)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.post("a", file("1", "/a")+strings.Repeat(" ", 400_000), "").status)
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/a").status)
	require.Empty(t, served(t, w.gateway, "a"))
}

func TestPublisher_Handler_refusesARouteOfAnotherEnabler(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.post("first", file("1", "/things/{id}", "/other"), "").status)
	a := w.post("second", file("1", "/own", "/things/{key}"), "")
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.body, "first-1_things-id_get")
	require.Contains(t, a.body, "second-1_things-key_get")
	require.Contains(t, a.body, `enabler \"first\"`)
	require.Empty(t, served(t, w.gateway, "second"), "not one route of it is served")
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/second").status)

	a = w.post("second", file("1", "/own", "/things/{key}"), "&dry_run=true")
	require.Equal(t, http.StatusOK, a.status)
	var preview apimgmt.Preview
	a.decode(t, &preview)
	require.Len(t, preview.Conflicts, 1)
	require.Equal(t, "first", preview.Conflicts[0].Enabler)
	require.NotEmpty(t, preview.Changes)
	require.Equal(t, http.StatusNotFound, w.get("/OpenAPIDocumentation/second").status)
}

func TestPublisher_Handler_listsInPages(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"c", "a", "B"} {
		require.Equal(t, http.StatusOK, w.post(name, file("1", "/"+name+"/rain"), "").status)
	}
	require.Equal(t, http.StatusOK, w.post("d", file("1", "/d"), "&state=draft").status)
	names := func(a answer) []string {
		require.Equal(t, http.StatusOK, a.status, a.body)
		var list []apimgmt.Record
		a.decode(t, &list)
		found := []string{}
		for _, r := range list {
			require.Empty(t, r.Routes)
			found = append(found, r.Enabler)
		}
		return found
	}
	require.Equal(t, []string{"a", "B", "c", "d"}, names(w.get("/OpenAPIDocumentation/")))
	require.Equal(t, []string{"d"}, names(w.get("/OpenAPIDocumentation/?state=draft")))
	require.Equal(t, []string{"a", "B", "c"}, names(w.get("/OpenAPIDocumentation/?q=RAIN")))
	require.Equal(t, []string{"a", "B", "c", "d"}, names(w.get("/OpenAPIDocumentation/?q=sky")))
	require.Equal(t, []string{}, names(w.get("/OpenAPIDocumentation/?q=nothing")))
	var all []string
	next := "?limit=3"
	for next != "" {
		a := w.get("/OpenAPIDocumentation/" + next)
		all = append(all, names(a)...)
		next, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
	}
	require.Equal(t, []string{"a", "B", "c", "d"}, all)
	require.Equal(t, http.StatusUnprocessableEntity, w.get("/OpenAPIDocumentation/?limit=0").status)
	require.Equal(t, http.StatusUnprocessableEntity, w.get("/OpenAPIDocumentation/?state=gone").status)
}

func TestPublisher_Handler_checksTheRevision(t *testing.T) {
	w := newWorld(t)
	contentType, body := form(t, file("1", "/a"))
	require.Equal(t, http.StatusNotFound, w.do(http.MethodPut, "/OpenAPIDocumentation/a", "dev", contentType, body).status)
	tag := w.post("a", file("1", "/a"), "", "If-None-Match", "*").header.Get("ETag")
	require.NotEmpty(t, tag)
	require.Equal(t, http.StatusPreconditionFailed, w.post("a", file("1", "/a"), "", "If-None-Match", "*").status)
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		contentType, body = "application/json", strings.NewReader(`{"description":"x"}`)
		if method == http.MethodPut {
			contentType, body = form(t, file("1", "/a"))
		}
		require.Equal(t, http.StatusPreconditionFailed,
			w.do(method, "/OpenAPIDocumentation/a", "dev", contentType, body, "If-Match", `"99"`).status, method)
		require.Equal(t, http.StatusBadRequest, w.do(method, "/OpenAPIDocumentation/a", "dev", contentType, body,
			"If-Match", `W/"99"`).status, method)
	}
	a := w.do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json",
		strings.NewReader(`{"description":"new"}`), "If-Match", tag)
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.NotEqual(t, tag, a.header.Get("ETag"))
	contentType, body = form(t, file("1", "/b"))
	a = w.do(http.MethodPut, "/OpenAPIDocumentation/a", "dev", contentType, body, "If-Match", a.header.Get("ETag"))
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Contains(t, a.body, `"description":"new"`)
	require.Equal(t, []string{"/b"}, served(t, w.gateway, "a"))
	require.Equal(t, http.StatusUnprocessableEntity,
		w.do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", strings.NewReader(`{}`)).status)
	require.Equal(t, http.StatusUnprocessableEntity,
		w.do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", strings.NewReader(`{"descr":"x"}`)).status)
	require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil, "If-Match",
		a.header.Get("ETag")).status)
	require.Equal(t, http.StatusNotFound, w.do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil).status)
	require.Empty(t, served(t, w.gateway, "a"))
}

func TestPublisher_Handler_readsConditionsOfRFC9110(t *testing.T) {
	w := newWorld(t)
	tag := w.post("a", file("1", "/a"), "").header.Get("ETag")
	const noList = "If-Match is no list of strong entity tags."
	for _, c := range []struct {
		field, value string
		want         int
		says         string
	}{
		{"If-Match", `"9,9"`, 412, ""},
		{"If-Match", `"9,9",,"8"`, 412, ""},
		{"If-Match", `"*"`, 412, ""},
		{"If-Match", `"9", W/"8"`, 400, noList},
		{"If-Match", `"9" "8"`, 400, noList},
		{"If-Match", "9", 400, noList},
		{"If-Match", "*, " + tag, 400, noList},
		{"If-Match", ",", 400, noList},
		{"If-None-Match", "*", 412, ""},
		{"If-None-Match", `"9,9"`, 400, "If-None-Match of a change can only be *."},
		{"If-None-Match", "9", 400, "If-None-Match of a change can only be *."},
		{"If-None-Match", "", 200, ""},
		{"If-Match", "*", 200, ""},
	} {
		body := strings.NewReader(`{"description":"x"}`)
		a := w.do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", body, c.field, c.value)
		require.Equal(t, c.want, a.status, "%s: %s: %s", c.field, c.value, a.body)
		require.Contains(t, a.body, c.says, "%s: %s", c.field, c.value)
	}
	tag = w.get("/OpenAPIDocumentation/a").header.Get("ETag")
	a := w.do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil, "If-Match", `"9,9", `+tag)
	require.Equal(t, http.StatusNoContent, a.status, a.body)
}
