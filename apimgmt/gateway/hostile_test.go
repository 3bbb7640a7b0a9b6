package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// sensitive is a pool with one target that the first failure makes unhealthy.
func sensitive(t testing.TB, address string) entity.Config {
	t.Helper()
	s := serviceAt(t, "s", "http://pool")
	config := routed(s, anyPath())
	config.Upstreams = []entity.Upstream{{Name: "pool", Healthchecks: &entity.Healthchecks{Passive: entity.PassiveCheck{
		Unhealthy: entity.Verdict{TCPFailures: 1, Timeouts: 1},
	}}}}
	config.Targets = []entity.Target{{Target: strings.TrimPrefix(address, "http://"), Upstream: &entity.Ref{Name: "pool"}}}
	return config
}

// raw sends a text to a server and returns the status lines of what comes back.
func raw(t testing.TB, server *httptest.Server, text string, end bool) string {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, text)
	require.NoError(t, err)
	if end {
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
	}
	line, _ := bufio.NewReader(connection).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestGateway_keepsATargetHealthyWhenClientsFail(t *testing.T) {
	for _, c := range []struct {
		name, request string
		end           bool
		status        string
	}{
		{"a body that breaks off", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf", true, ""},
		{"a chunk without a length", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n3\r\nabc\r\nnonsense\r\n", false, "HTTP/1.1 400 Bad Request"},
		{"a body that is too long", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" +
			strings.Repeat("x", 64) + "\r\n0\r\n\r\n", false, "HTTP/1.1 413 Request Entity Too Large"},
		{"a body that does not go on", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf", false, "HTTP/1.1 408 Request Timeout"},
	} {
		service := newService(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		g, server := newGateway(t, gateway.Options{MaxBody: 32})
		if strings.Contains(c.status, "408") || c.status == "" {
			g, server = newGateway(t, gateway.Options{})
		}
		config := sensitive(t, service.URL)
		if strings.Contains(c.status, "408") {
			config.Services[0].ReadTimeout = 1000 // which passes
		}
		require.NoError(t, g.Apply(config))
		line := raw(t, server, c.request, c.end)
		if c.status != "" {
			require.Equal(t, c.status, line, c.name)
		}
		require.Eventually(t, func() bool {
			health, err := g.Health("pool")
			return err == nil && health[0].Open == 0
		}, patience, time.Millisecond)
		health, err := g.Health("pool")
		require.NoError(t, err)
		require.True(t, health[0].Healthy, c.name)
	}
}

func TestGateway_survivesABodyThatPanics(t *testing.T) {
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	kind := gateway.Kind{Name: "broken", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer {
			if x.Request().Header.Get("X-Break") != "" {
				x.Upstream().Body = panicking{}
			}
			return nil
		}}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath(), entity.Plugin{Name: "broken"})))
	response, _ := do(t, http.MethodPost, server.URL, "body", "X-Break: 1")
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	response, _ = do(t, http.MethodPost, server.URL, "body")
	require.Equal(t, http.StatusOK, response.StatusCode)
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a mistake") }

func TestGateway_releasesTheTargetWhenAPluginPanics(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	kind := gateway.Kind{Name: "broken", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Head: func(*gateway.Exchange) { panic(http.ErrAbortHandler) }}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	config := sensitive(t, service.URL)
	config.Plugins = []entity.Plugin{{Name: "broken"}}
	require.NoError(t, g.Apply(config))
	_, err := http.Get(server.URL)
	require.Error(t, err)
	health, err := g.Health("pool")
	require.NoError(t, err)
	require.Zero(t, health[0].Open)
}

func TestGateway_runsPluginsOfTheProtocolOnly(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{marker("m", 5)}, TrustedProxies: loopback()})
	for _, protocols := range [][]string{nil, {"http", "https"}} {
		route := entity.Route{Paths: []string{"/"}, Protocols: protocols}
		require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), route,
			entity.Plugin{Name: "m", Config: text("secure"), Protocols: []string{"https"}, Route: &entity.Ref{Name: "route"}},
			entity.Plugin{Name: "m", Config: text("plain"), Protocols: []string{"http"}})))
		response, _ := do(t, http.MethodGet, server.URL, "", "X-Forwarded-Proto: https")
		require.Equal(t, "m=secure", response.Header.Get("X-Marks"))
		response, _ = do(t, http.MethodGet, server.URL, "")
		require.Equal(t, "m=plain", response.Header.Get("X-Marks"))
	}
}

func TestGateway_switchesProtocolsForWebSocketsOnly(t *testing.T) {
	got := make(chan *http.Request, 1)
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got <- r })
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	for _, c := range []struct{ head, upgrade string }{
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: " +
			"AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: TLS/1.0, websocket\r\n\r\n", ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n", ""},
		{"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nab", ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n", "WebSocket"},
	} {
		require.Equal(t, "HTTP/1.1 200 OK", raw(t, server, c.head, false))
		r := <-got
		require.Equal(t, c.upgrade, r.Header.Get("Upgrade"), c.head)
		require.Empty(t, r.Header.Get("Http2-Settings"))
	}
}

func TestGateway_detectsALoop(t *testing.T) {
	var passed atomic.Int64
	kind := gateway.Kind{Name: "count", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(*gateway.Exchange) *gateway.Answer { passed.Add(1); return nil }}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	s := serviceAt(t, "s", server.URL)
	s.ReadTimeout = 30_000
	require.NoError(t, g.Apply(routed(s, anyPath(), entity.Plugin{Name: "count"})))
	response, _ := do(t, http.MethodGet, server.URL, "")
	require.Equal(t, http.StatusLoopDetected, response.StatusCode)
	require.Less(t, passed.Load(), int64(20))
}

func TestGateway_refusesInvalidHosts(t *testing.T) {
	service := newService(t, func(http.ResponseWriter, *http.Request) {})
	g, _ := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), entity.Route{Hosts: []string{"*.example.com"}, PreserveHost: true})))
	for host, status := range map[string]int{
		"a.example.com": http.StatusOK, "a.example.com:8080": http.StatusOK, "A.Example.COM.": http.StatusOK,
		"evil.org/.example.com": http.StatusBadRequest, "evil@a.example.com": http.StatusBadRequest,
		"evil.org#.example.com": http.StatusBadRequest, `evil.org\.example.com`: http.StatusBadRequest,
		"a b.example.com": http.StatusBadRequest, strings.Repeat("a.", 200_000) + "example.com": http.StatusBadRequest,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		answer := httptest.NewRecorder()
		g.ServeHTTP(answer, r)
		require.Equal(t, status, answer.Code, "%.40s", host)
	}
}

func TestGateway_dropsALengthBesideChunks(t *testing.T) {
	for _, head := range []string{"Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 200"} {
		service := rawService(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		})
		g, server := newGateway(t, gateway.Options{})
		require.NoError(t, g.Apply(routed(serviceAt(t, "s", service), anyPath())))
		response, body := do(t, http.MethodGet, server.URL, "")
		require.Equal(t, "hello", body)
		require.Equal(t, []string{"chunked"}, response.TransferEncoding)
	}
}

func TestGateway_removesLookalikesOfItsOwnFields(t *testing.T) {
	var got http.Header
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	do(t, http.MethodGet, server.URL, "", "X_Real_IP: 10.0.0.1", "X_Forwarded_For: 10.0.0.1", "X-Forwarded_Proto: https",
		"x.forwarded.host: evil", "X_Kong_Request_Id: 1", "X_My_Own: 1")
	for name := range got {
		require.NotContains(t, strings.ToLower(strings.NewReplacer("-", "", ".", "").Replace(name)), "_forwarded")
		require.NotContains(t, name, "X_Real")
		require.NotContains(t, name, "X_Kong")
	}
	require.NotContains(t, got, "X.forwarded.host")
	require.Equal(t, "1", got.Get("X_my_own"))
	require.Equal(t, "127.0.0.1", got.Get("X-Real-Ip"))
}

func TestGateway_Check_keepsTheMetrics(t *testing.T) {
	g, server := newGateway(t, gateway.Options{MaxMeasuredRoutes: 2})
	config := routed(serviceAt(t, "s", "http://127.0.0.1:1"), anyPath())
	config.Routes[0].ID = "7fca84d6-7d37-4a74-a7b0-93e576089a41"
	require.NoError(t, g.Apply(config))
	do(t, http.MethodGet, server.URL, "")
	before := len(g.Traffic())
	for i := range 10 {
		other := config.Clone()
		other.Routes[0].Name = fmt.Sprint("other", i)
		other.Routes[0].ID = ""
		require.NoError(t, g.Check(other))
		other.Routes[0].ID = config.Routes[0].ID
		require.NoError(t, g.Check(other))
	}
	require.Len(t, g.Traffic(), before)
	do(t, http.MethodGet, server.URL, "")
	for _, route := range g.Traffic() {
		if route.Route == "route" {
			require.EqualValues(t, 2, route.Requests)
			return
		}
	}
	require.Fail(t, "the route has lost its account")
}

func TestGateway_Check_refusesComplexExpressions(t *testing.T) {
	g, _ := newGateway(t, gateway.Options{})
	huge := "~/" + strings.Repeat("(.{0,500}){2}", 100)
	for field, route := range map[string]entity.Route{
		"paths": {Paths: []string{huge}}, "headers": {Paths: []string{"/"}, Headers: map[string][]string{"X-A": {"~*" + huge[1:]}}},
	} {
		err := g.Check(routed(serviceAt(t, "s", "http://127.0.0.1:1"), route))
		require.ErrorContains(t, err, field)
		require.ErrorContains(t, err, "too complex")
	}
}

func TestGateway_ServeHTTP_answersPutsWhenAServiceHangsUp(t *testing.T) {
	const whole = "0123456789"
	service := rawService(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			if n > 0 && n%2 == 0 { // hang up on a request that has begun
				_, _ = r.ReadByte()
				return
			}
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			data, err := io.ReadAll(request.Body)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(data), data)
		}
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service), anyPath())))
	answered := 0
	for range 100 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL,
			io.MultiReader(strings.NewReader(whole[:5]), strings.NewReader(whole[5:])))
		require.NoError(t, err)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		require.NoError(t, err)
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		if response.StatusCode == http.StatusOK {
			require.Equal(t, whole, string(data))
			answered++
		}
	}
	require.Positive(t, answered)
}

// postInTwo sends a body in two pieces, and returns status and body of the answer.
func postInTwo(t *testing.T, server *httptest.Server, size int) (string, error) {
	t.Helper()
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", size/2)), strings.NewReader(strings.Repeat("x", size-size/2)))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	require.NoError(t, err)
	if size != 64<<10 { // that one has no length
		request.ContentLength = int64(size)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(data)), err
}

func TestGateway_ServeHTTP_readsTheRestOfABodyAfterAnEarlyAnswer(t *testing.T) {
	answers := map[string]string{
		"with a length":    "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nearly",
		"without a length": "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n",
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			service := rawService(t, func(c net.Conn) {
				r := bufio.NewReader(c)
				for {
					request, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					if _, err := io.WriteString(c, answer); err != nil {
						return
					}
					if _, err := io.Copy(io.Discard, request.Body); err != nil {
						return
					}
				}
			})
			g, err := gateway.New(&gateway.Options{AllowUpstreams: loopback()})
			require.NoError(t, err)
			t.Cleanup(func() { _ = g.Close() })
			require.NoError(t, g.Apply(routed(serviceAt(t, "s", service), anyPath())))
			var complaints logBuffer
			server := httptest.NewUnstartedServer(g)
			server.Config.ErrorLog = log.New(&complaints, "", 0)
			server.Start()
			t.Cleanup(server.Close)
			cut, before := 0, time.Now()         // when the request before began
			for answered := 0; answered < 900; { // more than one of them on a connection
				size := []int{1, 64 << 10, 300 << 10}[answered%3]
				began := time.Now()
				text, err := postInTwo(t, server, size)
				if err == nil {
					require.Equal(t, "403 early", text)
					answered++
				} else { // the gateway reads the rest for a second: it cuts connections of a machine that stops for longer
					cut++
					require.Greater(t, time.Since(before), time.Second, "%d bytes: %v", size, err)
					require.Less(t, cut, 50, "%d answers", answered)
				}
				before = began
			}
			require.Empty(t, complaints.String(), "the server has panicked")
		})
	}
}
