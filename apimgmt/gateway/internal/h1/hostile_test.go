package h1_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
)

// piped is a transport whose connections are pipes to a script.
func piped(script func(net.Conn, *bufio.Reader)) *h1.Transport {
	return &h1.Transport{
		MaxIdle: 1, IdleTimeout: time.Minute, MaxHeader: 4096, Read: time.Minute, Write: time.Minute,
		Dial: func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer func() { _ = server.Close() }()
				script(server, bufio.NewReader(server))
			}()
			return client, nil
		},
	}
}

// answer is what a client has made of a response.
type answer struct {
	status     int
	body, head string
	failed     bool
}

// ask sends a GET and returns what comes of it.
func ask(t *testing.T, transport *h1.Transport) answer {
	t.Helper()
	response, err := transport.Do(t.Context(), request("GET"))
	if err != nil {
		return answer{failed: true}
	}
	defer response.Close()
	fields := http.Header{}
	for i := range response.Count() {
		name, value := response.Field(i)
		fields.Add(name, value)
	}
	delete(fields, "Connection")
	delete(fields, "Transfer-Encoding")
	delete(fields, "Trailer")
	data, err := io.ReadAll(response)
	return answer{response.Status, string(data), fmt.Sprint(fields), err != nil}
}

// askNetHTTP is ask with the transport of net/http.
func askNetHTTP(t *testing.T, script func(net.Conn, *bufio.Reader)) answer {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		return piped(script).Dial(ctx, "")
	}, DisableCompression: true, MaxResponseHeaderBytes: 4096}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://service/", nil)
	require.NoError(t, err)
	response, err := transport.RoundTrip(r)
	if err != nil {
		return answer{failed: true}
	}
	defer func() { _ = response.Body.Close() }()
	delete(response.Header, "Connection")
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(data), fmt.Sprint(response.Header), err != nil}
}

// sends answers the first request with pieces of a text, and hangs up.
func sends(text string, piece int) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			if _, err := io.WriteString(c, rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}
}

// responses are of every kind of framing, and some that are none.
func responses() []string {
	const ok = "HTTP/1.1 200 OK\r\n"
	return []string{
		ok + "Content-Length: 5\r\nX-A: b\r\n\r\nhello",
		ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
		ok + "Content-Length: 5, 5\r\n\r\nhello",
		ok + "Content-Length: 0x5\r\n\r\nhello",
		ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5;ext=\"a\"\r\nhello\r\n1\r\n!\r\n0\r\nX-T: 1\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 7\r\nX-A: b\r\n\r\n",
		ok + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: identity\r\n\r\nhello",
		ok + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		ok + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
		ok + "X-A: b\r\n continued\r\nContent-Length: 0\r\n\r\n",
		ok + "X-A: b\rX-B: c\r\nContent-Length: 0\r\n\r\n",
		ok + "\x00: b\r\nContent-Length: 0\r\n\r\n",
		ok + "\r\nto the end",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.0 200 OK\r\n\r\nto the end",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.10 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"ICY 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 -20 OK\r\nContent-Length: 2\r\n\r\nok",
		ok + "X-A: " + strings.Repeat("x", 8000) + "\r\nContent-Length: 0\r\n\r\n",
		ok + strings.Repeat("A:\r\n", 2000) + "Content-Length: 0\r\n\r\n",
	}
}

func TestTransport_Do_acceptsWhatNetHTTPAccepts(t *testing.T) {
	for _, text := range responses() {
		want := askNetHTTP(t, sends(text, len(text)))
		for _, piece := range []int{1, 2, 3, 7, len(text)} {
			got := ask(t, piped(sends(text, piece)))
			if got.failed {
				continue // stricter
			}
			require.Equal(t, want, got, "%.80q in pieces of %d", text, piece)
		}
	}
}

func TestTransport_Do_readsCutResponsesLikeNetHTTP(t *testing.T) {
	for _, text := range responses() {
		text = text[:min(len(text), 200)]
		for end := range len(text) {
			got := ask(t, piped(sends(text[:end], 200)))
			if got.failed {
				continue
			}
			require.Equal(t, askNetHTTP(t, sends(text[:end], 200)), got, "%q", text[:end])
		}
	}
}

func TestTransport_Do_dropsUnsolicitedResponses(t *testing.T) {
	const poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			read, sent := make(chan struct{}), make(chan struct{})
			transport, connections := service(t, func(c net.Conn, r *bufio.Reader) {
				if _, err := http.ReadRequest(r); err != nil {
					return
				}
				if method == "GET" { // with the response in one piece, or after it
					_, _ = io.WriteString(c, text+poison)
				} else {
					_, _ = io.WriteString(c, text)
					<-read
					_, _ = io.WriteString(c, poison)
					close(sent)
				}
				_, _ = io.Copy(io.Discard, r)
			}, answers("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nclean"))
			response, err := transport.Do(t.Context(), request(method))
			require.NoError(t, err)
			_, err = io.ReadAll(response)
			require.NoError(t, err)
			response.Close()
			if method == "HEAD" {
				close(read)
				<-sent
			}
			_, body, err := get(t, transport, request("GET"))
			require.NoError(t, err, text)
			require.Equal(t, "clean", body, text)
			require.EqualValues(t, 2, connections.Load())
		}
	}
}

func TestTransport_Do_sharesNoBodyBetweenAttempts(t *testing.T) {
	const whole = "0123456789"
	for range 200 {
		transport, _ := service(t, func(c net.Conn, r *bufio.Reader) {
			answers("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c, r)
			_, _ = r.ReadByte() // of the next request
		}, func(c net.Conn, r *bufio.Reader) {
			request, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			data, err := io.ReadAll(request.Body)
			if err == nil {
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(data), data)
			}
		})
		_, _, err := get(t, transport, request("GET"))
		require.NoError(t, err)
		r := request("PUT")
		r.Body, r.Length = &body{Reader: &bytewise{strings.NewReader(whole)}}, -1
		if _, text, err := get(t, transport, r); err == nil {
			require.Equal(t, whole, text)
		}
	}
}

// bytewise reads a byte at a time, after others had their turn.
type bytewise struct{ io.Reader }

func (b *bytewise) Read(p []byte) (int, error) {
	runtime.Gosched()
	return b.Reader.Read(p[:1])
}

func TestTransport_releasesTheLastResponse(t *testing.T) {
	const connections = 32
	big := "HTTP/1.1 200 OK\r\n" + strings.Repeat("A:\r\n", 60_000) + "Content-Length: 0\r\n\r\n"
	transport, _ := service(t, answers(big))
	transport.MaxHeader, transport.MaxIdle = 256<<10, connections
	before := heap()
	var opened []*h1.Response
	for range connections {
		response, err := transport.Do(t.Context(), request("GET"))
		require.NoError(t, err)
		_, err = io.ReadAll(response)
		require.NoError(t, err)
		opened = append(opened, response)
	}
	for _, response := range opened {
		response.Close()
	}
	opened = nil
	require.Less(t, heap()-before, int64(8<<20))
	runtime.KeepAlive(transport)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestTransport_Do_waitsForASlowService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := piped(func(c net.Conn, r *bufio.Reader) {
			_, _ = http.ReadRequest(r)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n")
			for range 10 {
				time.Sleep(40 * time.Second)
				_, _ = io.WriteString(c, "x")
			}
			_, _ = io.WriteString(c, "\r\n0\r\n\r\n")
		})
		_, text, err := get(t, transport, request("GET"))
		require.NoError(t, err)
		require.Equal(t, "xxxxxxxxxx", text)
	})
}

func TestTransport_Do_boundsTheTimeOfTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		transport := piped(func(c net.Conn, r *bufio.Reader) {
			defer close(ended)
			_, _ = http.ReadRequest(r)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			for {
				time.Sleep(40 * time.Second)
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		})
		began := time.Now()
		_, _, err := get(t, transport, request("GET"))
		require.Error(t, err)
		require.LessOrEqual(t, time.Since(began), time.Minute)
		<-ended
	})
}

func TestResponse_Close_doesNotWaitForTheUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over sync.WaitGroup
		over.Add(1)
		release := make(chan struct{})
		transport := piped(func(c net.Conn, r *bufio.Reader) {
			defer over.Done()
			_, _ = http.ReadRequest(r)
			_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
			<-release
		})
		began := time.Now()
		r := request("POST")
		r.Body, r.Length = &body{Reader: bytes.NewReader(make([]byte, 10_000))}, 10_000
		status, _, err := get(t, transport, r)
		require.NoError(t, err)
		require.Equal(t, 401, status)
		require.Less(t, time.Since(began), time.Second)
		close(release)
		over.Wait()
	})
}

func TestTransport_Do_dropsFramingFieldsInAnySpelling(t *testing.T) {
	got := make(chan string, 1)
	transport := piped(func(c net.Conn, r *bufio.Reader) {
		var head strings.Builder
		for {
			line, err := r.ReadString('\n')
			head.WriteString(line)
			if err != nil || line == "\r\n" {
				break
			}
		}
		got <- head.String()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	r := request("GET")
	r.Header = map[string][]string{"transfer-encoding": {"chunked"}, "CONTENT-LENGTH": {"9"}, "host": {"evil"}, "X-A": {"1"}}
	_, _, err := get(t, transport, r)
	require.NoError(t, err)
	require.Equal(t, "GET / HTTP/1.1\r\nHost: service\r\nX-A: 1\r\n\r\n", <-got)
}
