package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/httpapi/httpapitest"
)

func guarded(hosts ...string) http.Handler {
	return httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /healthz", Func: httpapi.Live},
		{Pattern: "POST /things", Func: text("made")},
		{Pattern: "GET /stop", Func: text("stopped"), Origins: httpapi.OwnPages},
		{Pattern: "GET /page", Func: text("page"), Origins: httpapi.OwnPagesAndLinks},
		{Pattern: "POST /token", Func: text("token"), Origins: httpapi.AnyPages},
	}, &httpapi.Options{Hosts: hosts})
}

func TestNewHandler_refusesWhatPagesElsewhereSend(t *testing.T) {
	httpapitest.Guarded{New: guarded, Change: []string{"POST /things", "GET /stop", "POST /things/"}, Link: "/page"}.Check(t)
}

// over sends a request as if it had come over a connection to an address.
func over(h http.Handler, local, method, target string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	if local != "" {
		address, err := net.ResolveTCPAddr("tcp", local)
		if err != nil {
			panic(err)
		}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(address)))
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestNewHandler_checksTheHostOfLoopbackConnectionsOnly(t *testing.T) {
	for local, want := range map[string]int{
		"127.0.0.1:80": 421, "127.9.9.9:80": 421, "[::1]:80": 421, "[::ffff:127.0.0.1]:80": 421,
		"192.0.2.1:80": 200, "[2001:db8::1]:80": 200, "": 200,
	} {
		w := over(guarded(), local, "GET", "http://annotator.default.svc:8080/healthz", nil)
		require.Equal(t, want, w.Code, local)
	}
	w := over(guarded(), "127.0.0.1:80", "GET", "http://evil.example/no/such/path", nil)
	require.Equal(t, 421, w.Code, "whatever the path")
}

func TestRoute_Origins(t *testing.T) {
	const here = "192.0.2.1:80" // the sender's network has no part in it
	link := map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	image := map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
	for _, c := range []struct {
		method, path string
		header       map[string]string
		want         int
	}{
		{"GET", "/healthz", image, 200},
		{"GET", "/stop", image, 403},
		{"GET", "/stop", link, 403},
		{"HEAD", "/stop", image, 403},
		{"GET", "/stop/", image, 403},
		{"GET", "/stop", map[string]string{"Referer": "http://evil.example/"}, 403},
		{"GET", "/stop", map[string]string{"Referer": "http://example.com/docs/"}, 200},
		{"GET", "/stop", nil, 200},
		{"GET", "/page", link, 200},
		{"GET", "/page", image, 403},
		{"HEAD", "/page", link, 403},
		{"GET", "/page", map[string]string{"Referer": "http://wiki.example/"}, 200},
		{"POST", "/token", map[string]string{"Origin": "https://evil.example"}, 200},
	} {
		w := over(guarded(), here, c.method, "http://example.com"+c.path, c.header)
		require.Equal(t, c.want, w.Code, "%s %s %v", c.method, c.path, c.header)
	}
}

func TestRoute_Origins_takesTheRefererOfATrustedOrigin(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "GET /stop", Func: text("stopped"), Origins: httpapi.OwnPages}},
		&httpapi.Options{Hosts: []string{"http://public.example", "named.example"}})
	for referer, want := range map[string]int{
		"http://public.example/docs/": 200, "http://public.example:81/": 403, "https://public.example/": 403,
		"http://named.example/": 403, "http://evil.example/": 403,
	} {
		w := over(h, "192.0.2.1:80", "GET", "http://127.0.0.1:8000/stop", map[string]string{"Referer": referer})
		require.Equal(t, want, w.Code, referer)
	}
}

func TestNewHandler_leavesAnyPagesRoutesToTheirOwnCheck(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "POST /token", Func: text("token"), Origins: httpapi.AnyPages},
		{Pattern: "OPTIONS /token", Func: text("its own"), Origins: httpapi.AnyPages},
	}, &httpapi.Options{Hosts: []string{"https://app.example.org"}})
	for _, header := range []map[string]string{
		{"Origin": "https://app.example.org"}, {"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST"},
	} {
		method := "POST"
		if len(header) > 1 {
			method = "OPTIONS"
		}
		w := over(h, "192.0.2.1:80", method, "http://127.0.0.1/token", header)
		require.Equal(t, 200, w.Code)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), method)
	}
}

func TestNewHandler_trustedOriginsReadErrorsToo(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{
		{Pattern: "GET /secret", Func: text("secret")},
		{Pattern: "OPTIONS /secret", Func: text("what there is")},
		{Pattern: "GET /panic", Func: func(http.ResponseWriter, *http.Request) error { panic("oops") }, Role: httpapi.Public},
	}, &httpapi.Options{Hosts: []string{"https://app.example.org"}, Authorize: httpapitest.Authorize})
	send := func(method, path string, header map[string]string) *httptest.ResponseRecorder {
		header["Origin"] = "https://app.example.org"
		return over(h, "127.0.0.1:80", method, "http://localhost"+path, header)
	}
	for request, want := range map[string]int{
		"GET /secret": 401, "GET /none": 404, "PUT /secret": 405, "GET /panic": 500, "OPTIONS /secret": 401,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := send(method, path, map[string]string{})
		require.Equal(t, want, w.Code, request)
		require.Equal(t, "https://app.example.org", w.Header().Get("Access-Control-Allow-Origin"), request)
	}
	preflight := send("OPTIONS", "/secret", map[string]string{"Access-Control-Request-Method": "GET"})
	require.Equal(t, 204, preflight.Code, "a browser sends no credentials with it")
	require.Empty(t, preflight.Body.String())
	w := over(h, "127.0.0.1:80", "GET", "http://evil.example/secret", map[string]string{"Origin": "https://app.example.org"})
	require.Equal(t, 421, w.Code)
	require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
}

func TestNewHandler_withoutTrustedOrigins_saysNothingOfOrigins(t *testing.T) {
	for _, hosts := range [][]string{nil, {"app.example.org"}} {
		w := over(guarded(hosts...), "192.0.2.1:80", "GET", "http://127.0.0.1/healthz", map[string]string{"Origin": "https://app.example.org"})
		require.Equal(t, 200, w.Code)
		require.Empty(t, w.Header().Values("Vary"))
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
}

func TestParseHost(t *testing.T) {
	for value, want := range map[string][2]string{
		"models.example.org":           {"models.example.org", ""},
		" Models.Example.org. ":        {"models.example.org", ""},
		"https://app.example.org":      {"app.example.org", "https://app.example.org"},
		"http://APP.example.org:8080/": {"app.example.org", "http://app.example.org:8080"},
		"https://app.example.org:443":  {"app.example.org", "https://app.example.org"},
		"http://app.example.org:80":    {"app.example.org", "http://app.example.org"},
		"http://app.example.org:443":   {"app.example.org", "http://app.example.org:443"},
		"http://[2001:db8::1]:80":      {"2001:db8::1", "http://[2001:db8::1]"},
	} {
		host, origin, err := httpapi.ParseHost(value)
		require.NoError(t, err, value)
		require.Equal(t, want, [2]string{host, origin}, value)
	}
	for _, wrong := range []string{
		"", "a:80", "a/b", "*.example.org", "*", "a b", "https://", "ftp://a", "https://a/b", "https://u@a", "https://a?b",
	} {
		_, _, err := httpapi.ParseHost(wrong)
		require.Error(t, err, wrong)
	}
}

func TestNewHandler_refusesInTheFormOfItsErrors(t *testing.T) {
	h := httpapi.NewHandler([]httpapi.Route{{Pattern: "POST /x", Func: text("x")}}, &httpapi.Options{
		WriteError: func(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
			httpapi.WriteText(w, e.Status, "in my words: "+e.Text())
		},
	})
	w := over(h, "127.0.0.1:80", "POST", "http://evil.example/x", nil)
	require.Equal(t, 421, w.Code)
	require.Contains(t, w.Body.String(), "in my words: ")
	w = over(h, "127.0.0.1:80", "POST", "http://127.0.0.1/x", map[string]string{"Origin": "https://evil.example"})
	require.Equal(t, 403, w.Code)
	require.Contains(t, w.Body.String(), "in my words: ")
}
