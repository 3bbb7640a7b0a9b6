package multilink_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// reasons returns those of the events of a type.
func (i *instance) reasons(kind string) (reasons []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, e := range i.events {
		if e.Type == kind {
			reasons = append(reasons, e.Peer+" "+e.Reason)
		}
	}
	return reasons
}

// refused returns how many frames of a peer were refused for their addresses.
func (i *instance) refused(peer string) uint64 {
	for _, p := range i.bond.Status().Peers {
		if p.Name == peer {
			return p.Counters.Refused
		}
	}
	return 0
}

func TestBond_isolatesTheAddressesOfPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 2, nil)
		settle(time.Second)
		isolated, err := multilink.New(multilink.Config{Host: b.server.host, Isolate: true})
		require.NoError(t, err)
		require.NoError(t, b.server.bond.Close())
		b.server.bond = isolated
		t.Cleanup(func() { require.NoError(t, isolated.Close()) })
		b.server.apply()
		b.server.listen()
		settle(3 * time.Second)
		victim, thief := b.clients[0], b.clients[1]
		victim.send(b.server, 0, 1, time.Millisecond)
		settle(time.Minute) // the victim has nothing to send

		thief.mac = victim.mac
		thief.send(b.server, 0, 3, time.Millisecond)
		settle(time.Second)
		b.server.send(victim, 0, 100, time.Millisecond)
		settle(time.Second)
		require.Empty(t, thief.took(), "the victim's traffic")
		victim.tookAll(100)
		require.EqualValues(t, 3, b.server.refused("client-b"))
		require.Zero(t, b.server.refused("client-a"))
		require.Equal(t, []string{
			`client-b sends from address 02:00:00:00:00:02, which is that of "client-a"; these frames are dropped`,
		}, b.server.reasons("address"))

		// With an Ethernet address of its own, and the victim's of IP.
		time.Sleep(10 * time.Second)
		b.server.state.Peers[0].Addresses = []netip.Prefix{netip.MustParsePrefix("10.9.0.2/24")}
		b.server.apply()
		arp := append([]byte("\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x03\x08\x06\x00\x01\x08\x00\x06\x04\x00\x02"),
			"\x02\x00\x00\x00\x00\x03\x0a\x09\x00\x02\xff\xff\xff\xff\xff\xff\x0a\x09\x00\x01"...)
		b.server.overheard = 0
		require.NoError(t, thief.app.Write([][]byte{arp}))
		settle(time.Second)
		require.Zero(t, b.server.overheard, "the answer reached the server")
		require.EqualValues(t, 4, b.server.refused("client-b"))
		require.Contains(t, b.server.reasons("address"),
			`client-b sends from address 10.9.0.2, which is that of "client-a"; these frames are dropped`)
	})
}

func TestBond_Events_reportsAnAddressThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 2, nil)
		settle(3 * time.Second)
		before, after := b.clients[0], b.clients[1]
		before.send(b.server, 0, 1, time.Millisecond)
		settle(2 * time.Second)
		after.mac = before.mac
		after.send(b.server, 0, 1, time.Millisecond)
		settle(time.Second)
		b.server.send(after, 0, 10, time.Millisecond)
		settle(time.Second)
		after.tookAll(10)
		require.Equal(t, []string{
			`client-b sends from address 02:00:00:00:00:02, which was that of "client-a" and moved here`,
		}, b.server.reasons("address"))

		after.mac = b.server.mac
		after.send(&instance{mac: [6]byte{2, 9}}, 0, 1, time.Millisecond)
		settle(time.Second)
		require.Contains(t, b.server.reasons("address"),
			`client-b sends from address 02:00:00:00:00:01, which is that of this host; these frames are dropped`)
	})
}

func TestState_Check_allowsAClassOfAnAbsentLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, func(s *multilink.State) {
			s.Classes = []settings.Class{{Name: "private", Links: []string{"fibre0"}}}
			s.Absent = []string{"fibre0"}
		})
		settle(3 * time.Second)
		b.clients[0].send(b.server, 0, 100, time.Millisecond)
		settle(2 * time.Second)
		require.Empty(t, b.server.took(), "over links that the class may not use")
		require.Equal(t, uint64(100), b.clients[0].bond.Status().Peers[0].Counters.Dropped)
		require.Equal(t, status.Up, b.clients[0].bond.Status().Links[0].State)

		state := b.clients[0].state
		state.Absent = append(state.Absent, "wifi0")
		require.ErrorIs(t, b.clients[0].bond.Apply(t.Context(), state), multilink.ErrDuplicate, "absent and there")
	})
}
