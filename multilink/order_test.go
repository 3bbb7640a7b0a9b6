package multilink_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
)

// gatedHost is a host whose port blocks while it writes a chosen frame, and whose
// links let only chosen frames pass.
type gatedHost struct {
	multilink.Host
	release chan struct{}   // the write of frame 1 waits for it
	only    map[string]byte // the frame that a link lets pass

	mu      sync.Mutex
	blocked bool // frame 1 is being written
	written []byte
}

func (h *gatedHost) Port(ctx context.Context, config multilink.PortConfig) (multilink.FramePort, error) {
	port, err := h.Host.Port(ctx, config)
	return gatedPort{port, h}, err
}

func (h *gatedHost) Underlay(ctx context.Context, config multilink.UnderlayConfig) (multilink.Underlay, error) {
	under, err := h.Host.Underlay(ctx, config)
	return gatedUnderlay{under, h, h.only[config.Link]}, err
}

type gatedPort struct {
	multilink.FramePort
	host *gatedHost
}

func (p gatedPort) Write(frames [][]byte) error {
	for _, frame := range frames {
		number := frame[len(frame)-1]
		if number == 1 {
			p.host.mu.Lock()
			p.host.blocked = true
			p.host.mu.Unlock()
			<-p.host.release
		}
		p.host.mu.Lock()
		p.host.written = append(p.host.written, number)
		p.host.mu.Unlock()
	}
	return nil
}

type gatedUnderlay struct {
	multilink.Underlay
	host *gatedHost
	only byte
}

func (u gatedUnderlay) Open(peer multilink.TunnelPeer, receive func([][]byte)) (multilink.Tunnel, error) {
	return u.Underlay.Open(peer, func(packets [][]byte) {
		var pass [][]byte
		for _, p := range packets {
			if frame := p[0]>>3&7 == 1; !frame || p[len(p)-1] == u.only {
				pass = append(pass, p)
			}
		}
		receive(pass)
	})
}

// Goroutines of several links deliver what one peer sent. What was received first
// is delivered first, and a delivery that takes long keeps no packet from the bond.
func TestBond_deliversFramesOfAllLinksInTheOrderReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memory.NewNetwork(1, "wifi0", "mesh0")
		defer network.Close()
		require.NoError(t, network.Impair(memory.Path{Link: "mesh0"}, memory.Impairment{Delay: 5 * time.Millisecond}))
		private := [2]multilink.Key{{8}, {16}}
		addresses := [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
		gated := &gatedHost{release: make(chan struct{}), only: map[string]byte{"wifi0": 1, "mesh0": 2}}
		var sender *memory.Host
		var receiver *multilink.Bond
		for i := range private {
			host, err := network.Host(addresses[i])
			require.NoError(t, err)
			config := multilink.Config{Host: host}
			if sender = host; i == 0 {
				gated.Host = host
				config.Host = gated
			}
			bond, err := multilink.New(config)
			require.NoError(t, err)
			defer bond.Close()
			if i == 0 {
				receiver = bond
			}
			public, err := private[1-i].PublicKey()
			require.NoError(t, err)
			state := multilink.State{
				PrivateKey: private[i], Port: multilink.PortConfig{Name: "tap0"},
				Bond: settings.Bond{Policy: settings.Redundant},
				Links: []settings.Link{
					{Name: "wifi0", Kind: settings.WiFi, Listen: 1001},
					{Name: "mesh0", Kind: settings.Mesh, Priority: 1, Listen: 1002},
				},
				Peers: []multilink.PeerConfig{{Name: "other", PublicKey: public, Links: []multilink.PeerLink{
					{Link: "wifi0", Endpoint: netip.AddrPortFrom(addresses[1-i], 1001)},
					{Link: "mesh0", Endpoint: netip.AddrPortFrom(addresses[1-i], 1002)},
				}}},
			}
			require.NoError(t, bond.Apply(t.Context(), state))
		}
		time.Sleep(5 * time.Second)
		application, err := sender.Plug("tap0")
		require.NoError(t, err)
		for number := range byte(2) {
			frame := make([]byte, 60)
			frame[0] = 2
			frame[6] = 6
			frame[len(frame)-1] = number + 1
			require.NoError(t, application.Write([][]byte{frame}))
		}
		time.Sleep(20 * time.Millisecond)
		gated.mu.Lock()
		require.True(t, gated.blocked)
		require.Empty(t, gated.written)
		gated.mu.Unlock()
		require.EqualValues(t, 2, receiver.Status().Peers[0].Counters.RxFrames, "received, though not delivered")
		close(gated.release)
		synctest.Wait()
		require.Equal(t, []byte{1, 2}, gated.written)
	})
}
