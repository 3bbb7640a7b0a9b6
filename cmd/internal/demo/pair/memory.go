package pair

import (
	"errors"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/settings"
)

// firstPort is where the server listens on the first link.
const firstPort = 51820

// Memory is a network in memory with two hosts. Its links have the usual delays
// of their technologies.
type Memory struct {
	Network        *memory.Network
	Server, Client *memory.Host
	// Links, the primary first.
	Links []Link
}

// NewMemory creates the network, of a WiFi, a mesh and a 5G link. The caller closes it.
func NewMemory() (_ *Memory, err error) {
	m := &Memory{Network: memory.NewNetwork(1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Network.Close())
		}
	}()
	m.Links = Links(func(link int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(firstPort+link))
	})
	for i, l := range m.Links {
		delay := time.Duration(1+4*i) * time.Millisecond
		impairment := memory.Impairment{Delay: delay, Jitter: delay / 4}
		if err := errors.Join(m.Network.AddLink(l.Name, 0), m.Network.Impair(memory.Path{Link: l.Name}, impairment)); err != nil {
			return nil, err
		}
	}
	if m.Server, err = m.Network.Host(netip.AddrFrom4([4]byte{192, 0, 2, 1})); err != nil {
		return nil, err
	}
	m.Client, err = m.Network.Host(netip.AddrFrom4([4]byte{192, 0, 2, 2}))
	return m, err
}

// Links are those of demonstrations, the primary first, where the server listens on
// each at that endpoint.
func Links(endpoint func(link int) netip.AddrPort) []Link {
	links := []Link{{Name: "wifi0", Kind: settings.WiFi}, {Name: "mesh0", Kind: settings.Mesh}, {Name: "wwan0", Kind: settings.FiveG}}
	for i := range links {
		links[i].Endpoint = endpoint(i).String()
	}
	return links
}

// Close ends the network and its hosts.
func (m *Memory) Close() error { return m.Network.Close() }
