package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
)

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = 30 * time.Second

func ExampleNew() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "the service got %s", r.URL.Path)
	}))
	defer service.Close()

	g, err := gateway.New(&gateway.Options{AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = g.Close() }()
	things := entity.Service{Name: "things", Path: "/v2"}
	if err := things.SetURL(service.URL); err != nil {
		fmt.Println(err)
		return
	}
	err = g.Apply(entity.Config{
		Services: []entity.Service{things},
		Routes:   []entity.Route{{Name: "things", Paths: []string{"/api"}, Service: &entity.Ref{Name: "things"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/api/lamps", "/other"} {
		answer := httptest.NewRecorder()
		g.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(answer.Code, answer.Body)
	}
	// Output:
	// 200 the service got /lamps
	// 404 {"message":"no Route matched with those values"}
}

// loopback allows services on this machine.
func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// newGateway returns a gateway with the built-in plugins and those given, and a
// server in front of it.
func newGateway(t testing.TB, options gateway.Options) (*gateway.Gateway, *httptest.Server) {
	t.Helper()
	if options.AllowUpstreams == nil {
		options.AllowUpstreams = loopback()
	}
	options.Kinds = append(options.Kinds, plugin.Kinds()...)
	g, err := gateway.New(&options)
	require.NoError(t, err)
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, g.Close())
	})
	return g, server
}

// serviceAt is a service of a name at an address.
func serviceAt(t testing.TB, name, address string) entity.Service {
	t.Helper()
	s := entity.Service{Name: name}
	require.NoError(t, s.SetURL(address))
	return s
}

// routed is a configuration with one service behind one route.
func routed(service entity.Service, route entity.Route, plugins ...entity.Plugin) entity.Config {
	route.Name, route.Service = "route", &entity.Ref{Name: service.Name}
	return entity.Config{Services: []entity.Service{service}, Routes: []entity.Route{route}, Plugins: plugins}
}

// newService returns a server that answers as told.
func newService(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// do sends a request and returns the answer with its body. Header fields are
// given as "Name: value".
func do(t testing.TB, method, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			request.Host = value
		}
		request.Header.Add(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(data)
}

func TestGateway_forwardsRequestsAsKong(t *testing.T) {
	var got *http.Request
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Keep-Alive", "timeout=1")
		w.Header().Set("X-Answer", "1")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL+"/base"), entity.Route{Paths: []string{"/api"}})))

	response, body := do(t, http.MethodGet, server.URL+"/api//x/%2e%2e/y%2Fz?q=%20;a=1", "",
		"Connection: X-Drop, keep-alive", "X-Drop: 1", "X-Keep: 2", "X-Forwarded-For: 9.9.9.9", "X-Forwarded-Proto: https",
		"TE: trailers", "Proxy: evil")
	require.Equal(t, http.StatusTeapot, response.StatusCode)
	require.Equal(t, "short and stout", body)
	require.Equal(t, "1", response.Header.Get("X-Answer"))
	require.Empty(t, response.Header.Get("Keep-Alive"))
	require.Equal(t, "1.1 enablers", response.Header.Get("Via"))
	require.Contains(t, response.Header, "X-Kong-Upstream-Latency")
	require.Contains(t, response.Header, "X-Kong-Proxy-Latency")

	require.Equal(t, "/base/y%2Fz?q=%20;a=1", got.RequestURI)
	require.Equal(t, strings.TrimPrefix(service.URL, "http://"), got.Host)
	gatewayURL, err := url.Parse(server.URL)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"X-Drop": "", "X-Keep": "2", "X-Forwarded-For": "9.9.9.9, 127.0.0.1", "X-Real-Ip": "127.0.0.1", "X-Forwarded-Proto": "http",
		"X-Forwarded-Host": gatewayURL.Hostname(), "X-Forwarded-Port": gatewayURL.Port(), "X-Forwarded-Path": "/api//x/%2e%2e/y%2Fz",
		"X-Forwarded-Prefix": "/api", "Via": "1.1 enablers", "Te": "trailers", "Proxy": "", "User-Agent": "Go-http-client/1.1",
		"X-Kong-Request-Id": response.Header.Get("X-Kong-Request-Id"),
	} {
		require.Equal(t, want, got.Header.Get(name), name)
	}
}

func TestGateway_joinsPathsOfServiceAndRequest(t *testing.T) {
	var got string
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path })
	g, server := newGateway(t, gateway.Options{})
	for _, c := range []struct {
		base, route   string
		strip         bool
		handling      string
		request, want string
	}{
		{"", "/a", true, "v0", "/a", "/"}, {"", "/a", true, "v0", "/a/", "/"}, {"", "/a", true, "v0", "/a/b", "/b"},
		{"", "/a", true, "v0", "/ab", "/b"},
		{"/s", "/a", true, "v0", "/a", "/s"}, {"/s", "/a", true, "v0", "/a/", "/s/"},
		{"/s", "/a", true, "v0", "/ab", "/s/b"}, {"/s", "/a", true, "v1", "/ab", "/sb"},
		{"/s/", "/a", true, "v0", "/a", "/s"}, {"/s/", "/a", true, "v0", "/a/b", "/s/b"}, {"/s/", "/a", true, "v1", "/a/b", "/s/b"},
		{"/s", "/a", false, "v0", "/a/b", "/s/a/b"}, {"/s", "/", false, "v0", "/", "/s"},
		{"/s", "/", true, "v0", "/x", "/s/x"}, {"/s/", "/", false, "v0", "/", "/s/"},
		{"", "~/a/(?<x>[^#?/]+)$", false, "v0", "/a/1", "/a/1"}, {"/s", "~/a/(?<x>[^#?/]+)", true, "v0", "/a/1/z", "/s/z"},
	} {
		s := serviceAt(t, "s", service.URL)
		s.Path = c.base
		require.NoError(t, g.Apply(routed(s, entity.Route{Paths: []string{c.route}, StripPath: &c.strip, PathHandling: c.handling})))
		response, _ := do(t, http.MethodGet, server.URL+c.request, "")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, c.want, got, "%+v", c)
	}
}

func TestGateway_preservesTheHostOfTheClient(t *testing.T) {
	var got string
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Host })
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), entity.Route{Hosts: []string{"api.example"}, PreserveHost: true})))
	do(t, http.MethodGet, server.URL, "", "Host: API.example:99")
	require.Equal(t, "API.example:99", got)
}

func TestGateway_redirectsToHTTPS(t *testing.T) {
	g, server := newGateway(t, gateway.Options{})
	route := entity.Route{Paths: []string{"/"}, Protocols: []string{"https"}}
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"), route)))
	response, body := do(t, http.MethodGet, server.URL+"/a?b=1", "")
	require.Equal(t, http.StatusUpgradeRequired, response.StatusCode)
	require.JSONEq(t, `{"message":"Please use HTTPS protocol"}`, body)

	route.HTTPSRedirectStatusCode = http.StatusPermanentRedirect
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"), route)))
	response, _ = do(t, http.MethodGet, server.URL+"/a?b=1", "", "Host: api.example")
	require.Equal(t, http.StatusPermanentRedirect, response.StatusCode)
	require.Equal(t, "https://api.example/a?b=1", response.Header.Get("Location"))
}

func TestGateway_Apply_refusesAnInvalidConfiguration(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, server := newGateway(t, gateway.Options{})
	good := routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/good"}})
	require.NoError(t, g.Apply(good))
	for want, bad := range map[string]entity.Config{
		`config.status_code: is a string`: routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/bad"}},
			entity.Plugin{Name: "request-termination", Config: []byte(`{"status_code":"x"}`)}),
		`config.stauts_code: unknown field`: routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/bad"}},
			entity.Plugin{Name: "request-termination", Config: []byte(`{"stauts_code":1}`)}),
		`plugin "magic": name`: routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/bad"}}, entity.Plugin{Name: "magic"}),
		`route`:                {Routes: []entity.Route{{Name: "x", Paths: []string{"~/a(?=b)"}}}},
	} {
		require.ErrorContains(t, g.Apply(bad), want)
		require.ErrorContains(t, g.Check(bad), want)
		response, _ := do(t, http.MethodGet, server.URL+"/good", "")
		require.Equal(t, http.StatusOK, response.StatusCode)
		response, _ = do(t, http.MethodGet, server.URL+"/bad", "")
		require.Equal(t, http.StatusNotFound, response.StatusCode)
	}
	_, revision := g.Config()
	require.EqualValues(t, 1, revision)
}

func TestGateway_Replace_losesNoUpdate(t *testing.T) {
	g, _ := newGateway(t, gateway.Options{})
	_, revision := g.Config()
	next, err := g.Replace(entity.Config{}, revision)
	require.NoError(t, err)
	served, err := g.Replace(entity.Config{}, revision)
	require.ErrorIs(t, err, gateway.ErrRevision)
	require.Equal(t, next, served)

	failure := errors.New("no")
	require.ErrorIs(t, g.Update(func(entity.Config) (entity.Config, error) { return entity.Config{}, failure }), failure)
	_, revision = g.Config()
	require.Equal(t, next, revision)
}

func TestGateway_Update_appliesEveryConcurrentUpdate(t *testing.T) {
	g, _ := newGateway(t, gateway.Options{})
	done := make(chan error)
	for i := range 20 {
		go func() {
			done <- g.Update(func(c entity.Config) (entity.Config, error) {
				c.Consumers = append(c.Consumers, entity.Consumer{Username: fmt.Sprint(i)})
				return c, nil
			})
		}()
	}
	for range 20 {
		require.NoError(t, <-done)
	}
	config, revision := g.Config()
	require.Len(t, config.Consumers, 20)
	require.EqualValues(t, 20, revision)
}
