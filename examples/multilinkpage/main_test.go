package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
)

func TestRun_showsTheInstance(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, node.Server, "a token for tests", write) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	ask := func(method, path, body string) (status int) {
		r, err := http.NewRequestWithContext(ctx, method, address+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer a token for tests")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Eventually(t, func() bool { return ask("GET", "/readyz", "") == http.StatusOK }, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, http.StatusCreated, ask("POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:51820"}`))
	require.Equal(t, http.StatusBadRequest, ask("POST", "/interfaces/add", `{"name":"nix0","endpoint":"192.0.2.1:51821"}`))
	require.Equal(t, http.StatusOK, ask("GET", "/", ""))
	stop()
	require.NoError(t, <-ended)
}
