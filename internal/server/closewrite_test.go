package server_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

// refuseLong answers bodies of more than ten bytes with 413.
func refuseLong(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 10)); err != nil {
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
	}
}

// A client that reads to the end gets the refusal and the end of the connection, not a reset.
func TestHTTP_endsRefusedRequestsWithoutAReset(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	requests := map[string]string{
		"431": "GET / HTTP/1.1\r\nHost: a\r\nX: " + long + "\r\n\r\n",
		"413": fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", 10<<20, long),
	}
	address, _, _ := bounded(t, "100", refuseLong)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	runs(t, server.HTTP(listener, http.HandlerFunc(refuseLong), slog.New(slog.DiscardHandler)))
	for _, at := range []string{address, listener.Addr().String()} {
		for status, request := range requests {
			conn := dial(t, "127.0.0.1", at)
			require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
			_, err := io.WriteString(conn, request)
			require.NoError(t, err)
			answer, err := io.ReadAll(conn)
			require.NoError(t, err, "%s of %s", status, at)
			require.Contains(t, string(answer), "HTTP/1.1 "+status)
		}
	}
}
