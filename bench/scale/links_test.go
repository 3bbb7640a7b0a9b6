package scale_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
)

// A server and its clients send probes over every link. The processor time is that of the
// server and all clients, without encryption and sockets, for a second of virtual time.
func TestLinks_costProbesForEachClientAndLink(t *testing.T) {
	heading("Clients of one multi-link server at rest, three links: a second of virtual time",
		"clients", "probes every, ms", "kbit/s sent by the server, a client", "processor time of both ends, ms", "a client, ms",
		"kB of memory, a client, both ends")
	for _, size := range sizes([][2]int{{1, 10}, {10, 10}}, [][2]int{{30, 10}, {100, 10}, {100, 100}, {250, 100}, {250, 1000}}) {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { linkTrial(t, size[0], time.Duration(size[1])*time.Millisecond) })
		})
	}
}

func linkTrial(t *testing.T, clients int, probe time.Duration) {
	names := []string{"wifi0", "mesh0", "wwan0"}
	network := memory.NewNetwork(7, names...)
	defer func() { require.NoError(t, network.Close()) }()
	memoryBefore := heap()
	instance := func(address netip.Addr) (*memory.Host, *multilink.Bond, multilink.State, multilink.Key) {
		host, err := network.Host(address)
		require.NoError(t, err)
		bond, err := multilink.New(multilink.Config{Host: host})
		require.NoError(t, err)
		private, err := ecdh.X25519().GenerateKey(rand.Reader)
		require.NoError(t, err)
		state := multilink.State{PrivateKey: multilink.Key(private.Bytes()), Port: multilink.PortConfig{Name: "tap0"}}
		for n, name := range names {
			state.Links = append(state.Links, settings.Link{
				Name: name, Kind: settings.WiFi, Priority: n + 1, Probe: settings.Probe{Interval: probe},
			})
		}
		return host, bond, state, multilink.Key(private.PublicKey().Bytes())
	}
	host, server, state, public := instance(netip.MustParseAddr("10.0.0.1"))
	defer func() { require.NoError(t, server.Close()) }()
	for n := range names {
		state.Links[n].Listen = uint16(51820 + n)
	}
	var bonds []*multilink.Bond
	var states []multilink.State
	for i := range clients {
		_, bond, own, key := instance(netip.AddrFrom4([4]byte{10, 0, 1 + byte(i/200), 1 + byte(i%200)}))
		up := multilink.PeerConfig{Name: "server", PublicKey: public}
		down := multilink.PeerConfig{Name: fmt.Sprintf("client-%d", i), PublicKey: key}
		for n, name := range names {
			shared := multilink.Key{byte(i), byte(i >> 8), byte(n), 1}
			endpoint := netip.AddrPortFrom(host.Address(), uint16(51820+n))
			up.Links = append(up.Links, multilink.PeerLink{Link: name, PresharedKey: shared, Endpoint: endpoint})
			down.Links = append(down.Links, multilink.PeerLink{Link: name, PresharedKey: shared})
		}
		own.Peers = []multilink.PeerConfig{up}
		state.Peers = append(state.Peers, down)
		bonds, states = append(bonds, bond), append(states, own)
	}
	require.NoError(t, server.Apply(t.Context(), state))
	for i, bond := range bonds {
		require.NoError(t, bond.Apply(t.Context(), states[i]))
		defer func() { require.NoError(t, bond.Close()) }()
	}
	time.Sleep(5 * time.Second)
	for _, peer := range server.Status().Peers {
		require.True(t, peer.Connected)
	}
	used := heap() - memoryBefore
	sent := func() (bytes uint64) {
		for _, peer := range server.Status().Peers {
			for _, link := range peer.Links {
				bytes += link.TxBytes
			}
		}
		return bytes
	}
	const span = 5 * time.Second
	before, cpu := sent(), processorTime()
	time.Sleep(span)
	bytes := sent() - before
	cpu = processorTime() - cpu
	each := ms(cpu) / span.Seconds()
	row(clients, int(probe.Milliseconds()),
		float64(bytes)*8/1000/span.Seconds()/float64(clients), each, each/float64(clients),
		used/1e3/float64(clients))
}
