package h1_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
)

// body is a Body over a reader.
type body struct {
	io.Reader
	touched atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	b.touched.Store(true)
	return b.Reader.Read(p)
}

func (b *body) Touched() bool { return b.touched.Load() }

// service answers each connection it gets with the next of the scripts, and
// counts them.
func service(t *testing.T, scripts ...func(net.Conn, *bufio.Reader)) (transport *h1.Transport, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	var all sync.WaitGroup
	var mu sync.Mutex
	var opened []net.Conn
	transport = &h1.Transport{
		MaxIdle: 4, IdleTimeout: time.Minute, MaxHeader: 4096, Read: time.Minute, Write: time.Minute,
		Dial: func(context.Context, string) (net.Conn, error) {
			n := int(connections.Add(1))
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			defer func() { _ = listener.Close() }()
			client, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				return nil, err
			}
			server, err := listener.Accept()
			if err != nil {
				return nil, err
			}
			mu.Lock()
			opened = append(opened, server)
			mu.Unlock()
			all.Go(func() {
				defer func() { _ = server.Close() }()
				scripts[min(n, len(scripts))-1](server, bufio.NewReader(server))
			})
			return client, nil
		},
	}
	t.Cleanup(func() {
		transport.Close()
		mu.Lock()
		for _, c := range opened {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return transport, connections
}

// answers sends one text for each request that comes.
func answers(texts ...string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		for _, text := range texts {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, request.Body); err != nil {
				return
			}
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

func request(method string) *h1.Request {
	return &h1.Request{Address: "service:80", Method: method, Target: "/", Host: "service"}
}

// get sends a request and returns status, body and error.
func get(t *testing.T, transport *h1.Transport, r *h1.Request) (int, string, error) {
	t.Helper()
	response, err := transport.Do(t.Context(), r)
	if err != nil {
		return 0, "", err
	}
	defer response.Close()
	data, err := io.ReadAll(response)
	return response.Status, string(data), err
}

func TestTransport_Do_reusesConnections(t *testing.T) {
	transport, connections := service(t, answers(
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ncd\r\n0\r\nX-T: 1\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\ne"),
		answers("HTTP/1.0 200 OK\r\n\r\nto the end"))
	for _, want := range []string{"200 ab", "204 ", "200 cd", "304 ", "200 e", "200 to the end"} {
		status, text, err := get(t, transport, request("GET"))
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(status, " ", text))
	}
	require.EqualValues(t, 2, connections.Load())
}

func TestTransport_Do_keepsBodiesAndFields(t *testing.T) {
	var got *http.Request
	var text string
	transport, _ := service(t, func(c net.Conn, r *bufio.Reader) {
		for {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			data, _ := io.ReadAll(request.Body)
			got, text = request, string(data)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for _, length := range []int64{5, -1} {
		r := request("POST")
		r.Header = map[string][]string{"X-A": {"1", "2"}, "Content-Length": {"99"}, "Transfer-Encoding": {"gzip"}, "Connection": {"close"}}
		r.Body, r.Length = &body{Reader: strings.NewReader("12345")}, length
		status, _, err := get(t, transport, r)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Equal(t, "12345", text)
		require.Equal(t, length, got.ContentLength)
		require.Equal(t, []string{"1", "2"}, got.Header["X-A"])
		require.Empty(t, got.Header["Connection"])
	}
}

func TestTransport_Do_replacesAStaleConnection(t *testing.T) {
	closed := make(chan struct{})
	transport, connections := service(t, func(c net.Conn, r *bufio.Reader) {
		answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c, r)
		_ = c.Close()
		close(closed)
	}, answers("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
	_, _, err := get(t, transport, request("GET"))
	require.NoError(t, err)
	<-closed
	r := request("POST")
	r.Body, r.Length = &body{Reader: strings.NewReader("12345")}, 5
	status, _, err := get(t, transport, r)
	require.NoError(t, err, "not even a POST is lost on a connection that is closed already")
	require.Equal(t, 201, status)
	require.EqualValues(t, 2, connections.Load())
}

func TestTransport_Do_repeatsIdempotentRequestsOnly(t *testing.T) {
	hangUp := func(c net.Conn, r *bufio.Reader) {
		answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c, r)
		_, _ = http.ReadRequest(r)
	}
	transport, connections := service(t, hangUp, answers("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"))
	_, _, err := get(t, transport, request("GET"))
	require.NoError(t, err)
	status, _, err := get(t, transport, request("GET"))
	require.NoError(t, err)
	require.Equal(t, 201, status)
	require.EqualValues(t, 2, connections.Load())

	transport, connections = service(t, hangUp)
	_, _, err = get(t, transport, request("GET"))
	require.NoError(t, err)
	_, _, err = get(t, transport, request("POST"))
	require.ErrorIs(t, err, h1.ErrStale)
	require.EqualValues(t, 1, connections.Load())
}

func TestTransport_Do_refusesInvalidResponses(t *testing.T) {
	for _, text := range []string{
		"what?\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-A: 1\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A : 1\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a\x00b\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A: a\rb\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 5000) + "\r\n\r\n", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 9),
	} {
		transport, _ := service(t, answers(text))
		_, _, err := get(t, transport, request("GET"))
		require.ErrorIs(t, err, h1.ErrInvalidResponse, text)
	}
}

func TestResponse_Read_failsWhenTheResponseBreaksOff(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "HTTP/1.1 200 OK\r\nX-A: 1\r\n",
	} {
		transport, _ := service(t, answers(text))
		_, _, err := get(t, transport, request("GET"))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, text)
	}
}

func TestTransport_Do_refusesInvalidRequests(t *testing.T) {
	transport, connections := service(t, answers())
	for _, change := range []func(*h1.Request){
		func(r *h1.Request) { r.Method = "GET /x" }, func(r *h1.Request) { r.Target = "/ HTTP/1.1\r\nX: 1" },
		func(r *h1.Request) { r.Target = "" },
		func(r *h1.Request) { r.Host = "a\r\nX: 1" }, func(r *h1.Request) { r.Header = map[string][]string{"X\r\nY": {"1"}} },
		func(r *h1.Request) { r.Header = map[string][]string{"X": {"1\r\nY: 2"}} },
		func(r *h1.Request) { r.Header = map[string][]string{"": {"1"}} },
	} {
		r := request("GET")
		change(r)
		_, _, err := get(t, transport, r)
		require.ErrorIs(t, err, h1.ErrInvalidRequest)
	}
	require.Zero(t, connections.Load())
}

func TestTransport_Do_abortsAPartialBody(t *testing.T) {
	ended := make(chan error, 1)
	transport, _ := service(t, func(_ net.Conn, r *bufio.Reader) {
		request, err := http.ReadRequest(r)
		if err == nil {
			_, err = io.ReadAll(request.Body)
		}
		ended <- err
	})
	r := request("POST")
	r.Body, r.Length = &body{Reader: io.MultiReader(strings.NewReader("half"), &failing{})}, -1
	_, _, err := get(t, transport, r)
	require.Error(t, err)
	require.Error(t, <-ended)
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("client is gone") }

func TestTransport_Do_endsWithTheReadTimeout(t *testing.T) {
	transport, _ := service(t, func(_ net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) },
		func(c net.Conn, r *bufio.Reader) {
			answers("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na")(c, r)
			_, _ = io.Copy(io.Discard, r)
		})
	transport.Read = 20 * time.Millisecond
	for range 2 {
		_, _, err := get(t, transport, request("GET"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
}

func TestTransport_Do_endsWithTheContext(t *testing.T) {
	arrived := make(chan struct{})
	transport, _ := service(t, func(_ net.Conn, r *bufio.Reader) {
		_, _ = http.ReadRequest(r)
		close(arrived)
		_, _ = io.Copy(io.Discard, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := transport.Do(ctx, request("GET"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestTransport_closesIdleConnections(t *testing.T) {
	ended := make(chan struct{})
	transport, _ := service(t, func(c net.Conn, r *bufio.Reader) {
		answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c, r)
		_, _ = io.Copy(io.Discard, r)
		close(ended)
	})
	transport.IdleTimeout = 10 * time.Millisecond
	_, _, err := get(t, transport, request("GET"))
	require.NoError(t, err)
	<-ended
}

func FuzzResponsesAreReadAsNetHTTPReadsThem(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", "HTTP/1.1 200 OK\nA: b\n\nrest",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nx", "HTTP/1.1 204 \r\n\r\n",
		"HTTP/1.1 200 \nTrAnsfer-EnCoding:Chunked\n\n0\r\n\n", "HTTP/1.0 200 \nTrAnsfer-EnCoding:Chunked\n\n0\r\n\r\n00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		client, server := net.Pipe()
		go func() {
			_, _ = http.ReadRequest(bufio.NewReader(server))
			_, _ = server.Write(data)
			_ = server.Close()
		}()
		transport := &h1.Transport{
			MaxIdle: 1, IdleTimeout: time.Minute, MaxHeader: 4096, Read: time.Minute, Write: time.Minute,
			Dial: func(context.Context, string) (net.Conn, error) { return client, nil },
		}
		defer transport.Close()
		response, err := transport.Do(t.Context(), request("GET"))
		if err != nil {
			return
		}
		defer response.Close()
		mine, err := io.ReadAll(response)
		if err != nil {
			return
		}
		// What is taken here, net/http takes as well, and as the same.
		reader := bufio.NewReader(bytes.NewReader(data))
		for {
			theirs, err := http.ReadResponse(reader, nil)
			require.NoError(t, err, "%q", data)
			if theirs.StatusCode < 200 {
				continue
			}
			want, err := io.ReadAll(theirs.Body)
			require.NoError(t, err, "%q", data)
			require.Equal(t, theirs.StatusCode, response.Status, "%q", data)
			require.Equal(t, string(want), string(mine), "%q", data)
			return
		}
	})
}
