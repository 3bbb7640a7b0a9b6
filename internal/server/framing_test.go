package server_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// What the two requests of a connection are.
const (
	plainHead   = "POST /first HTTP/1.1\r\nHost: a\r\n"
	secondHead  = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n"
	chunkedBody = "5\r\nhello\r\n0\r\n\r\n"
)

// framings are requests by whether their connection has to end after the answer (RFC 9112 section 6.1).
var framings = []struct {
	name, text string
	ends       bool
}{
	{"both fields", plainHead + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody, true},
	{"both fields, the coding first", plainHead + "Transfer-Encoding: chunked\r\nX: y\r\nContent-Length: 5\r\n\r\n" + chunkedBody, true},
	{"both fields in other letters", plainHead + "CONTENT-length:5\r\ntransfer-ENCODING:chunked\r\n\r\n" + chunkedBody, true},
	{"both fields, bare line feeds", "POST /first HTTP/1.1\nHost: a\nContent-Length: 5\nTransfer-Encoding: chunked\n\n" + chunkedBody, true},
	{"both fields after a long one", plainHead + "X: " + strings.Repeat("y", 10_000) + "\r\nContent-Length: 5\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n" + chunkedBody, true},
	{"a coding in HTTP/1.0", "POST /first HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 5\r\n" +
		"Transfer-Encoding: chunked\r\n\r\nhello", true},
	{"a coding", plainHead + "Transfer-Encoding: chunked\r\n\r\n" + chunkedBody, false},
	{"a length", plainHead + "Content-Length: 5\r\n\r\nhello", false},
	{"names that begin alike", plainHead + "Content-Length-X: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkedBody, false},
	{"a length within a body", plainHead + "Transfer-Encoding: chunked\r\n\r\n16\r\na\r\nContent-Length: 1\r\n\r\n0\r\n\r\n", false},
	{"HTTP/1.0 that is kept", "POST /first HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", false},
}

// converse sends two requests over a connection, in pieces of the size that cut returns, and
// returns what the server answers before it ends the connection or falls silent.
func converse(t *testing.T, conn net.Conn, first string, cut func(io.Reader) io.Reader) (paths []string, ended bool) {
	t.Helper()
	_, _ = io.Copy(conn, struct{ io.Reader }{cut(strings.NewReader(first + secondHead))}) // fails once the server has ended the connection
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	in := bufio.NewReader(conn)
	for range 2 {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return paths, true
		}
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		paths = append(paths, string(body))
		if answer.Close {
			_, err := in.ReadByte()
			require.Error(t, err) // io.EOF, or a reset if the second request was on its way
		}
	}
	return paths, false
}

// echoPath reads the request to its end and answers with its path.
func echoPath(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Length", fmt.Sprint(len(r.URL.Path)))
	_, _ = io.WriteString(w, r.URL.Path)
}

func TestHTTP_endsAConnectionWhoseFramingIsAmbiguous(t *testing.T) {
	cuts := map[string]func(io.Reader) io.Reader{
		"whole":         func(r io.Reader) io.Reader { return r },
		"byte for byte": iotest.OneByteReader,
	}
	address, _, _ := bounded(t, "100", echoPath)
	for name, cut := range cuts {
		for _, f := range framings {
			paths, ended := converse(t, dial(t, "127.0.0.1", address), f.text, cut)
			require.Equal(t, "/first", paths[0], "%s, %s", f.name, name)
			require.Equal(t, f.ends, ended, "%s, %s", f.name, name)
		}
	}
}

func TestStreams_endsAConnectionWhoseFramingIsAmbiguous(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	runs(t, server.Streams(listener, http.HandlerFunc(echoPath), slog.New(slog.DiscardHandler)))
	for _, f := range framings {
		paths, ended := converse(t, dial(t, "127.0.0.1", listener.Addr().String()), f.text, cutNothing)
		require.Equal(t, "/first", paths[0], f.name)
		require.Equal(t, f.ends, ended, f.name)
	}
}

func cutNothing(r io.Reader) io.Reader { return r }

// Over TLS the server does not see the fields that package http removes.
func TestHTTP_endsAConnectionWithACodingOverTLS(t *testing.T) {
	authority := servertest.NewAuthority(t)
	opened, err := writeFiles(authority, authority.Issue("server")).Open(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	runs(t, server.HTTP(tls.NewListener(listener, opened.Config()), http.HandlerFunc(echoPath), slog.New(slog.DiscardHandler)))
	for _, f := range framings {
		conn, err := tls.Dial("tcp", listener.Addr().String(), authority.ClientTLS())
		require.NoError(t, err)
		paths, ended := converse(t, conn, f.text, cutNothing)
		require.NoError(t, conn.Close())
		require.Equal(t, "/first", paths[0], f.name)
		seen := strings.Contains(strings.ToLower(f.text), "transfer-encoding:") || strings.Contains(f.text, " HTTP/1.0\r\n")
		require.Equal(t, seen, ended, f.name)
	}
}
