package pair_test

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestPair_Connect_bringsUpAllLinks(t *testing.T) {
	memory, err := pair.NewMemory()
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close()) }()
	p, err := pair.Open(t.Context(), pair.Config{
		Server: memory.Server, Client: memory.Client, Links: memory.Links, Probe: 20 * time.Millisecond, Token: "a token for the trial",
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()

	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var urls []string
	for _, i := range []pair.Instance{p.Server, p.Client} {
		running.Go(func() { _ = i.Node.Run(ctx) })
		web := httptest.NewServer(i.Handler)
		defer web.Close()
		urls = append(urls, web.URL)
	}
	require.NoError(t, p.Connect(ctx, urls[0], urls[1]))
	for _, i := range []pair.Instance{p.Server, p.Client} {
		require.Eventually(t, func() bool {
			up := 0
			for _, link := range i.Bond.Status().Links {
				if link.State == status.Up {
					up++
				}
			}
			return up == len(memory.Links)
		}, time.Minute, 5*time.Millisecond)
	}
	require.ErrorContains(t, p.Connect(ctx, urls[0], urls[1]), "409", "both have the links already")
}

func TestOpen_refusesAMissingHost(t *testing.T) {
	memory, err := pair.NewMemory()
	require.NoError(t, err)
	defer func() { require.NoError(t, memory.Close()) }()
	_, err = pair.Open(t.Context(), pair.Config{Server: memory.Server, Token: "a token for the trial"})
	require.ErrorIs(t, err, multilink.ErrInvalid)
	require.ErrorContains(t, err, "open client")
}
