package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_showsThePagesOfTwoRooms(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, "127.0.0.1:0", write) }()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimPrefix(strings.Split(line, ": ")[0], "listening on ")
	page := func(answer *http.Response, err error) string {
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return string(text)
	}
	require.Contains(t, page(http.Get(address+"/channels/")), "No channels yet")
	made := page(http.PostForm(address+"/models/new", url.Values{"name": {"w3c"}})) // leads to the page of the namespace
	require.Contains(t, made, "<h1>w3c</h1>")
	require.Contains(t, page(http.Get(address+"/models/")), `href="./n/w3c"`)
	stop()
	require.NoError(t, <-ended)
}
