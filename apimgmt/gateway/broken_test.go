package gateway_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// incomplete is a service that sends less than its answer promises.
func incomplete(t *testing.T, answer string) string {
	t.Helper()
	return rawService(t, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+answer)
	})
}

func TestGateway_ServeHTTP_passesOnWhatCameOfABrokenAnswer(t *testing.T) {
	const length, chunked = "Content-Length: 100\r\n\r\npartial", "Transfer-Encoding: chunked\r\n\r\n64\r\npartial"
	for _, netHTTP := range []bool{false, true} {
		for _, answer := range []string{length, chunked} {
			var lines logBuffer
			g, server := newGateway(t, gateway.Options{
				Transport: gateway.TransportOptions{NetHTTP: netHTTP}, AccessLog: slog.New(slog.NewJSONHandler(&lines, nil)),
			})
			require.NoError(t, g.Apply(routed(serviceAt(t, "s", incomplete(t, answer)), anyPath())))
			response, err := http.Get(server.URL)
			require.NoError(t, err, answer)
			body, err := io.ReadAll(response.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "the client sees that something is missing")
			require.NoError(t, response.Body.Close())
			require.Equal(t, "partial", string(body))
			require.Equal(t, http.StatusOK, response.StatusCode)
			server.Close() // waits until the request is logged
			require.Contains(t, lines.String(), `"error":"unexpected EOF"`)
		}
	}
}

func TestGateway_ServeHTTP_passesOnWhatCameOfABrokenAnswerOverHTTP2(t *testing.T) {
	g, err := gateway.New(&gateway.Options{AllowUpstreams: loopback()})
	require.NoError(t, err)
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", incomplete(t, "Content-Length: 100\r\n\r\npartial")), anyPath())))
	server := httptest.NewUnstartedServer(g)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, g.Close())
	})
	response, err := server.Client().Get(server.URL)
	require.NoError(t, err)
	require.Equal(t, 2, response.ProtoMajor)
	body, err := io.ReadAll(response.Body)
	require.Error(t, err, "the client sees that something is missing")
	require.NoError(t, response.Body.Close())
	require.Equal(t, "partial", string(body))
}

// A server that has to end the connection says so before the gateway answers.
func TestGateway_ServeHTTP_keepsTheEndOfTheConnectionInItsAnswers(t *testing.T) {
	g, _ := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"),
		entity.Route{Paths: []string{"/"}, Protocols: []string{"https"}})))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		g.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	text, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(text), "426 Upgrade Required")
	require.Contains(t, strings.ToLower(string(text)), "connection: close")
	require.Contains(t, string(text), "Connection: Upgrade")
}
