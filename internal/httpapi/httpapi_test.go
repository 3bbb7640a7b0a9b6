package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func serve(h http.Handler, method, target, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func text(body string) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		httpapi.WriteText(w, http.StatusOK, body+r.PathValue("id"))
		return nil
	}
}

func TestNewHandler_answersWithAndWithoutTrailingSlash(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /things", Func: text("list")},
		{Pattern: "GET /things/{id}", Func: text("one ")},
		{Pattern: "GET /docs", Func: text("redirect")},
		{Pattern: "GET /docs/", Func: text("tree")},
		{Pattern: "GET /{$}", Func: text("root")},
	}, nil)
	for target, want := range map[string]string{
		"/things": "list", "/things/": "list", "/things/a%2Fb": "one a/b", "/things/a%2Fb/": "one a/b",
		"/docs": "redirect", "/docs/": "tree", "/docs/x/y": "tree", "/": "root",
	} {
		w := serve(h, "GET", target, "", "")
		require.Equal(t, http.StatusOK, w.Code, target)
		require.Equal(t, want, w.Body.String(), target)
	}
	require.Equal(t, http.StatusNotFound, serve(h, "GET", "/other", "", "").Code)
	w := serve(h, "POST", "/things", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	require.Equal(t, `Method Not Allowed. This address takes GET, HEAD, not "POST".`, strings.TrimSpace(w.Body.String()))
}

func TestNewHandler_writesErrorsAsAnswers(t *testing.T) {
	known := errors.New("known")
	fail := func(err error) httpapi.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) error { return err }
	}
	var log bytes.Buffer
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /own", Func: fail(fmt.Errorf("wrapped: %w", &httpapi.Error{Status: 418, Detail: "short", Err: known}))},
		{Pattern: "GET /classified", Func: fail(known)},
		{Pattern: "GET /busy", Func: fail(&httpapi.Error{Status: 503, Detail: "come back"})},
		{Pattern: "GET /internal", Func: fail(errors.New("the password is x"))},
		{Pattern: "GET /cancelled", Func: fail(context.Canceled)},
		{Pattern: "GET /panic", Func: func(http.ResponseWriter, *http.Request) error { panic("secret") }},
	}, &httpapi.Options{
		Classify: func(err error) *httpapi.Error {
			if errors.Is(err, known) {
				return &httpapi.Error{Status: 409, Detail: "classified", Err: err}
			}
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	for target, want := range map[string]struct {
		status int
		body   string
	}{
		"/own": {418, "short"}, "/busy": {503, "come back"}, "/classified": {409, "classified"},
		"/internal": {500, "Internal Server Error"}, "/panic": {500, "Internal Server Error"},
		"/cancelled": {499, "The connection was closed before the request was answered."},
	} {
		w := serve(h, "GET", target, "", "")
		require.Equal(t, want.status, w.Code, target)
		require.Equal(t, want.body, w.Body.String(), target)
	}
	require.Contains(t, log.String(), "the password is x")
	require.Contains(t, log.String(), "cause=secret")
	require.NotContains(t, log.String(), "/own", "a client's mistake is not logged as an error")
	require.NotContains(t, log.String(), "/busy", "a limit is not logged as an error")
}

func TestNewHandler_abortsTheConnectionAfterHalfAnAnswer(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /half", Func: func(w http.ResponseWriter, _ *http.Request) error {
		_, _ = w.Write([]byte("half"))
		panic("late")
	}}}, nil)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { serve(h, "GET", "/half", "", "") })
}

func TestNewHandler_numbersAndLogsRequests(t *testing.T) {
	var log bytes.Buffer
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /x", Func: text("four")}},
		&httpapi.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r := httptest.NewRequest("GET", "/x", nil)
	r.Header.Set(httpapi.RequestIDHeader, "client-7")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, "client-7", w.Header().Get(httpapi.RequestIDHeader))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Contains(t, log.String(), "id=client-7 method=GET path=/x status=200 bytes=4 duration=")
	for _, bad := range []string{"", "two words", strings.Repeat("x", 129)} {
		r.Header.Set(httpapi.RequestIDHeader, bad)
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Len(t, w.Header().Get(httpapi.RequestIDHeader), 36)
	}
}

func TestReadBody_requiresTypeAndLimit(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "POST /x", Func: func(w http.ResponseWriter, r *http.Request) error {
		data, err := httpapi.ReadBody(r, "application/json", 4)
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, len(data))
	}}}, nil)
	require.Equal(t, "4", serve(h, "POST", "/x", "application/json; charset=utf-8", "1234").Body.String())
	require.Equal(t, http.StatusUnsupportedMediaType, serve(h, "POST", "/x", "text/json", "1").Code)
	require.Equal(t, http.StatusUnsupportedMediaType, serve(h, "POST", "/x", "", "1").Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, serve(h, "POST", "/x", "application/json", "12345").Code)
	r := httptest.NewRequest("POST", "/x", strings.NewReader("12345"))
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = -1 // as with chunked encoding
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
	require.Equal(t, "The request body is larger than the limit of 4 bytes.", w.Body.String())
}

func TestReadBody_acceptsAnyTypeWithoutARequiredOne(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "POST /x", Func: func(w http.ResponseWriter, r *http.Request) error {
		data, err := httpapi.ReadBody(r, "", 4)
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, len(data))
	}}}, nil)
	for _, contentType := range []string{"", "text/plain", "nonsense;;"} {
		require.Equal(t, "4", serve(h, "POST", "/x", contentType, "1234").Body.String())
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, serve(h, "POST", "/x", "", "12345").Code)
}

func TestCheckRoutes_findsDifferencesInBothDirections(t *testing.T) {
	document := []byte(`{"security": [{"bearer": []}], "paths": {"/a": {"get": {"x-role": "reader"}, "parameters": []},
		"/b/{id}": {"post": {"x-role": "operator"}}, "/page": {"get": {"x-role": "reader"}}}}`)
	a := httpapi.Route{Pattern: "GET /a"}
	b := httpapi.Route{Pattern: "POST /b/{id}"}
	page := httpapi.Route{Pattern: "GET /page"}
	hidden := httpapi.Route{Pattern: "GET /assets/", Undocumented: true}
	require.NoError(t, httpapi.CheckRoutes([]httpapi.Route{a, b, page, hidden}, document))
	page.Undocumented = true
	err := httpapi.CheckRoutes([]httpapi.Route{a, {Pattern: "POST /b/{name}"}, page}, document)
	require.EqualError(t, err, `routes and OpenAPI document differ:
"GET /page" is documented and marked Undocumented
"POST /b/{id}" is documented and not served
"POST /b/{name}" is served and not documented`)
	require.Error(t, httpapi.CheckRoutes(nil, []byte("no")))
}

func TestCheckRoutes_comparesRoles(t *testing.T) {
	document := []byte(`{"paths": {
		"/open": {"get": {"x-role": "public", "security": [{"bearer": []}]}},
		"/read": {"get": {"x-role": "reader"}},
		"/change": {"post": {"x-role": "reader", "security": [{"bearer": []}]}},
		"/fine": {"get": {"x-role": "admin", "security": [{"bearer": []}]}}
	}}`)
	err := httpapi.CheckRoutes([]httpapi.Route{
		{Pattern: "GET /open", Role: httpapi.Public}, {Pattern: "GET /read"}, {Pattern: "POST /change"},
		{Pattern: "GET /fine", Role: httpapi.Admin},
	}, document)
	require.EqualError(t, err, `routes and OpenAPI document differ:
"GET /open" is public, and has a security scheme; it needs an empty list
"GET /read" requires the role "reader", and has no security scheme
"POST /change" requires the role "operator", and x-role says "reader"`)
}

func TestDocsUI_isCompleteAndLoadsNothingElse(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /swagger/", Func: httpapi.DocsUI("Things", "/swagger/", "../openapi.json")},
		{Pattern: "GET /openapi.json", Func: httpapi.Document([]byte(`{"openapi": "3.0.3"}`))},
	}, nil)
	w := serve(h, "GET", "/swagger/", "", "")
	page := w.Body.String()
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Contains(t, page, "<title>Things - Swagger UI</title>")
	require.Contains(t, page, `"swaggerJsonUrl":"../openapi.json"`)
	assets := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.GreaterOrEqual(t, len(assets), 4)
	for _, asset := range assets {
		require.True(t, strings.HasPrefix(asset[1], "./"), "%s is not the server's own", asset[1])
		got := serve(h, "GET", "/swagger/"+strings.TrimPrefix(asset[1], "./"), "", "")
		require.Equal(t, http.StatusOK, got.Code, asset[1])
		require.NotZero(t, got.Body.Len(), asset[1])
	}
	require.Equal(t, http.StatusNotFound, serve(h, "GET", "/swagger/none.js", "", "").Code)

	require.Contains(t, w.Body.String(), `name="viewport"`, "the page fits a phone")
	policy := w.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.Equal(t, strings.Count(page, "<script>"), strings.Count(policy, "'sha256-"))
	require.Regexp(t, `script-src 'self'( 'sha256-[^']+')+;`, policy)
	require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	require.JSONEq(t, `{"openapi": "3.0.3"}`, serve(h, "GET", "/openapi.json", "", "").Body.String())
}

func TestRedirectTo_worksBelowAPrefix(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/")},
		{Pattern: "GET /docs/", Func: text("documented")},
	}, nil)
	server := httptest.NewServer(http.StripPrefix("/below/this", h))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/below/this/docs?x=1")
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, "/below/this/docs/", answer.Request.URL.Path)
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func TestReady_answersWithTheReason(t *testing.T) {
	var why error
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /readyz", Func: httpapi.Ready(func() error { return why })},
		{Pattern: "GET /healthz", Func: httpapi.Live},
	}, nil)
	require.Equal(t, http.StatusOK, serve(h, "GET", "/readyz", "", "").Code)
	why = errors.New("warming up")
	w := serve(h, "GET", "/readyz", "", "")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "warming up", w.Body.String())
	require.Equal(t, http.StatusOK, serve(h, "GET", "/healthz", "", "").Code)
}

func ExampleNewHandler() {
	greet := func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		if name == "unknown" {
			return &httpapi.Error{Status: http.StatusNotFound, Detail: "there is no such name"}
		}
		httpapi.WriteText(w, http.StatusOK, "hello "+name)
		return nil
	}
	handler := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /greet/{name}", Func: greet}}, nil)
	for _, path := range []string{"/greet/ada", "/greet/unknown/"} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(w.Code, w.Body.String())
	}
	// Output:
	// 200 hello ada
	// 404 there is no such name
}

func TestDrain_readsUnlessTheClientWaits(t *testing.T) {
	for expect, left := range map[string]int{"": 2, "100-continue": 6} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Expect", expect)
		body := strings.NewReader("123456")
		httpapi.Drain(r, body, 4)
		require.Equal(t, left, body.Len(), "Expect: %q", expect)
	}
}
