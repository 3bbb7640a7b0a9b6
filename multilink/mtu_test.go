package multilink_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/status"
)

// narrow is a host whose tunnels say themselves what they take, and remember the
// longest packet of data that they were given.
type narrow struct {
	multilink.Host
	mtu, longest atomic.Int64
}

func (n *narrow) Underlay(ctx context.Context, c multilink.UnderlayConfig) (multilink.Underlay, error) {
	if c.LinkMTU != 0 {
		return nil, fmt.Errorf("link %q: MTU is fixed, though the interface's may change: %w", c.Link, multilink.ErrInvalid)
	}
	u, err := n.Host.Underlay(ctx, c)
	return narrowUnderlay{u, n}, err
}

type narrowUnderlay struct {
	multilink.Underlay
	host *narrow
}

func (u narrowUnderlay) Open(peer multilink.TunnelPeer, receive func([][]byte)) (multilink.Tunnel, error) {
	t, err := u.Underlay.Open(peer, receive)
	return narrowTunnel{t, u.host}, err
}

type narrowTunnel struct {
	multilink.Tunnel
	host *narrow
}

func (t narrowTunnel) MTU() int { return int(t.host.mtu.Load()) }

func (t narrowTunnel) Send(packets [][]byte) error {
	for _, packet := range packets {
		t.host.longest.Store(max(t.host.longest.Load(), int64(len(packet))))
	}
	return t.Tunnel.Send(packets)
}

func TestBond_sendsWholeFramesOnceTheTunnelTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		server, client := b.server, b.clients[0]
		require.NoError(t, server.bond.Close())
		n := &narrow{Host: server.host}
		n.mtu.Store(600)
		var err error
		server.bond, err = multilink.New(multilink.Config{Host: n})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.bond.Close()) })
		server.apply()
		server.listen()
		settle(10 * time.Second)

		server.send(client, 0, 10, time.Millisecond)
		settle(time.Second)
		client.tookAll(10)
		require.LessOrEqual(t, n.longest.Load(), int64(600))
		n.mtu.Store(1400)
		settle(3 * time.Second)
		server.send(client, 0, 10, time.Millisecond)
		settle(time.Second)
		client.tookAll(10)
		require.Greater(t, n.longest.Load(), int64(1000))
	})
}

func TestBond_carriesFramesOverALinkThatSwallowsLongPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		server, client := b.server, b.clients[0]
		settle(3 * time.Second)
		for _, i := range []*instance{server, client} {
			require.Equal(t, 1500, i.bond.Status().Links[0].PathMTU)
		}
		require.NoError(t, b.network.Impair(memory.Path{Link: "wifi0"}, memory.Impairment{MTU: 900}))
		client.send(server, 0, 2000, time.Millisecond) // 1,069 bytes with all headers
		server.took()
		client.send(server, 0, 100, time.Millisecond)
		server.send(client, 0, 100, time.Millisecond)
		settle(2 * time.Second)
		server.tookAll(100)
		server.send(client, 0, 100, time.Millisecond)
		settle(time.Second)
		for _, i := range []*instance{server, client} {
			for _, links := range [][]status.Link{i.bond.Status().Links, i.bond.Status().Peers[0].Links} {
				require.Equal(t, status.Up, links[0].State)
				require.InDelta(t, 900-8, links[0].PathMTU, 8)
				require.Equal(t, 1500, links[1].PathMTU)
			}
		}
		client.took()
		server.send(client, 0, 100, time.Millisecond)
		settle(time.Second)
		client.tookAll(100)
	})
}
