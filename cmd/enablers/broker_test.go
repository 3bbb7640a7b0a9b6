package main

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
)

func TestPrompt_Accept_endsAConnectionThatSaysNothing(t *testing.T) {
	const limit = time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b, err := embedded.New(prompt{listener, limit}, &embedded.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, b.Serve())
	defer func() { require.NoError(t, b.Close()) }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		return conn
	}
	for _, keepAlive := range []byte{0, 60} { // seconds, 0 is without an end
		client := dial()
		_, err = client.Write([]byte{0x10, 13, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, keepAlive, 0, 1, 'a'})
		require.NoError(t, err)
		_, err = io.ReadFull(client, make([]byte, 4)) // CONNACK
		require.NoError(t, err)

		_, err = dial().Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "it ends, and began after the other one")
		_, err = client.Write([]byte{0xc0, 0}) // PINGREQ
		require.NoError(t, err)
		_, err = io.ReadFull(client, make([]byte, 2))
		require.NoError(t, err, "the other one goes on")
	}
}
