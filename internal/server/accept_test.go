package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

// scarce is a listener without files for a while.
type scarce struct {
	net.Listener
	failures int // before Accept goes on
	err      error
	closed   chan struct{}
}

func newScarce(failures int, err error) *scarce {
	err = &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	return &scarce{failures: failures, err: err, closed: make(chan struct{})}
}

func (s *scarce) Accept() (net.Conn, error) {
	if s.failures == 0 {
		<-s.closed
		return nil, net.ErrClosed
	}
	s.failures--
	return nil, s.err
}

func (s *scarce) Close() error { close(s.closed); return nil }

func (s *scarce) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// infoLog returns a logger at the default level and what it has written.
func infoLog() (*slog.Logger, *bytes.Buffer) {
	var lines bytes.Buffer
	return slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelInfo})), &lines
}

func TestKeepAccepting_warnsOncePerIntervalWithACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := infoLog()
		under := newScarce(26, syscall.EMFILE)
		listener := server.KeepAccepting(under, log)
		time.AfterFunc(time.Minute, func() { _ = listener.Close() })
		_, err := listener.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		got := strings.Split(strings.TrimSpace(lines.String()), "\n")
		require.Len(t, got, 2, lines.String())
		require.Contains(t, got[0], `level=WARN msg="accept on 127.0.0.1:8080: too many open files; raise the limit`)
		require.Contains(t, got[1], "too many open files; 16 more since the last line; raise the limit")
		require.Contains(t, got[1], "ulimit -n")
	})
}

func TestKeepAccepting_closeEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := infoLog()
		listener := server.KeepAccepting(newScarce(-1, syscall.ENFILE), log) // for ever
		begin := time.Now()
		time.AfterFunc(2500*time.Millisecond, func() { _ = listener.Close() })
		_, err := listener.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
		require.Equal(t, 2500*time.Millisecond, time.Since(begin))
	})
}

func TestKeepAccepting_returnsWhatDoesNotPass(t *testing.T) {
	log, lines := infoLog()
	broken := errors.New("broken")
	_, err := server.KeepAccepting(newScarce(1, broken), log).Accept()
	require.ErrorIs(t, err, broken)
	require.Contains(t, lines.String(), "accept on 127.0.0.1:8080")
	require.Contains(t, lines.String(), "broken")
	require.Equal(t, 1, strings.Count(lines.String(), "\n"))
}

func TestHTTP_warnsOfAcceptErrorsAtTheDefaultLevel(t *testing.T) {
	type serve = func(net.Listener, http.Handler, *slog.Logger) server.Part
	for name, part := range map[string]serve{"HTTP": server.HTTP, "Streams": server.Streams} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, lines := infoLog()
				under := newScarce(3, syscall.EMFILE)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				require.NoError(t, server.Run(ctx, part(under, http.NotFoundHandler(), log)))
				require.Equal(t, 1, strings.Count(lines.String(), "too many open files"), lines.String())
			})
		})
	}
}
