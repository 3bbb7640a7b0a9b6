package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// logged decodes the lines of an access log.
func logged(t *testing.T, lines *logBuffer) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(lines.String()) {
		var one map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &one), line)
		all = append(all, one)
	}
	return all
}

// closedPort is an address of this machine that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// failing are calls that fail, by what the line says of them.
func failing(t *testing.T) []struct {
	reason  gateway.Reason
	status  int
	service string // its address; empty means a service that answers
	plugin  entity.Plugin
	route   entity.Route
	path    string
} {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(secure.Close)
	silent := rawService(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	echo := rawService(t, func(c net.Conn) { // as a server of another protocol does
		request, _ := http.ReadRequest(bufio.NewReader(c))
		_, _ = fmt.Fprintf(c, "-ERR unknown command 'GET' with args %q\r\n", request.RequestURI)
	})
	hangUp := rawService(t, func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) })
	short := rawService(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
	})
	broken := newService(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	with := func(name, config string) entity.Plugin {
		return entity.Plugin{Name: name, Config: json.RawMessage(config)}
	}
	return []struct {
		reason  gateway.Reason
		status  int
		service string
		plugin  entity.Plugin
		route   entity.Route
		path    string
	}{
		{reason: gateway.ReasonNoRoute, status: 404, path: "/nowhere"},
		{reason: gateway.ReasonBadRequest, status: 400, path: "/a/%2e%2e%5c.."},
		{reason: gateway.ReasonPlugin, status: 401, plugin: with("key-auth", `{}`)},
		{reason: gateway.ReasonPlugin, status: 503, plugin: with("request-termination", `{}`)},
		{reason: gateway.ReasonProtocol, status: 426, route: entity.Route{Protocols: []string{"https"}}},
		{reason: gateway.ReasonRefused, status: 502, service: "http://" + closedPort(t)},
		{reason: gateway.ReasonDNS, status: 503, service: "http://no-such-host.invalid"},
		{reason: gateway.ReasonTLS, status: 502, service: secure.URL},
		{reason: gateway.ReasonInvalid, status: 502, service: "https://" + strings.TrimPrefix(hangUp, "http://")},
		{reason: gateway.ReasonForbidden, status: 502, service: "http://192.0.2.1"},
		{reason: gateway.ReasonTimeout, status: 504, service: silent},
		{reason: gateway.ReasonInvalid, status: 502, service: echo},
		{reason: gateway.ReasonInvalid, status: 502, service: hangUp},
		{reason: gateway.ReasonIncomplete, status: 200, service: short},
		{reason: gateway.ReasonService, status: 500, service: broken.URL},
		{reason: gateway.ReasonNoTarget, status: 503, service: "http://pool"},
	}
}

func TestGateway_Failures_haveAReason(t *testing.T) {
	fine := newService(t, func(http.ResponseWriter, *http.Request) {})
	for _, c := range failing(t) {
		t.Run(fmt.Sprint(c.reason, c.service, c.plugin.Name), func(t *testing.T) {
			var lines logBuffer
			g, server := newGateway(t, gateway.Options{AccessLog: slog.New(slog.NewJSONHandler(&lines, nil))})
			if c.service == "" {
				c.service = fine.URL
			}
			service, zero := serviceAt(t, "things", c.service), 0
			service.Retries, service.ReadTimeout = &zero, 500
			route := c.route
			route.Paths = []string{"/a"}
			config := routed(service, route)
			if c.plugin.Name != "" {
				config.Plugins = []entity.Plugin{c.plugin}
			}
			if strings.HasSuffix(c.service, "pool") {
				config.Upstreams = []entity.Upstream{{Name: "pool"}}
			}
			require.NoError(t, g.Apply(config))
			if c.path == "" {
				c.path = "/a/x"
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+c.path+"?apikey=secret-query", nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer secret-token")
			request.Header.Set("Cookie", "sid=secret-cookie")
			response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, response.Body) // broken off in one case
			require.NoError(t, response.Body.Close())
			server.Close() // waits until the request is logged

			all, kept := logged(t, &lines), g.Failures()
			require.Len(t, all, 1)
			require.Len(t, kept, 1)
			line, failure := all[0], kept[0]
			require.Equal(t, "WARN", line["level"])
			require.Equal(t, string(c.reason), line["reason"])
			require.EqualValues(t, c.status, line["status"])
			require.Equal(t, response.Header.Get("X-Kong-Request-Id"), line["id"])
			require.Equal(t, c.reason, failure.Reason)
			require.Equal(t, line["id"], failure.ID)
			if c.reason != gateway.ReasonNoRoute && c.reason != gateway.ReasonBadRequest {
				require.Equal(t, "things", line["service"])
				require.Equal(t, "route", line["route"])
				require.Equal(t, "things", failure.Service)
			}
			if c.reason == gateway.ReasonPlugin {
				require.Equal(t, c.plugin.Name, line["plugin"])
			}
			require.NotContains(t, lines.String(), "secret")
			require.NotContains(t, fmt.Sprint(failure), "secret")
		})
	}
}

func TestGateway_Failures_namesTheConsumer(t *testing.T) {
	var lines logBuffer
	g, server := newGateway(t, gateway.Options{AccessLog: slog.New(slog.NewJSONHandler(&lines, nil))})
	config := routed(serviceAt(t, "s", "http://"+closedPort(t)), anyPath(), entity.Plugin{Name: "key-auth"})
	config.Consumers = []entity.Consumer{{Username: "press-7"}}
	config.Keys = []entity.Key{{Key: "secret-key", Consumer: &entity.Ref{Name: "press-7"}}}
	require.NoError(t, g.Apply(config))
	do(t, http.MethodGet, server.URL+"/?apikey=secret-key", "")
	server.Close()
	require.Equal(t, "press-7", logged(t, &lines)[0]["consumer"])
	require.Equal(t, "press-7", g.Failures()[0].Consumer)
	require.NotContains(t, lines.String(), "secret-key")
}

func TestGateway_Failures_areBounded(t *testing.T) {
	var lines logBuffer
	g, err := gateway.New(&gateway.Options{AccessLog: slog.New(slog.NewJSONHandler(&lines, nil)),
		AllowUpstreams: []netip.Prefix{}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	for i := range 500 {
		r := httptest.NewRequest("SECRET", fmt.Sprintf("/%d/%s", i, strings.Repeat("x", 10_000)), nil)
		g.ServeHTTP(httptest.NewRecorder(), r)
	}
	kept := g.Failures()
	require.Len(t, kept, 200)
	require.True(t, strings.HasPrefix(kept[0].Path, "/499/"), "the latest comes first")
	require.True(t, strings.HasPrefix(kept[199].Path, "/300/"))
	require.Less(t, len(kept[0].Path), 600)
	require.NotContains(t, lines.String(), "SECRET", "a method of any text is not logged")
	for line := range strings.Lines(lines.String()) {
		require.Less(t, len(line), 1500)
	}
}

func TestGateway_Failures_haveNoneOfWhatIsFine(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	var lines logBuffer
	g, server := newGateway(t, gateway.Options{
		AccessLog: slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	do(t, http.MethodGet, server.URL, "")
	server.Close()
	require.Empty(t, lines.String())
	require.Empty(t, g.Failures())
}

func TestGateway_Failures_haveThePanicOfAPlugin(t *testing.T) {
	kind := gateway.Kind{Name: "broken", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(*gateway.Exchange) *gateway.Answer { panic(http.ErrAbortHandler) }}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"), anyPath(), entity.Plugin{Name: "broken"})))
	_, err := http.Get(server.URL)
	require.Error(t, err)
	server.Close()
	require.Equal(t, gateway.ReasonPanic, g.Failures()[0].Reason)
}
