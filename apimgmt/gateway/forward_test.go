package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// Addresses that refuse connections: ports that no program gets by chance.
const (
	closedAddress  = "127.0.0.1:1"
	closedAddress2 = "127.0.0.1:2"
)

// rawService answers every connection with what answer does.
func rawService(t testing.TB, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
				defer func() { _ = connection.Close() }()
				answer(connection)
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		stop()
		all.Wait()
	})
	return "http://" + listener.Addr().String()
}

func anyPath() entity.Route { return entity.Route{Paths: []string{"/"}} }

func TestGateway_answersFailuresOfServicesAsKong(t *testing.T) {
	silent := rawService(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	nonsense := rawService(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c)) // a connection closed before that would be reset
		_, _ = io.WriteString(c, "what?\r\n\r\n")
	})
	for _, c := range []struct {
		service       string
		status        int
		body          string
		allow         []netip.Prefix
		upstream      bool
		timeoutMillis int
	}{
		{"http://" + closedAddress, http.StatusBadGateway, "An invalid response was received from the upstream server", nil, false, 0},
		{nonsense, http.StatusBadGateway, "An invalid response was received from the upstream server", nil, false, 0},
		{silent, http.StatusGatewayTimeout, "The upstream server is timing out", nil, false, 50},
		{"http://127.0.0.1:1", http.StatusBadGateway, "An invalid response was received from the upstream server", []netip.Prefix{}, false, 0},
		{"http://localhost:1", http.StatusBadGateway, "An invalid response was received from the upstream server", []netip.Prefix{}, false, 0},
		{"http://pool", http.StatusServiceUnavailable, "failure to get a peer from the ring-balancer", nil, true, 0},
	} {
		g, server := newGateway(t, gateway.Options{AllowUpstreams: c.allow})
		s := serviceAt(t, "s", c.service)
		s.ReadTimeout = c.timeoutMillis
		config := routed(s, anyPath())
		if c.upstream {
			config.Upstreams = []entity.Upstream{{Name: "pool"}}
		}
		require.NoError(t, g.Apply(config))
		response, body := do(t, http.MethodGet, server.URL, "")
		require.Equal(t, c.status, response.StatusCode, c.service)
		require.JSONEq(t, fmt.Sprintf(`{"message":%q}`, c.body), body, c.service)
		require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"))
	}
}

func TestGateway_relaysEarlyAnswersToSmallPosts(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, _ *http.Request) { // never reads the body
		w.WriteHeader(http.StatusUnauthorized)
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var lost, cut atomic.Int64
	for range 8 {
		all.Go(func() {
			began := time.Now()
			for range 750 {
				before := began
				began = time.Now()
				response, err := client.Post(server.URL, "text/plain", strings.NewReader(strings.Repeat("x", 1000)))
				switch {
				case err != nil && time.Since(before) > time.Second: // a pause of the machine: see drain
					cut.Add(1)
				case err != nil || response.StatusCode != http.StatusUnauthorized:
					lost.Add(1)
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			}
		})
	}
	all.Wait()
	require.Zero(t, lost.Load())
	require.Less(t, cut.Load(), int64(50))
}

func TestGateway_streamsBodiesInBothDirections(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, "echo "+line)
			_ = http.NewResponseController(w).Flush()
		}
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, reader)
	require.NoError(t, err)
	go func() { _, _ = io.WriteString(writer, "0\n") }()
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for i := range 5 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("echo %d\n", i), line)
		_, err = fmt.Fprintf(writer, "%d\n", i+1)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
}

func TestGateway_flushesServerSentEvents(t *testing.T) {
	next := make(chan string)
	service := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range next {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
		}
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	go func() { next <- "first" }()
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet, server.URL,
		nil).WithContext(t.Context()))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for _, event := range []string{"first", "second"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "data: "+event+"\n", line)
		_, err = lines.ReadString('\n')
		require.NoError(t, err)
		if event == "first" {
			next <- "second"
		}
	}
	close(next)
}

func TestGateway_relaysWebSockets(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Key") != "k" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = io.WriteString(connection, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+
			"websocket\r\nSec-Websocket-Accept: a\r\n\r\nhello\n")
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(connection, "you said "+line)
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "+
		"websocket\r\nSec-WebSocket-Key: k\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	require.Equal(t, "a", response.Header.Get("Sec-Websocket-Accept"))
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "hello\n", line)
	_, err = io.WriteString(connection, "hi\n")
	require.NoError(t, err)
	rest, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, "you said hi\n", string(rest))
}

func TestGateway_relaysTrailers(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "X-Announced")
		_, _ = w.Write(body)
		w.Header().Set("X-Announced", "1")
		w.Header().Set(http.TrailerPrefix+"X-Surprise", "2")
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	response, body := do(t, http.MethodPost, server.URL, "body")
	require.Equal(t, "body", body)
	require.Equal(t, "1", response.Trailer.Get("X-Announced"))
	require.Equal(t, "2", response.Trailer.Get("X-Surprise"))
}

func TestGateway_relaysGRPCWithTrailers(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP1(true)
	var major int
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		major = r.ProtoMajor
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = w.Write(body)
		w.Header().Set("Grpc-Status", "0")
		w.Header().Set("Grpc-Message", "fine")
	}))
	service.Config.Protocols = protocols
	service.Start()
	defer service.Close()
	g, err := gateway.New(&gateway.Options{AllowUpstreams: loopback()})
	require.NoError(t, err)
	s := serviceAt(t, "s", service.URL)
	s.Protocol = "grpc"
	require.NoError(t, g.Apply(routed(s, entity.Route{Paths: []string{"/"}, Protocols: []string{"grpc", "grpcs"}})))
	front := httptest.NewUnstartedServer(g)
	front.Config.Protocols = protocols
	front.Start()
	defer front.Close()

	only2 := new(http.Protocols)
	only2.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: only2}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/pkg.Service/Method",
		strings.NewReader("\x00\x00\x00\x00\x01m"))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/grpc+proto")
	request.Header.Set("Te", "trailers")
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00\x00\x01m", string(body))
	require.Equal(t, "0", response.Trailer.Get("Grpc-Status"))
	require.Equal(t, "fine", response.Trailer.Get("Grpc-Message"))
	require.Equal(t, 2, major)

	plain, _ := do(t, http.MethodPost, front.URL+"/x", "")
	require.Equal(t, http.StatusUnsupportedMediaType, plain.StatusCode)
	old, _ := do(t, http.MethodPost, front.URL+"/x", "", "Content-Type: application/grpc")
	require.Equal(t, http.StatusUpgradeRequired, old.StatusCode)
	require.NoError(t, g.Close())
}

func TestGateway_cancelsTheRequestOfAClientThatDisconnects(t *testing.T) {
	arrived, ended := make(chan struct{}), make(chan struct{})
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(ended)
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	_, err = (&http.Transport{}).RoundTrip(request)
	require.ErrorIs(t, err, context.Canceled)
	<-ended
}

func TestGateway_abortsABrokenResponse(t *testing.T) {
	broken := rawService(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c)) // a connection closed before that would be reset
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", broken), anyPath())))
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(httptest.NewRequest(http.MethodGet, server.URL,
		nil).WithContext(t.Context()))
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.Equal(t, "hello", string(body))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestGateway_refusesBodiesBeyondTheLimit(t *testing.T) {
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	g, server := newGateway(t, gateway.Options{MaxBody: 10})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	response, _ := do(t, http.MethodPost, server.URL, "0123456789")
	require.Equal(t, http.StatusOK, response.StatusCode)
	response, _ = do(t, http.MethodPost, server.URL, "0123456789A")
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	// chunked
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL,
		io.MultiReader(strings.NewReader("0123456789"), strings.NewReader("A")))
	require.NoError(t, err)
	response, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	require.NoError(t, response.Body.Close())
}

func TestGateway_retriesOnAnotherTarget(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	g, server := newGateway(t, gateway.Options{})
	config := routed(serviceAt(t, "s", "http://pool"), anyPath())
	config.Upstreams = []entity.Upstream{{Name: "pool"}}
	for _, target := range []string{closedAddress, closedAddress2, strings.TrimPrefix(service.URL, "http://")} {
		config.Targets = append(config.Targets, entity.Target{Target: target, Upstream: &entity.Ref{Name: "pool"}})
	}
	require.NoError(t, g.Apply(config))
	for range 6 {
		response, body := do(t, http.MethodPost, server.URL, "not lost")
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "not lost", body)
	}
	none := 0
	config.Services[0].Retries = &none
	require.NoError(t, g.Apply(config))
	failed := 0
	for range 6 {
		if response, _ := do(t, http.MethodGet, server.URL, ""); response.StatusCode == http.StatusBadGateway {
			failed++
		}
	}
	require.Equal(t, 4, failed)
}

func TestGateway_repeatsNoRequestThatMayHaveHadAnEffect(t *testing.T) {
	var posts, gets atomic.Int64
	service := rawService(t, func(c net.Conn) { // takes the request and hangs up
		request, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		if request.Method == http.MethodPost {
			posts.Add(1)
		} else {
			gets.Add(1)
		}
	})
	g, server := newGateway(t, gateway.Options{})
	s := serviceAt(t, "s", service)
	two := 2
	s.Retries = &two
	require.NoError(t, g.Apply(routed(s, anyPath())))
	response, _ := do(t, http.MethodPost, server.URL, "")
	require.Equal(t, http.StatusBadGateway, response.StatusCode)
	require.EqualValues(t, 1, posts.Load())
	response, _ = do(t, http.MethodGet, server.URL, "")
	require.Equal(t, http.StatusBadGateway, response.StatusCode)
	require.EqualValues(t, 3, gets.Load())
}

func TestGateway_forwardsNoSmuggledRequest(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	service := newService(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/open"}})))
	for _, raw := range []string{
		"POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /secret " +
			"HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /open HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
		"POST /open HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"GET /open/../secret HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open/%2e%2e/secret HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open\r\nX: y HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /open HTTP/1.1\r\nHost: a\r\nX-A: b\rX-Real-IP: 1.1.1.1\r\n\r\n",
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(connection, raw)
		require.NoError(t, err)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		_, err = io.ReadAll(connection)
		if !errors.Is(err, net.ErrClosed) {
			require.NoError(t, err, raw)
		}
		require.NoError(t, connection.Close())
	}
	mu.Lock()
	defer mu.Unlock()
	for _, s := range seen {
		require.NotContains(t, s, "secret")
	}
}

func TestGateway_leavesContinueToTheService(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Refuse") != "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(connection)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, err = reader.ReadString('\n')
	require.NoError(t, err)
	_, err = io.WriteString(connection, "body")
	require.NoError(t, err)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "body", string(body))
	require.NoError(t, response.Body.Close())

	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(t, err)
	line, err = reader.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 403 Forbidden\r\n", line, "the body is not asked for")
}
