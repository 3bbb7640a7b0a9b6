package main

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
)

// pipes is a listener in memory, for a test with a clock of its own.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

func newPipes() *pipes {
	p := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1883} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.accepted <- server
	return client
}

func TestPrompt_Accept_endsAConnectionThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		b, err := embedded.New(prompt{listener, connectTime}, &embedded.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		require.NoError(t, b.Serve())
		defer func() { require.NoError(t, b.Close()) }()
		for i, keepAlive := range []byte{0, 60} { // seconds, 0 is without an end
			client := listener.dial()
			_, err = client.Write([]byte{0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, keepAlive, 0, 1, 'a' + byte(i)})
			require.NoError(t, err)
			_, err = io.ReadFull(client, make([]byte, 4)) // CONNACK
			require.NoError(t, err)

			began := time.Now()
			_, err = listener.dial().Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "it ends, and began after the other one")
			require.Equal(t, connectTime, time.Since(began))
			_, err = client.Write([]byte{0xc0, 0}) // PINGREQ
			require.NoError(t, err)
			_, err = io.ReadFull(client, make([]byte, 2))
			require.NoError(t, err, "the other one goes on")
			require.NoError(t, client.Close())
			synctest.Wait() // the broker notices, and does not write to it when it closes
		}
	})
}
