package flower_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
)

// pipes is a listener whose connections are made by the test, in memory: no time passes on a
// fake clock while a goroutine waits for a socket.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dialed atomic.Int32
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// dial makes a connection, for configurations.
func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	port := int(p.dialed.Add(1))
	select {
	case p.conns <- dialedPipe{theirs, port}:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// dialedPipe is the end of a server, whose clients differ by their addresses.
type dialedPipe struct {
	net.Conn
	port int
}

func (p dialedPipe) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.port}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A server that is busy with thousands looks late, and so does a client whose
// machine is. Package http alone has a patience of two seconds.
func TestServer_Serve_acceptsALatePrefaceInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := flower.NewServer(flower.ServerConfig{
			Handle: func(context.Context, *flower.Session) error { return nil },
		})
		require.NoError(t, err)
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		ours, theirs := net.Pipe()
		listener.conns <- theirs
		acknowledged := make(chan error, 1)
		go func() { acknowledged <- untilSettingsAck(ours) }()
		for _, piece := range []string{
			"PRI * HTTP/2.0\r\n",
			"\r\nSM\r\n\r\n",
			"\x00\x00\x06\x04",
			"\x00\x00\x00\x00\x00",
			"\x00\x03\x00\x00\x00\x64",
		} {
			_, err := io.WriteString(ours, piece)
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
		}
		require.NoError(t, <-acknowledged)
		require.NoError(t, ours.Close())
		stop()
		require.NoError(t, <-served)
	})
}

// untilSettingsAck reads frames up to the one that acknowledges settings.
func untilSettingsAck(from io.Reader) error {
	for {
		var header [9]byte
		if _, err := io.ReadFull(from, header[:]); err != nil {
			return err
		}
		length := binary.BigEndian.Uint32(append([]byte{0}, header[:3]...))
		if _, err := io.CopyN(io.Discard, from, int64(length)); err != nil {
			return err
		}
		if header[3] == 4 && header[4] == 1 {
			return nil
		}
	}
}

// Clients that say nothing, or half a hello, are more than the hellos that are
// worked on at a time.
func TestServer_Serve_isNotBlockedBySilentConnections(t *testing.T) {
	address := serve(t, flower.ServerConfig{
		Handle: func(ctx context.Context, s *flower.Session) error { return s.Reconnect(ctx, 0) },
	})
	for i := range 200 {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer connection.Close()
		_, err = io.WriteString(connection, []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}[i%2])
		require.NoError(t, err)
	}
	require.NoError(t, <-start(t, flower.ClientConfig{Target: address, Trainer: trainer{}}))
}

// A server that is in a hurry ends the stream right after the instruction.
func TestClient_Run_reconnectsAfterTheEndOfTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var joins atomic.Int64
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Trailer", "Grpc-Status")
			seconds := byte(0)
			if joins.Add(1) == 1 {
				seconds = 1
			}
			w.Write(append([]byte{0, 0, 0, 0, 4}, 0x0a, 2, 8, seconds))
			w.Header().Set("Grpc-Status", "4")
		})}
		listener := newPipes()
		var group sync.WaitGroup
		group.Go(func() { server.Serve(listener) })
		t.Cleanup(func() {
			server.Close()
			group.Wait()
		})
		require.NoError(t, <-start(t, flower.ClientConfig{Target: "collector:1", Dial: listener.dial, Trainer: trainer{}}))
		require.EqualValues(t, 2, joins.Load())
	})
}

func TestServer_ServeHTTP_endsTheConnectionOfHalfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := flower.NewServer(flower.ServerConfig{
			Handle: func(context.Context, *flower.Session) error { return nil },
		})
		require.NoError(t, err)
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		ours, theirs := net.Pipe()
		listener.conns <- theirs
		began := time.Now()
		_, err = io.WriteString(ours, "GET / HTTP/1.1\r\n")
		require.NoError(t, err)
		answer, _ := io.ReadAll(ours)
		require.False(t, bytes.Contains(answer, []byte("200 OK")))
		require.Less(t, time.Since(began), 15*time.Second)
		stop()
		require.NoError(t, <-served)
	})
}
