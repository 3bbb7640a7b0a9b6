package flower_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// idlePreface is what a client sends before it opens a stream.
const idlePreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func TestServer_Serve_closesAConnectionWithoutASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 2 * time.Minute
		listener, stop := serveIdle(t, func(ctx context.Context, _ *flower.Session) error { return nil })
		defer stop()
		for name, said := range map[string]string{"nothing": "", "half a preface": "PRI * HT", "no stream": idlePreface} {
			ours, theirs := net.Pipe()
			listener.conns <- theirs
			began := time.Now()
			go func() { _, _ = io.WriteString(ours, said) }()
			_, err := io.Copy(io.Discard, ours)
			require.NoError(t, err, name)
			require.LessOrEqual(t, time.Since(began), patience+time.Second, name)
			require.NoError(t, ours.Close())
		}
	})
}

func TestServer_Serve_keepsASessionThatIsSilentForADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		listener, stop := serveIdle(t, func(ctx context.Context, _ *flower.Session) error {
			select {
			case <-time.After(day):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		defer stop()
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener.conns <- theirs
			return ours, nil
		}}
		defer transport.CloseIdleConnections()
		body, out := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://collector/flwr.proto.FlowerService/Join", body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/grpc")
		request.Header.Set("Te", "trailers")
		began := time.Now()
		answer, err := transport.RoundTrip(request)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.NoError(t, out.Close())
		require.Equal(t, "0", answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message"))
		require.GreaterOrEqual(t, time.Since(began), day)
	})
}

// serveIdle serves connections of pipes until stop is called.
func serveIdle(t *testing.T, handle func(context.Context, *flower.Session) error) (listener *pipes, stop func()) {
	t.Helper()
	server, err := flower.NewServer(flower.ServerConfig{Handle: handle})
	require.NoError(t, err)
	listener = newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	return listener, func() {
		cancel()
		require.NoError(t, <-served)
	}
}

// states records what a server says of its connections.
type states struct {
	mu   sync.Mutex
	seen map[net.Conn][]http.ConnState
}

func (s *states) note(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[conn] = append(s.seen[conn], state)
}

func TestServer_Serve_saysHowFarAConnectionIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &states{seen: map[net.Conn][]http.ConnState{}}
		server, err := flower.NewServer(flower.ServerConfig{
			ConnState: seen.note, Handle: func(context.Context, *flower.Session) error { return nil },
		})
		require.NoError(t, err)
		listener := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		ours, theirs := net.Pipe()
		listener.conns <- theirs
		go func() { _, _ = io.WriteString(ours, idlePreface) }()
		_, err = io.Copy(io.Discard, ours)
		require.NoError(t, err)
		cancel()
		require.NoError(t, <-served)
		synctest.Wait()
		seen.mu.Lock()
		defer seen.mu.Unlock()
		require.Equal(t, []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateClosed}, seen.seen[theirs])
	})
}
