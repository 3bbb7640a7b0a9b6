package linktest_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/linktest"
	"github.com/iotenablers/enablers/multilink/memory"
)

// inMemory returns a harness over hosts in memory, new ones for each check: a number
// is a host until its underlay was closed and opened again by another check.
func inMemory(t *testing.T) linktest.UnderlayHarness {
	network := memory.NewNetwork(1, "wifi")
	t.Cleanup(func() { require.NoError(t, network.Close()) })
	hosts := map[int]*memory.Host{}
	moves := 0
	return linktest.UnderlayHarness{
		Link: "wifi",
		Underlay: func(n int, config multilink.UnderlayConfig) (multilink.Underlay, netip.Addr, error) {
			if hosts[n] == nil {
				host, err := network.Host(netip.AddrFrom4([4]byte{10, 0, 0, byte(n + 1)}))
				if err != nil {
					return nil, netip.Addr{}, err
				}
				hosts[n] = host
			}
			u, err := hosts[n].Underlay(t.Context(), config)
			if err != nil {
				return nil, netip.Addr{}, err
			}
			links, err := hosts[n].Links(t.Context())
			if err != nil {
				return nil, netip.Addr{}, err
			}
			return u, netip.MustParsePrefix(links[0].Addresses[0]).Addr(), nil
		},
		Roam: func(n int) error {
			moves++
			return hosts[n].Move("wifi", netip.AddrFrom4([4]byte{10, 0, 1, byte(moves)}))
		},
		Slow: func(n int) (func(), error) {
			path := memory.Path{Link: "wifi", From: hosts[n].Address()}
			err := network.Impair(path, memory.Impairment{Rate: 1_000_000})
			return func() { _ = network.Impair(path, memory.Impairment{}) }, err
		},
	}
}

func TestUnderlayChecks_passForMemory(t *testing.T) {
	for _, c := range linktest.UnderlayChecks() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.NoError(t, c.Run(inMemory(t)))
			})
		})
	}
}

func TestRunFramePort_passesForMemory(t *testing.T) {
	linktest.RunFramePort(t, linktest.PortHarness{Port: func() (multilink.FramePort, multilink.FramePort, error) {
		port, far := memory.NewPipe(0)
		return port, far, nil
	}})
}

func TestRunHost_passesForMemory(t *testing.T) {
	network := memory.NewNetwork(1, "wifi")
	t.Cleanup(func() { require.NoError(t, network.Close()) })
	linktest.RunHost(t, linktest.HostHarness{
		Host: func() (multilink.Host, error) {
			return network.Host(netip.MustParseAddr("10.0.0.1"))
		},
		Link: "wifi",
		Carrier: func(_ multilink.Host, up bool) error {
			return network.Carrier("wifi", up)
		},
	})
}

// faultyUnderlay changes what is sent, or how it is opened.
type faultyUnderlay struct {
	multilink.Underlay
	open func(multilink.TunnelPeer) multilink.TunnelPeer
	wrap func(multilink.Tunnel) multilink.Tunnel
}

func (u faultyUnderlay) Open(peer multilink.TunnelPeer, receive func([][]byte)) (multilink.Tunnel, error) {
	if u.open != nil {
		peer = u.open(peer)
	}
	t, err := u.Underlay.Open(peer, receive)
	if err == nil && u.wrap != nil {
		t = u.wrap(t)
	}
	return t, err
}

// backwards sends batches the wrong way round.
type backwards struct{ multilink.Tunnel }

func (b backwards) Send(packets [][]byte) error {
	for i := len(packets) - 1; i >= 0; i-- {
		if err := b.Tunnel.Send(packets[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// shortened loses the first byte of the header.
type shortened struct{ multilink.Tunnel }

func (s shortened) Send(packets [][]byte) error {
	for _, p := range packets {
		if err := s.Tunnel.Send([][]byte{append([]byte{0}, p[1:]...)}); err != nil {
			return err
		}
	}
	return nil
}

// forgetful stays open after Close.
type forgetful struct{ multilink.Tunnel }

func (forgetful) Close() error { return nil }

// queued has control packets wait behind all others.
type queued struct{ multilink.Tunnel }

func (q queued) SendControl(p []byte) error { return q.Tunnel.Send([][]byte{p}) }

// slow returns once everything has left.
type slow struct{ multilink.Tunnel }

func (s slow) SendControl(p []byte) error {
	err := s.Tunnel.SendControl(p)
	time.Sleep(time.Second) // of the bubble's clock
	return err
}

// stuck waits for an answer of the peer.
type stuck struct {
	multilink.Tunnel
	released chan struct{}
}

func (s stuck) Send(packets [][]byte) error {
	if s.Stats().Handshake.IsZero() {
		<-s.released
	}
	return s.Tunnel.Send(packets)
}

func TestUnderlayChecks_findFaultyUnderlays(t *testing.T) {
	wrap := func(f func(multilink.Tunnel) multilink.Tunnel) faultyUnderlay { return faultyUnderlay{wrap: f} }
	for _, c := range []struct {
		check string
		fault faultyUnderlay
	}{
		{"packets arrive whole and in order", wrap(func(t multilink.Tunnel) multilink.Tunnel { return backwards{t} })},
		{"Send copies", wrap(func(t multilink.Tunnel) multilink.Tunnel { return shortened{t} })},
		{"a peer that is removed", wrap(func(t multilink.Tunnel) multilink.Tunnel { return forgetful{t} })},
		{"a tunnel that is closed", wrap(func(t multilink.Tunnel) multilink.Tunnel { return forgetful{t} })},
		{"control goes first", wrap(func(t multilink.Tunnel) multilink.Tunnel { return queued{t} })},
		{"control goes first", wrap(func(t multilink.Tunnel) multilink.Tunnel { return slow{t} })},
		{"another preshared key", faultyUnderlay{open: func(p multilink.TunnelPeer) multilink.TunnelPeer {
			p.PresharedKey = multilink.Key{}
			return p
		}}},
	} {
		t.Run(c.check, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { requireFinds(t, c.check, c.fault) })
		})
	}
	t.Run("no answer from the other end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			released := make(chan struct{})
			defer close(released)
			requireFinds(t, "no answer from the other end",
				wrap(func(t multilink.Tunnel) multilink.Tunnel { return stuck{t, released} }))
		})
	})
}

// requireFinds requires that a check fails for a fault.
func requireFinds(t *testing.T, check string, fault faultyUnderlay) {
	t.Helper()
	h := inMemory(t)
	made := h.Underlay
	h.Underlay = func(n int, config multilink.UnderlayConfig) (multilink.Underlay, netip.Addr, error) {
		u, address, err := made(n, config)
		if err != nil {
			return nil, address, err
		}
		faulty := fault
		faulty.Underlay = u
		return faulty, address, nil
	}
	for _, c := range linktest.UnderlayChecks() {
		if c.Name == check {
			err := c.Run(h)
			require.ErrorContains(t, err, fmt.Sprintf("%s: the rule is: %s", c.Name, c.Rule))
			return
		}
	}
	t.Fatal("there is no such check")
}
