package rest_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func TestNewHandler_matchesTheOpenAPIDocument(t *testing.T) {
	routes, document := rest.RoutesAndDocument(apitest.New(t).Publisher)
	require.NoError(t, httpapi.CheckRoutes(routes, document))
	parsed, err := openapi3.NewLoader().LoadFromData(document)
	require.NoError(t, err)
	require.NoError(t, parsed.Validate(t.Context()))
}

// Specification, part B, section 4: publisher, register an API definition.
func TestNewHandler_storesAndRoutes(t *testing.T) {
	w := apitest.New(t)
	a := w.Post("Weather station", apitest.File("1.0", "/stations/{id}", "/stations"), "", "Accept", "application/json")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Equal(t, "application/json", a.Header.Get("Content-Type"))
	var r apimgmt.Record
	a.Decode(t, &r)
	require.Equal(t, "Weather station", r.Enabler)
	require.Equal(t, "About it", r.Description)
	require.Equal(t, "demodeveloper", r.UploadedBy)
	require.Equal(t, "3.0.3", r.OpenAPI)
	require.Equal(t, apimgmt.Published, r.State)
	require.Equal(t, int64(len(apitest.File("1.0", "/stations/{id}", "/stations"))), r.Size)
	require.Len(t, r.SHA256, 64)
	require.ElementsMatch(t, []string{"http://gateway.example/stations", "http://gateway.example/stations/{id}"},
		[]string{r.Routes[0].URL, r.Routes[1].URL})
	require.ElementsMatch(t, []string{"/stations", "/stations/(?<id>[^#?/]+)"}, apitest.Served(t, w.Gateway, "weather-station"))
	require.Contains(t, w.Log.String(), "by=demodeveloper")

	a = w.Get("/OpenAPIDocumentation/Weather%20station")
	require.Equal(t, http.StatusOK, a.Status)
	require.Equal(t, `"`+r.Revision+`"`, a.Header.Get("ETag"))
	a = w.Do(http.MethodPost, "/OpenAPIDocumentation?enabler=x&description=", "dev", "", nil) // without the slash, too
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
}

// Specification, part B, section 5.
func TestNewHandler_requiresAToken(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/a"), "").Status)
	routes, _ := rest.RoutesAndDocument(w.Publisher)
	checked := 0
	for _, route := range routes {
		method, path, _ := strings.Cut(strings.NewReplacer("{enabler}", "a", "{version}", "1", "{$}", "").Replace(route.Pattern), " ")
		if !strings.HasPrefix(path, "/OpenAPIDocumentation") {
			continue
		}
		checked++
		a := w.Do(method, path, "", "", nil)
		require.Equal(t, http.StatusUnauthorized, a.Status, route.Pattern)
		require.Equal(t, `Bearer realm="OpenAPI"`, a.Header.Get("WWW-Authenticate"))
		require.JSONEq(t, `{"detail":"Not authenticated"}`, a.Body)
		a = w.Do(method, path, "forged", "", nil)
		require.Equal(t, http.StatusUnauthorized, a.Status, route.Pattern)
		require.Contains(t, a.Header.Get("WWW-Authenticate"), `error="invalid_token", error_description="bad signature"`)
		require.NotContains(t, a.Body, "forged")
		a = w.Do(method, path, "visitor", "", nil)
		require.Equal(t, http.StatusForbidden, a.Status, route.Pattern)
		require.Contains(t, a.Header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
		a = w.Do(method, path, "unreachable", "", nil)
		require.Equal(t, http.StatusServiceUnavailable, a.Status, route.Pattern)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		a = w.Do(method, path, "caller", "", nil)
		if method == http.MethodGet {
			require.Equal(t, http.StatusOK, a.Status, route.Pattern)
		} else {
			require.Equal(t, http.StatusForbidden, a.Status, route.Pattern)
		}
	}
	require.Equal(t, 14, checked)
	a := w.Do(http.MethodGet, "/OpenAPIDocumentation/", "", "", nil, "Authorization", "Basic ZGV2OmRldg==")
	require.Equal(t, http.StatusUnauthorized, a.Status)
	require.Equal(t, http.StatusUnauthorized, w.Do(http.MethodGet, "/OpenAPIDocumentation/", "old", "", nil).Status)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, w.Do(http.MethodGet, path, "", "", nil).Status, path)
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
	w := apitest.New(t)
	w.Server.Config.Handler = rest.NewHandler(w.Publisher, &rest.HandlerOptions{Verifier: apitest.Tokens(), Authorize: roles})
	require.Equal(t, http.StatusOK, w.Post("a", apitest.File("1", "/a"), "").Status, "a token of the issuer is as good as before")
	for token, want := range map[string][3]int{
		"operator":    {http.StatusOK, http.StatusNotFound, http.StatusOK},
		"reader":      {http.StatusOK, http.StatusForbidden, http.StatusOK},
		"forged":      {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
		"caller":      {http.StatusOK, http.StatusForbidden, http.StatusUnauthorized},
		"unreachable": {http.StatusServiceUnavailable, http.StatusServiceUnavailable, http.StatusUnauthorized},
		"":            {http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized},
	} {
		for at, request := range [][2]string{{"GET", "/OpenAPIDocumentation/a"}, {"DELETE", "/OpenAPIDocumentation/none"}, {"GET", "/metrics"}} {
			a := w.Do(request[0], request[1], token, "", nil)
			require.Equal(t, want[at], a.Status, "%v as %q: %s", request, token, a.Body)
			require.False(t, a.Status == http.StatusOK && a.Header.Get("WWW-Authenticate") != "", "%v as %q", request, token)
			require.False(t, a.Status == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") == "", "%v as %q", request, token)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs/"} {
		require.Equal(t, http.StatusOK, w.Do(http.MethodGet, path, "", "", nil).Status, path)
	}
}

func TestNewHandler_listsMissingParameters(t *testing.T) {
	w := apitest.New(t)
	a := w.Do(http.MethodPost, "/OpenAPIDocumentation/", "dev", "", nil)
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.JSONEq(t, `{"detail":[{"loc":["query","enabler"],"msg":"field required","type":"value_error.missing"},
		{"loc":["query","description"],"msg":"field required","type":"value_error.missing"},
		{"loc":["body","upload_file"],"msg":"field required","type":"value_error.missing"}]}`, a.Body)
	for _, more := range []string{"&state=sunset", "&dry_run=perhaps", "&server=ftp://x", "&enabler="} {
		a = w.Post("", apitest.File("1", "/a"), more)
		require.Equal(t, http.StatusUnprocessableEntity, a.Status, more)
	}
	require.Equal(t, http.StatusUnprocessableEntity, w.Post("../etc", apitest.File("1", "/a"), "").Status)
	require.Empty(t, apitest.Served(t, w.Gateway, "a"))
}

func TestNewHandler_namesThePlaceOfAnError(t *testing.T) {
	w := apitest.New(t, func(c *apimgmt.Config) { c.Definition.Bytes = 4000 })
	for content, place := range map[string]string{
		`swagger: "2.0"`: "swagger",
		`{"openapi":"3.0.3","info":{"title":"a","version":"1"},` +
			`"paths":{"/a":{"get":{"responses":{"200":{"$ref":"http://evil.example/x"}}}}}}`: "/paths/~1a/get/responses/200",
		"{\n\n  nonsense": "line 3",
		apitest.FileAt("http://127.0.0.1:9", "1", "/a"):                                            "not public",
		apitest.FileAt("http://localhost", "1", "/a"):                                              "not public",
		apitest.FileAt("http://169.254.169.254", "1", "/a"):                                        "not public",
		apitest.FileAt("http://2130706433", "1", "/a"):                                             "neither a name nor an address",
		apitest.File("a/b", "/a"):                                                                  "info.version",
		apitest.File("1", "/a")[:len(apitest.File("1", "/a"))-1] + `,"x-kong-plugin-nope":{}}`:     `/x-kong-plugin-nope`,
		apitest.File("1", "/a")[:len(apitest.File("1", "/a"))-1] + `,"x-kong-tags":["enabler:b"]}`: "publisher's own",
	} {
		a := w.Post("a", content, "")
		require.Equal(t, http.StatusBadRequest, a.Status, a.Body)
		require.Contains(t, a.Body, place)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Post("a", apitest.File("1", "/a")+strings.Repeat(" ", 4000), "").Status)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Post("a", apitest.File("1", "/a")+strings.Repeat(" ", 400_000), "").Status)
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/a").Status)
	require.Empty(t, apitest.Served(t, w.Gateway, "a"))
}

func TestNewHandler_refusesARouteOfAnotherEnabler(t *testing.T) {
	w := apitest.New(t)
	require.Equal(t, http.StatusOK, w.Post("first", apitest.File("1", "/things/{id}", "/other"), "").Status)
	a := w.Post("second", apitest.File("1", "/own", "/things/{key}"), "")
	require.Equal(t, http.StatusConflict, a.Status)
	require.Contains(t, a.Body, "first-1_things-id_get")
	require.Contains(t, a.Body, "second-1_things-key_get")
	require.Contains(t, a.Body, `enabler \"first\"`)
	require.Empty(t, apitest.Served(t, w.Gateway, "second"), "not one route of it is served")
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/second").Status)

	a = w.Post("second", apitest.File("1", "/own", "/things/{key}"), "&dry_run=true")
	require.Equal(t, http.StatusOK, a.Status)
	var preview apimgmt.Preview
	a.Decode(t, &preview)
	require.Len(t, preview.Conflicts, 1)
	require.Equal(t, "first", preview.Conflicts[0].Enabler)
	require.NotEmpty(t, preview.Changes)
	require.Equal(t, http.StatusNotFound, w.Get("/OpenAPIDocumentation/second").Status)
}

func TestNewHandler_listsInPages(t *testing.T) {
	w := apitest.New(t)
	for _, name := range []string{"c", "a", "B"} {
		require.Equal(t, http.StatusOK, w.Post(name, apitest.File("1", "/"+name+"/rain"), "").Status)
	}
	require.Equal(t, http.StatusOK, w.Post("d", apitest.File("1", "/d"), "&state=draft").Status)
	names := func(a apitest.Answer) []string {
		require.Equal(t, http.StatusOK, a.Status, a.Body)
		var list []apimgmt.Record
		a.Decode(t, &list)
		found := []string{}
		for _, r := range list {
			require.Empty(t, r.Routes)
			found = append(found, r.Enabler)
		}
		return found
	}
	require.Equal(t, []string{"a", "B", "c", "d"}, names(w.Get("/OpenAPIDocumentation/")))
	require.Equal(t, []string{"d"}, names(w.Get("/OpenAPIDocumentation/?state=draft")))
	require.Equal(t, []string{"a", "B", "c"}, names(w.Get("/OpenAPIDocumentation/?q=RAIN")))
	require.Equal(t, []string{"a", "B", "c", "d"}, names(w.Get("/OpenAPIDocumentation/?q=sky")))
	require.Equal(t, []string{}, names(w.Get("/OpenAPIDocumentation/?q=nothing")))
	var all []string
	next := "?limit=3"
	for next != "" {
		a := w.Get("/OpenAPIDocumentation/" + next)
		all = append(all, names(a)...)
		next, _, _ = strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	}
	require.Equal(t, []string{"a", "B", "c", "d"}, all)
	require.Equal(t, http.StatusUnprocessableEntity, w.Get("/OpenAPIDocumentation/?limit=0").Status)
	require.Equal(t, http.StatusUnprocessableEntity, w.Get("/OpenAPIDocumentation/?state=gone").Status)
}

func TestNewHandler_checksTheRevision(t *testing.T) {
	w := apitest.New(t)
	contentType, body := apitest.Form(t, apitest.File("1", "/a"))
	require.Equal(t, http.StatusNotFound, w.Do(http.MethodPut, "/OpenAPIDocumentation/a", "dev", contentType, body).Status)
	tag := w.Post("a", apitest.File("1", "/a"), "", "If-None-Match", "*").Header.Get("ETag")
	require.NotEmpty(t, tag)
	require.Equal(t, http.StatusPreconditionFailed, w.Post("a", apitest.File("1", "/a"), "", "If-None-Match", "*").Status)
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		contentType, body = "application/json", strings.NewReader(`{"description":"x"}`)
		if method == http.MethodPut {
			contentType, body = apitest.Form(t, apitest.File("1", "/a"))
		}
		require.Equal(t, http.StatusPreconditionFailed,
			w.Do(method, "/OpenAPIDocumentation/a", "dev", contentType, body, "If-Match", `"99"`).Status, method)
		require.Equal(t, http.StatusBadRequest, w.Do(method, "/OpenAPIDocumentation/a", "dev", contentType, body,
			"If-Match", `W/"99"`).Status, method)
	}
	a := w.Do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json",
		strings.NewReader(`{"description":"new"}`), "If-Match", tag)
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.NotEqual(t, tag, a.Header.Get("ETag"))
	contentType, body = apitest.Form(t, apitest.File("1", "/b"))
	a = w.Do(http.MethodPut, "/OpenAPIDocumentation/a", "dev", contentType, body, "If-Match", a.Header.Get("ETag"))
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Contains(t, a.Body, `"description":"new"`)
	require.Equal(t, []string{"/b"}, apitest.Served(t, w.Gateway, "a"))
	require.Equal(t, http.StatusUnprocessableEntity,
		w.Do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", strings.NewReader(`{}`)).Status)
	require.Equal(t, http.StatusUnprocessableEntity,
		w.Do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", strings.NewReader(`{"descr":"x"}`)).Status)
	long := w.Do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json",
		strings.NewReader(`{"description":"`+strings.Repeat("x", 4001)+`"}`))
	require.Equal(t, http.StatusUnprocessableEntity, long.Status)
	require.JSONEq(t, `{"detail":[{"loc":["body","description"],"msg":"the description is not a text of up to 4000 characters",
		"type":"value_error"}]}`, long.Body)
	require.Equal(t, http.StatusNoContent, w.Do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil, "If-Match",
		a.Header.Get("ETag")).Status)
	require.Equal(t, http.StatusNotFound, w.Do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil).Status)
	require.Empty(t, apitest.Served(t, w.Gateway, "a"))
}

func TestNewHandler_readsConditionsOfRFC9110(t *testing.T) {
	w := apitest.New(t)
	tag := w.Post("a", apitest.File("1", "/a"), "").Header.Get("ETag")
	const noList = "If-Match is not a list of strong entity tags."
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
		a := w.Do(http.MethodPatch, "/OpenAPIDocumentation/a", "dev", "application/json", body, c.field, c.value)
		require.Equal(t, c.want, a.Status, "%s: %s: %s", c.field, c.value, a.Body)
		require.Contains(t, a.Body, c.says, "%s: %s", c.field, c.value)
	}
	tag = w.Get("/OpenAPIDocumentation/a").Header.Get("ETag")
	a := w.Do(http.MethodDelete, "/OpenAPIDocumentation/a", "dev", "", nil, "If-Match", `"9,9", `+tag)
	require.Equal(t, http.StatusNoContent, a.Status, a.Body)
}

func TestNewHandler_withoutAVerifierRefusesEveryCaller(t *testing.T) {
	w := httptest.NewRecorder()
	rest.NewHandler(apitest.New(t).Publisher, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/OpenAPIDocumentation/", nil))
	require.Equal(t, http.StatusUnauthorized, w.Code)
}

func TestNewHandler_returnsTheUploadedFile(t *testing.T) {
	w := apitest.New(t)
	yaml := "openapi: 3.0.3\ninfo: {title: Sky, version: \"1\"}\nservers: [{url: https://weather.example}]\npaths:\n  " +
		"/x:\n    get: {responses: {\"200\": {description: fine}}}\n"
	require.Equal(t, http.StatusOK, w.Post("a", yaml, "").Status)
	for _, path := range []string{"/OpenAPIDocumentation/a/definition", "/OpenAPIDocumentation/a/versions/1/definition"} {
		a := w.Get(path)
		require.Equal(t, http.StatusOK, a.Status)
		require.Equal(t, "application/yaml", a.Header.Get("Content-Type"))
		require.Contains(t, a.Body, "title: Sky")
		require.Equal(t, http.StatusNotModified, w.Get(path, "If-None-Match", a.Header.Get("ETag")).Status)
		require.Equal(t, http.StatusOK, w.Do(http.MethodHead, path, "dev", "", nil).Status)
	}
	require.Equal(t, http.StatusOK, w.Post("b", apitest.File("1", "/y"), "").Status)
	require.Equal(t, "application/json", w.Get("/OpenAPIDocumentation/b/definition").Header.Get("Content-Type"))
}

func TestNewHandler_checksThePathOfQueryAndForm(t *testing.T) {
	w := apitest.New(t, apitest.Transforming)
	for _, path := range []string{"a", "/a/", "/a//b", "/a/../b", "/{id}", "/a.*", "//", "~/a"} {
		a := w.Post("w", apitest.File("1", "/a"), "&path="+url.QueryEscape(path))
		require.Equal(t, http.StatusUnprocessableEntity, a.Status, path)
		require.Contains(t, a.Body, `{"loc":["query","path"],"msg":"the path `, path)
	}
	inForm := func(path, more string) apitest.Answer {
		var b bytes.Buffer
		m := multipart.NewWriter(&b)
		part, err := m.CreateFormFile("upload_file", "api.json")
		require.NoError(t, err)
		_, err = io.WriteString(part, apitest.File("1", "/a"))
		require.NoError(t, err)
		require.NoError(t, m.WriteField("path", path))
		require.NoError(t, m.Close())
		return w.Do(http.MethodPost, "/OpenAPIDocumentation/?enabler=w&description="+more, "dev", m.FormDataContentType(), &b)
	}
	a := inForm("/{id}", "")
	require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	require.Contains(t, a.Body, `{"loc":["body","path"]`)
	require.Equal(t, http.StatusUnprocessableEntity, inForm("/a", "&path=/b").Status)
	require.Equal(t, http.StatusOK, inForm("", "").Status)
	require.Equal(t, http.StatusOK, inForm(apimgmt.NoPath, "").Status)
	require.Equal(t, []string{"/a"}, apitest.Served(t, w.Gateway, "w"))
	a = inForm("/below", "")
	require.Equal(t, http.StatusOK, a.Status, a.Body)
	require.Equal(t, []string{"/below(?<the_path_after_the_listen_prefix>/a)"}, apitest.Served(t, w.Gateway, "w"))
	_, err := w.Publisher.Publish(t.Context(), apimgmt.Upload{Enabler: "w", Definition: []byte(apitest.File("1", "/a")), Path: "x"})
	require.ErrorIs(t, err, apimgmt.ErrInvalid)
}
