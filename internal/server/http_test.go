package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

func TestHTTP_answersARequestBeforeItStops(t *testing.T) {
	listener, err := server.Listen("listen", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		fmt.Fprint(w, "answer")
	})
	done := make(chan error, 1)
	go func() {
		done <- server.Run(ctx, server.HTTP(listener, handler, slog.New(slog.DiscardHandler)))
	}()
	answer, err := http.Get("http://" + listener.Addr().String())
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, "answer", string(body))
	require.NoError(t, <-done)
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestListen_namesTheFlagInItsErrors(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, err = server.Listen("gate", taken.Addr().String())
	require.ErrorContains(t, err, "the port is taken by another program; choose another one with -gate")
	_, err = server.Listen("gate", "nowhere")
	require.ErrorContains(t, err, `listen on "nowhere" (-gate): `)
}

func TestWarnIfExposed_warnsBeyondLoopbackOnly(t *testing.T) {
	for address, exposed := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "0.0.0.0:0": true, ":0": true} {
		listener, err := server.Listen("listen", address)
		require.NoError(t, err)
		var out bytes.Buffer
		server.WarnIfExposed(slog.New(slog.NewTextHandler(&out, nil)), listener, "thing")
		require.NoError(t, listener.Close())
		require.Equal(t, exposed, out.Len() > 0, address)
		require.Equal(t, !exposed, server.IsLoopback(listener), address)
	}
}

func TestListen_listensOnIPv4OnlyForAnIPv4Address(t *testing.T) {
	listener, err := server.Listen("listen", "0.0.0.0:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	require.Contains(t, listener.Addr().String(), "0.0.0.0:")
}

func TestReachable_replacesAllInterfacesByTheLoopback(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:80": "127.0.0.1:80", "[::]:80": "[::1]:80", "http://0.0.0.0:80/x": "http://127.0.0.1:80/x", "192.0.2.1:80": "192.0.2.1:80",
	} {
		require.Equal(t, want, server.Reachable(address))
	}
}
