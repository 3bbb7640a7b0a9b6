package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// cannedService answers every request with the same bytes, at next to no cost and
// without garbage, so that what is measured is the gateway.
func cannedService(b *testing.B) string {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nServer: canned\r\nDate: Sat, 21 Nov 2026 " +
		"09:00:00 GMT\r\nContent-Length: 28\r\n\r\n{\"temperature\":21,\"ok\":true}")
	return rawService(b, func(c net.Conn) {
		buffer := make([]byte, 0, 4096)
		for {
			n, err := c.Read(buffer[len(buffer):cap(buffer)])
			if err != nil {
				return
			}
			buffer = buffer[:len(buffer)+n]
			if bytes.HasSuffix(buffer, []byte("\r\n\r\n")) {
				buffer = buffer[:0]
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}
	})
}

// hammer sends requests over one connection for each parallel worker.
func hammer(b *testing.B, address string) {
	request := []byte("GET /api/things/17/temperature?unit=C HTTP/1.1\r\nHost: api.example\r\nUser-Agent: " +
		"wrk\r\nAccept: */*\r\nX-A: 1\r\n\r\n")
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = connection.Close() }()
		reader := bufio.NewReader(connection)
		for pb.Next() {
			if _, err := connection.Write(request); err != nil {
				b.Error(err)
				return
			}
			length := 0
			for {
				line, err := reader.ReadSlice('\n')
				if err != nil {
					b.Error(err)
					return
				}
				if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
					b.Errorf("answer %s", line)
					return
				}
				if _, value, ok := bytes.Cut(line, []byte("Content-Length: ")); ok {
					for _, c := range bytes.TrimSpace(value) {
						length = length*10 + int(c-'0')
					}
				}
				if len(line) == 2 {
					break
				}
			}
			if _, err := reader.Discard(length); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkProxy compares what a request costs through the gateway, with 1,000
// routes, and through httputil.ReverseProxy with a tuned transport. The figures
// contain the client, which is the same for both.
func BenchmarkProxy(b *testing.B) {
	service := cannedService(b)
	b.Run("gateway", func(b *testing.B) {
		g, server := newGateway(b, gateway.Options{})
		config := entity.Config{Services: []entity.Service{serviceAt(b, "s", service)}}
		keep := false
		for i := range 1000 {
			config.Routes = append(config.Routes, entity.Route{
				Name: fmt.Sprintf("r%d", i), Methods: []string{"GET"}, StripPath: &keep, Service: &entity.Ref{Name: "s"},
				Paths: []string{fmt.Sprintf(`~/api/things%d/(?<id>[^#?/]+)/temperature$`, i)},
			})
		}
		config.Routes[500].Paths = []string{`~/api/things/(?<id>[^#?/]+)/temperature$`}
		require.NoError(b, g.Apply(config))
		hammer(b, server.Listener.Addr().String())
	})
	b.Run("reverseproxy", func(b *testing.B) {
		target, err := url.Parse(service)
		require.NoError(b, err)
		server := newService(b, (&httputil.ReverseProxy{
			Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(target); r.SetXForwarded() },
			Transport:  &http.Transport{MaxIdleConnsPerHost: 512, DisableCompression: true},
			BufferPool: &benchBuffers{make(chan []byte, 64)},
		}).ServeHTTP)
		hammer(b, server.Listener.Addr().String())
	})
	b.Run("server", func(b *testing.B) { // what net/http's server and the client cost
		server := newService(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"temperature":21,"ok":true}`) })
		hammer(b, server.Listener.Addr().String())
	})
}

type benchBuffers struct{ free chan []byte }

// Get implements httputil.BufferPool.
func (p *benchBuffers) Get() []byte {
	select {
	case b := <-p.free:
		return b
	default:
		return make([]byte, 32<<10)
	}
}

// Put implements httputil.BufferPool.
func (p *benchBuffers) Put(b []byte) {
	select {
	case p.free <- b:
	default:
	}
}
