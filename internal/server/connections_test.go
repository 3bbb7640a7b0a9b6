package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = 30 * time.Second

// bounded serves a handler with a bound of connections until the test ends. It returns
// the address, the log, which is complete when the test ends, and the bound.
func bounded(t *testing.T, bound string, handler http.HandlerFunc) (
	address string, lines *guardedBuffer, connections *server.Connections,
) {
	t.Helper()
	f := server.NewFlags("test", "TEST", "a test")
	connections = f.Connections()
	f.Logging("log")
	require.NoError(t, f.Parse([]string{"-max-connections", bound}))
	lines = &guardedBuffer{}
	listening := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- f.Serve(t.Context(), nil, io.Discard, lines, func(_ context.Context, log *slog.Logger) error {
			listener, err := connections.Listen("listen", "127.0.0.1:0")
			if err != nil {
				return err
			}
			listening <- listener.Addr().String()
			return server.Run(ctx, server.HTTP(listener, handler, log))
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return <-listening, lines, connections
}

// guardedBuffer is a buffer for several goroutines.
type guardedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *guardedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *guardedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// dial connects from an address of this machine.
func dial(t *testing.T, from, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// get sends a request over a connection and returns the body of the answer.
func get(t *testing.T, conn net.Conn) string {
	t.Helper()
	_, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return string(body)
}

// requireClosed waits until the server closes the connection.
func requireClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	n, err := conn.Read(make([]byte, 1))
	require.Zero(t, n)
	require.Error(t, err)
}

func answerOK(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func TestConnections_closesTheOldestWithoutARequest(t *testing.T) {
	address, lines, _ := bounded(t, "4", answerOK)
	used := dial(t, "127.0.0.2", address)
	require.Equal(t, "ok", get(t, used))
	old := dial(t, "127.0.0.3", address)
	_, err := io.WriteString(old, "GET / HT") // a request that is not complete
	require.NoError(t, err)
	young, third := dial(t, "127.0.0.4", address), dial(t, "127.0.0.5", address)
	require.Equal(t, "ok", get(t, dial(t, "127.0.0.6", address)))
	requireClosed(t, old)
	require.Equal(t, "ok", get(t, young))
	require.Equal(t, "ok", get(t, third))
	require.Equal(t, "ok", get(t, used))
	require.Contains(t, lines.String(), "too many connections")
	require.Contains(t, lines.String(), "closed_silent=1 refused=0")
}

func TestConnections_closesTheLongestWaitingWhenAllHaveHadARequest(t *testing.T) {
	address, _, connections := bounded(t, "2", answerOK)
	first, second := dial(t, "127.0.0.2", address), dial(t, "127.0.0.3", address)
	for i, conn := range []net.Conn{first, second, first} {
		require.Equal(t, "ok", get(t, conn))
		// The server notes that a connection waits after the client has its answer.
		require.Eventually(t, func() bool { return connections.Waiting() == min(i+1, 2) }, patience, time.Millisecond)
	}
	require.Equal(t, "ok", get(t, dial(t, "127.0.0.4", address)))
	requireClosed(t, second)
	require.Equal(t, "ok", get(t, first))
}

func TestConnections_closesNoneWithARequestUnderWay(t *testing.T) {
	begun, proceed := make(chan struct{}), make(chan struct{})
	address, lines, _ := bounded(t, "2", func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-proceed
		answerOK(w, r)
	})
	answers := make(chan string, 2)
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		conn := dial(t, from, address)
		go func() { answers <- get(t, conn) }()
		<-begun
	}
	requireClosed(t, dial(t, "127.0.0.4", address))
	close(proceed)
	require.Equal(t, "ok", <-answers)
	require.Equal(t, "ok", <-answers)
	require.Contains(t, lines.String(), "closed_silent=0 refused=1")
}

func TestConnections_givesAClientAddressHalf(t *testing.T) {
	address, _, _ := bounded(t, "8", answerOK)
	other := dial(t, "127.0.0.3", address) // silent for longer than all of the first client
	first := dial(t, "127.0.0.2", address)
	for range 3 {
		dial(t, "127.0.0.2", address)
	}
	require.Equal(t, "ok", get(t, dial(t, "127.0.0.2", address)))
	requireClosed(t, first)
	require.Equal(t, "ok", get(t, other))
}

func TestConnections_ListenLong_refusesWhenAllAreLong(t *testing.T) {
	f := server.NewFlags("test", "TEST", "a test")
	connections := f.Connections()
	f.Logging("log")
	require.NoError(t, f.Parse([]string{"-max-connections", "2"}))
	var lines bytes.Buffer
	require.NoError(t, f.Serve(t.Context(), nil, io.Discard, &lines, func(context.Context, *slog.Logger) error {
		short, err := connections.Listen("listen", "127.0.0.1:0")
		require.NoError(t, err)
		defer short.Close()
		long, err := connections.ListenLong("mqtt", "127.0.0.1:0")
		require.NoError(t, err)
		defer long.Close()
		accept := func(from string, listener net.Listener) (client, accepted net.Conn) {
			client = dial(t, from, listener.Addr().String())
			accepted, err := listener.Accept()
			require.NoError(t, err)
			return client, accepted
		}
		first, atFirst := accept("127.0.0.2", long)
		silent, _ := accept("127.0.0.3", short)
		_, atSecond := accept("127.0.0.4", long)
		requireClosed(t, silent) // for the second

		late := dial(t, "127.0.0.5", long.Addr().String())
		next := make(chan net.Conn, 1)
		go func() {
			conn, err := long.Accept()
			if err == nil {
				next <- conn
			}
			close(next)
		}()
		requireClosed(t, late)
		_, err = io.WriteString(atFirst, "x")
		require.NoError(t, err)
		_, err = io.ReadFull(first, make([]byte, 1))
		require.NoError(t, err, "it stays open")

		require.NoError(t, atSecond.Close())
		dial(t, "127.0.0.6", long.Addr().String())
		last := <-next
		require.NotNil(t, last, "there is room again")
		require.NoError(t, errors.Join(last.Close(), atFirst.Close()))
		return nil
	}))
	require.Contains(t, lines.String(), "too many connections")
	require.Contains(t, lines.String(), "closed_silent=1")
}

func TestConnections_Listen_withoutABound(t *testing.T) {
	var none *server.Connections
	for _, listen := range []func(flagName, address string) (net.Listener, error){none.Listen, none.ListenLong} {
		listener, err := listen("listen", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}

func TestConnState_ignoresOtherConnections(t *testing.T) {
	one, other := net.Pipe()
	server.ConnState(one, http.StateActive)
	require.NoError(t, one.Close())
	require.NoError(t, other.Close())
}
