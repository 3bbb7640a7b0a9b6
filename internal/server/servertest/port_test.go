package servertest_test

import (
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
)

func TestPort_Reopen_servesConnectionsThatWaited(t *testing.T) {
	port := servertest.Listen(t)
	serve := func(says string) (end func()) {
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, says) })}
		served := make(chan error, 1)
		go func() { served <- server.Serve(port) }()
		return func() {
			require.NoError(t, server.Close())
			require.ErrorIs(t, <-served, http.ErrServerClosed)
		}
	}
	get := func() string {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Get("http://" + port.Addr().String())
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err.Error()
		}
		return string(body)
	}
	end := serve("first")
	require.Equal(t, "first", get())
	end()
	_, err := port.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = net.Listen("tcp", port.Addr().String())
	require.Error(t, err, "the port is still taken")
	waited := make(chan string, 1)
	go func() { waited <- get() }()
	port.Reopen()
	end = serve("second")
	require.Equal(t, "second", <-waited)
	end()
}
