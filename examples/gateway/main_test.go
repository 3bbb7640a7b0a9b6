package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheGatewayServesAndIsAdministered(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		err := run(ctx, dir, in)
		_ = in.CloseWithError(io.EOF)
		done <- err
	}()
	addresses := map[string]string{}
	lines := bufio.NewScanner(out)
	for len(addresses) < 2 && lines.Scan() {
		address, name, found := strings.Cut(strings.TrimPrefix(lines.Text(), "listening on "), " ")
		require.True(t, found)
		addresses[name] = address
	}
	for _, address := range []string{addresses["(gateway)"] + "/hello", addresses["(admin)"] + "/routes/hello",
		addresses["(admin)"] + "/admin/"} {
		response, err := http.Get(address)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode, address)
	}
	stop()
	require.NoError(t, <-done)
}
