package node_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

func TestNode_Run_resolvesAHostNameAgainWhenItsLinkIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, other := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("198.51.100.2")
		var answer atomic.Pointer[[]netip.Addr]
		says := func(all ...netip.Addr) { answer.Store(&all) }
		config := nodetest.NewConfig(node.Client, nodetest.NewPlane("wlan0"), storage.NewMemoryDocuments())
		config.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			if all := *answer.Load(); len(all) > 0 {
				return all, nil
			}
			return nil, errors.New("no name server answers")
		}
		i := nodetest.Begin(t, config)
		synctest.Wait()
		require.NoError(t, i.Node.Health())
		i.Do(http.StatusCreated, "POST", "/interfaces/add", `{"name":"wlan0"}`)
		says(one, other)
		i.Do(http.StatusOK, "POST", "/tunnel/attach",
			nodetest.Object{"name": "gw", "public_key": i.Do(http.StatusOK, "GET", "/status", nil)["public_key"],
				"server_public_key": nodetest.Key(t, 3), "server": "http://h", "addresses": []string{"10.9.0.2/24"},
				"links": []nodetest.Object{{"name": "wlan0", "endpoint": "vpn.example:51820"}}})
		calls := func() netip.Addr { return i.Plane.Current().Peers[0].Links[0].Endpoint.Addr() }
		require.Equal(t, one, calls())
		applied := i.Plane.Count()
		for _, all := range [][]netip.Addr{{other, one}, {one}, {}, {other, one}} {
			says(all...)
			time.Sleep(2 * time.Minute) // of the bubble's clock
			require.Equal(t, one, calls(), "an address that still is one of the name's is kept: %v", all)
		}
		require.Equal(t, applied, i.Plane.Count(), "and the tunnel left alone")
		says(other)
		time.Sleep(2 * time.Minute)
		require.Equal(t, other, calls())
		require.NoError(t, i.Stop())
	})
}
