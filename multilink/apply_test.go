package multilink_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
)

func TestBond_Apply_movesALinkToANewSocketWithoutLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		client := b.clients[0]
		var sent sync.WaitGroup
		sent.Go(func() { client.send(b.server, 0, 3000, time.Millisecond) })
		sent.Go(func() { b.server.send(client, 0, 3000, time.Millisecond) })
		time.Sleep(505 * time.Millisecond)
		client.state.Links[0].Listen = 60000
		client.apply()
		sent.Wait()
		settle(time.Second)
		b.server.tookAll(3000)
		client.tookAll(3000)
		require.Equal(t, "wifi0", client.bond.Status().Peers[0].ActiveLink)
	})
}

func TestBond_Apply_probesALinkOnceItHasATunnel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(50 * time.Millisecond)
		require.Equal(t, "wifi0", b.clients[0].bond.Status().Peers[0].ActiveLink)
		require.Equal(t, "wifi0", b.server.bond.Status().Peers[0].ActiveLink)
	})
}

// openingHost is a host that calls a function before it opens a tunnel.
type openingHost struct {
	*memory.Host
	opening func(link string)
}

func (h *openingHost) Underlay(ctx context.Context, config multilink.UnderlayConfig) (multilink.Underlay, error) {
	under, err := h.Host.Underlay(ctx, config)
	return openingUnderlay{Underlay: under, host: h, link: config.Link}, err
}

type openingUnderlay struct {
	multilink.Underlay
	host *openingHost
	link string
}

func (u openingUnderlay) Open(peer multilink.TunnelPeer, receive func([][]byte)) (multilink.Tunnel, error) {
	u.host.opening(u.link)
	return u.Underlay.Open(peer, receive)
}

func TestBond_Apply_seesACarrierThatComesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		client := b.clients[0]
		require.NoError(t, client.bond.Close())
		bond, err := multilink.New(multilink.Config{Host: &openingHost{client.host, func(link string) {
			if link == "mesh0" { // that of wifi0 is open, and has no carrier
				require.NoError(t, client.host.Carrier("wifi0", true))
				synctest.Wait()
			}
		}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, bond.Close()) }()
		require.NoError(t, client.host.Carrier("wifi0", false))
		require.NoError(t, bond.Apply(t.Context(), client.state))
		settle(5 * time.Second)
		require.Equal(t, "wifi0", bond.Status().Peers[0].ActiveLink)
	})
}

func TestBond_servesOtherPeersBesideASlowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 4, func(s *multilink.State) {
			for i := range s.Links {
				s.Links[i].Rate = 8_000_000
			}
		})
		settle(3 * time.Second)
		for _, c := range b.clients {
			c.send(b.server, 0, 1, time.Millisecond) // the server learns where they are
		}
		settle(time.Second)
		quick, slow := b.clients[3], b.clients[:3]
		for n := range uint32(3000) { // up to what their paths may hold, and more
			b.server.send(slow[n%3], n, 1, 0)
			if n%300 == 0 {
				settle(time.Millisecond)
			}
		}
		settle(100 * time.Millisecond)
		quick.took()
		for n := range uint32(50) {
			for _, c := range slow {
				b.server.send(c, n, 1, 0)
			}
			b.server.send(quick, n, 1, 0)
			settle(6 * time.Millisecond) // one pause at most, not one for each of them
			require.Equal(t, []uint32{n}, quick.took())
		}
	})
}

func TestBond_Switch_movesThePeersThatAreConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 2, nil)
		settle(3 * time.Second)
		require.NoError(t, b.clients[1].bond.Close())
		settle(3 * time.Second)
		require.NoError(t, b.server.bond.Switch("mesh0", time.Minute))
		require.Equal(t, "mesh0", b.server.bond.Status().Peers[0].ActiveLink)
		require.NoError(t, b.clients[0].bond.Close())
		settle(3 * time.Second)
		require.ErrorIs(t, b.server.bond.Switch("mesh0", time.Minute), multilink.ErrLinkDown)
	})
}

func TestBond_Apply_refusesABadPortAndKeepsTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		state := b.server.state
		state.Port.MTU = 100
		require.ErrorIs(t, b.server.bond.Apply(t.Context(), state), multilink.ErrInvalid)
		b.clients[0].send(b.server, 0, 10, time.Millisecond)
		settle(time.Second)
		b.server.tookAll(10) // at the end of the port that was there before
	})
}
