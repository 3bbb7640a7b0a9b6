package multilink_test

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// bonded is a network in memory with a server and clients on it. Use it in a
// synctest bubble.
type bonded struct {
	t       *testing.T
	network *memory.Network
	server  *instance
	clients []*instance
}

// instance is a bond and its state.
type instance struct {
	t      *testing.T
	host   *memory.Host
	bond   *multilink.Bond
	state  multilink.State
	public multilink.Key
	app    *memory.Port // where its applications are
	mac    [6]byte

	mu        sync.Mutex
	received  []uint32 // numbers of frames for it, in the order of arrival
	overheard int      // frames for others
	events    []status.Event
}

var linkNames = []string{"wifi0", "mesh0", "wwan0"}

func newBonded(t *testing.T, clients int, change func(*multilink.State)) *bonded {
	b := &bonded{t: t, network: memory.NewNetwork(7, linkNames...)}
	t.Cleanup(func() { require.NoError(t, b.network.Close()) })
	b.server = b.instance("10.0.0.1", 1)
	for i := range clients {
		b.clients = append(b.clients, b.instance(netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + i)}).String(), byte(2+i)))
	}
	for i, c := range b.clients {
		server := multilink.PeerConfig{Name: "server", PublicKey: b.server.public}
		client := multilink.PeerConfig{Name: "client-" + string(rune('a'+i)), PublicKey: c.public}
		for n, name := range linkNames {
			psk := multilink.Key{byte(i), byte(n), 1}
			server.Links = append(server.Links, multilink.PeerLink{
				Link: name, PresharedKey: psk, Endpoint: netip.AddrPortFrom(b.server.host.Address(), uint16(51820+n)),
			})
			client.Links = append(client.Links, multilink.PeerLink{Link: name, PresharedKey: psk})
		}
		c.state.Peers = []multilink.PeerConfig{server}
		b.server.state.Peers = append(b.server.state.Peers, client)
	}
	for n := range linkNames {
		b.server.state.Links[n].Listen = uint16(51820 + n)
	}
	for _, i := range append([]*instance{b.server}, b.clients...) {
		if change != nil {
			change(&i.state)
		}
		i.apply()
		i.listen()
	}
	return b
}

func (b *bonded) instance(address string, number byte) *instance {
	host, err := b.network.Host(netip.MustParseAddr(address))
	require.NoError(b.t, err)
	bond, err := multilink.New(multilink.Config{Host: host})
	require.NoError(b.t, err)
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	require.NoError(b.t, err)
	i := &instance{t: b.t, host: host, bond: bond, mac: [6]byte{2, 0, 0, 0, 0, number}}
	i.state = multilink.State{PrivateKey: multilink.Key(private.Bytes()), Port: multilink.PortConfig{Name: "tap0"}}
	i.public = multilink.Key(private.PublicKey().Bytes())
	for n, name := range linkNames {
		i.state.Links = append(i.state.Links, settings.Link{Name: name, Kind: settings.WiFi, Priority: n + 1})
	}
	b.t.Cleanup(func() {
		require.NoError(b.t, bond.Close())
		require.NoError(b.t, bond.Close())
	})
	return i
}

func (i *instance) apply() {
	require.NoError(i.t, i.bond.Apply(i.t.Context(), i.state))
}

// listen collects what reaches the instance's applications, and its events.
func (i *instance) listen() {
	app, err := i.host.Plug("tap0")
	require.NoError(i.t, err)
	i.app = app
	go func() {
		var batch multilink.Batch
		for batch.Reset(); app.Read(&batch) == nil; batch.Reset() {
			i.mu.Lock()
			for _, frame := range batch.Frames() {
				if [6]byte(frame) != i.mac {
					i.overheard++
					continue
				}
				i.received = append(i.received, binary.BigEndian.Uint32(frame[14:]))
			}
			i.mu.Unlock()
		}
	}()
	go func() {
		_ = i.bond.Events(context.Background(), func(e status.Event) { // it ends with the bond
			i.mu.Lock()
			defer i.mu.Unlock()
			i.events = append(i.events, e)
		})
	}()
}

// send has an application send numbered frames, one in every interval.
func (i *instance) send(to *instance, from, count uint32, interval time.Duration) {
	for n := from; n < from+count; n++ {
		frame := make([]byte, 1000)
		copy(frame, to.mac[:])
		copy(frame[6:], i.mac[:])
		frame[12], frame[13] = 0x88, 0xb5 // local experimental
		binary.BigEndian.PutUint32(frame[14:], n)
		require.NoError(i.t, i.app.Write([][]byte{frame}))
		time.Sleep(interval)
	}
}

// settle lets everything arrive that is under way.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// took returns the numbers that arrived since the last call.
func (i *instance) took() []uint32 {
	i.mu.Lock()
	defer i.mu.Unlock()
	numbers := i.received
	i.received = nil
	return numbers
}

// tookAll checks that frames 0 to count-1 arrived, each once and in order.
func (i *instance) tookAll(count int) {
	i.t.Helper()
	numbers := i.took()
	seen := make(map[uint32]int)
	for at, n := range numbers {
		seen[n]++
		if at > 0 {
			require.Greater(i.t, n, numbers[at-1], "frame %d came out of order or twice", n)
		}
	}
	missing := 0
	for n := range uint32(count) {
		if seen[n] == 0 {
			missing++
		}
	}
	require.Zero(i.t, missing, "frames of %d that were lost", count)
	require.Len(i.t, numbers, count)
}

func TestBond_carriesFramesBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		client := b.clients[0]
		require.Equal(t, "wifi0", client.bond.Status().Peers[0].ActiveLink)
		client.send(b.server, 0, 100, time.Millisecond)
		b.server.send(client, 0, 100, time.Millisecond)
		settle(time.Second)
		b.server.tookAll(100)
		client.tookAll(100)
	})
}

func TestBond_losesNothingWhenThePrimaryIsCut(t *testing.T) {
	for _, path := range []memory.Path{
		{Link: "wifi0"},
		{Link: "wifi0", From: netip.MustParseAddr("10.0.0.1")},
		{Link: "wifi0", From: netip.MustParseAddr("10.0.0.2")},
	} {
		t.Run(path.From.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBonded(t, 1, nil)
				settle(3 * time.Second)
				client := b.clients[0]
				var sent sync.WaitGroup
				sent.Go(func() { client.send(b.server, 0, 3000, time.Millisecond) })
				sent.Go(func() { b.server.send(client, 0, 3000, time.Millisecond) })
				time.Sleep(500 * time.Millisecond)
				require.NoError(t, b.network.Cut(path))
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, "mesh0", client.bond.Status().Peers[0].ActiveLink)
				require.Equal(t, "mesh0", b.server.bond.Status().Peers[0].ActiveLink)
				b.network.Heal(path)
				sent.Wait()
				settle(time.Second)
				b.server.tookAll(3000)
				client.tookAll(3000)
				require.Equal(t, "wifi0", client.bond.Status().Peers[0].ActiveLink)
				require.Equal(t, "wifi0", b.server.bond.Status().Peers[0].ActiveLink)
				require.Zero(t, client.bond.Status().Peers[0].Counters.Dropped)
			})
		})
	}
}

func TestBond_switchesFramesBetweenPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 3, nil)
		settle(3 * time.Second)
		a, c := b.clients[0], b.clients[2]
		c.send(a, 0, 1, time.Millisecond) // the server learns where c is
		settle(time.Second)
		b.server.took()
		b.clients[1].took()
		a.send(c, 0, 100, time.Millisecond)
		settle(time.Second)
		c.tookAll(100)
		for _, i := range []*instance{b.clients[1], b.server} {
			require.Empty(t, i.took())
			require.Equal(t, 1, i.overheard, "frames for others, but for the one to an address that was not known yet")
		}
	})
}

func TestBond_Apply_cutsOffARemovedPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 2, nil)
		settle(3 * time.Second)
		gone, stays := b.clients[0], b.clients[1]
		gone.send(b.server, 0, 1, time.Millisecond)
		stays.send(b.server, 0, 1, time.Millisecond)
		settle(time.Second)
		b.server.took()

		state := b.server.state
		b.server.state.Peers = state.Peers[1:]
		var traffic sync.WaitGroup
		traffic.Go(func() { b.server.send(gone, 0, 500, time.Millisecond) })
		traffic.Go(func() { b.server.send(stays, 0, 1000, time.Millisecond) })
		time.Sleep(200 * time.Millisecond)
		b.server.apply()
		synctest.Wait()
		gone.took()
		traffic.Wait()
		gone.send(b.server, 100, 10, time.Millisecond)
		settle(time.Second)
		require.Empty(t, gone.took())
		stays.tookAll(1000)
		require.Empty(t, b.server.took())

		b.server.state = state
		b.server.apply()
		settle(3 * time.Second)
		gone.send(b.server, 0, 10, time.Millisecond)
		settle(time.Second)
		b.server.tookAll(10)
	})
}

func TestBond_Apply_keepsTheOldStateOnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		client := b.clients[0]
		for name, refused := range map[string]struct {
			change func(*multilink.State)
			want   error
		}{
			"link without interface": {func(s *multilink.State) {
				s.Links = append(s.Links, settings.Link{Name: "lte0", Kind: settings.FiveG, Priority: 9})
			}, multilink.ErrUnknownLink},
			"priority twice": {func(s *multilink.State) { s.Links[1].Priority = s.Links[0].Priority }, multilink.ErrDuplicate},
			"peer twice": {func(s *multilink.State) {
				s.Peers = append(s.Peers, multilink.PeerConfig{Name: "again", PublicKey: s.Peers[0].PublicKey})
			}, multilink.ErrDuplicate},
			"peer over an unknown link": {func(s *multilink.State) {
				s.Peers[0].Links = append(s.Peers[0].Links, multilink.PeerLink{Link: "lte0"})
			}, multilink.ErrInvalid},
			"class over an unknown link": {func(s *multilink.State) {
				s.Classes = []settings.Class{{Name: "voip", Links: []string{"lte0"}}}
			}, multilink.ErrInvalid},
			"policy":   {func(s *multilink.State) { s.Bond.Policy = "best" }, multilink.ErrInvalid},
			"no key":   {func(s *multilink.State) { s.PrivateKey = multilink.Key{} }, multilink.ErrInvalid},
			"bad port": {func(s *multilink.State) { s.Port.Name = "a device with a long name" }, multilink.ErrInvalid},
			"port taken": {func(s *multilink.State) { s.Links[0].Interface, s.Links[0].Listen = "mesh0", 51821 },
				multilink.ErrAddressInUse},
		} {
			state := client.state
			state.Links = append([]settings.Link(nil), state.Links...)
			state.Peers = append([]multilink.PeerConfig(nil), state.Peers...)
			if name == "port taken" {
				other, err := client.host.Underlay(t.Context(),
					multilink.UnderlayConfig{Link: "other", Interface: "mesh0", PrivateKey: multilink.Key{1}, Port: 51821})
				require.NoError(t, err)
				defer func() { require.NoError(t, other.Close()) }()
			}
			refused.change(&state)
			require.ErrorIs(t, client.bond.Apply(t.Context(), state), refused.want, name)
		}
		settle(3 * time.Second)
		client.listen() // the port was closed for a moment
		client.send(b.server, 0, 100, time.Millisecond)
		settle(time.Second)
		b.server.tookAll(100)
	})
}

func TestBond_Events_reportsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		client := b.clients[0]
		require.NoError(t, b.network.Carrier("wifi0", false))
		settle(time.Second)
		require.NoError(t, b.network.Carrier("wifi0", true))
		settle(10 * time.Second)
		client.mu.Lock()
		defer client.mu.Unlock()
		var told []string
		for _, e := range client.events {
			require.Equal(t, "server", e.Peer)
			if e.Type == "failover" || e.Type == "return" {
				told = append(told, e.Type+" from "+e.From+" to "+e.Link)
			}
		}
		require.Contains(t, told, "failover from wifi0 to mesh0")
		require.Contains(t, told, "return from mesh0 to wifi0")
	})
}

func TestBond_Events_countsWhatASlowReaderMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		settle(3 * time.Second)
		client := b.clients[0]
		release := make(chan struct{})
		missed := 0
		ended := make(chan error, 1)
		go func() {
			ended <- client.bond.Events(t.Context(), func(e status.Event) {
				<-release
				missed += e.Missed
			})
		}()
		synctest.Wait()
		for range 1000 {
			require.NoError(t, b.network.Carrier("wifi0", false))
			settle(10 * time.Millisecond)
			require.NoError(t, b.network.Carrier("wifi0", true))
			settle(10 * time.Millisecond)
		}
		close(release)
		settle(time.Second)
		require.Positive(t, missed)
		require.NoError(t, client.bond.Close())
		require.ErrorIs(t, <-ended, multilink.ErrClosed)
	})
}

func TestBond_Close_endsEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBonded(t, 1, nil)
		client := b.clients[0]
		require.NoError(t, client.bond.Close())
		require.ErrorIs(t, client.bond.Apply(t.Context(), client.state), multilink.ErrClosed)
		require.ErrorIs(t, client.bond.Switch("wifi0", time.Second), multilink.ErrClosed)
		require.ErrorIs(t, client.bond.Events(t.Context(), func(status.Event) {}), multilink.ErrClosed)
		require.Empty(t, client.bond.Status().Peers)
	})
}

func TestNew_refusesAConfigWithoutHost(t *testing.T) {
	_, err := multilink.New(multilink.Config{})
	require.ErrorIs(t, err, multilink.ErrInvalid)
}
