package memory

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Network is a network in memory: links by name, which lose, delay, reorder and
// duplicate packets as configured, and hosts that are attached to all of them.
//
// The impairment of a packet is drawn from a generator for each link and direction,
// seeded by the network's seed, so that the same packets get the same impairments
// in every run. Time comes from package time alone: under testing/synctest it is
// that of the bubble. The network is safe for use by several goroutines.
type Network struct {
	seed uint64

	mu       sync.Mutex
	closed   bool
	links    map[string]*medium
	hosts    []*Host
	cuts     map[Path]struct{}
	impaired []impairedPath // the one set last is the last
}

// medium is one link of the network.
type medium struct {
	name     string
	mtu      int
	up       bool
	sockets  map[netip.AddrPort]*underlay
	conduits map[[2]netip.Addr]*conduit // by where from and where to
}

// NewNetwork creates a network with links of those names, which carry
// packets of 1,500 bytes. Names that [AddLink] would refuse are left out.
//
// [AddLink]: Network.AddLink
func NewNetwork(seed uint64, links ...string) *Network {
	n := &Network{
		seed:  seed,
		links: map[string]*medium{},
		cuts:  map[Path]struct{}{},
	}
	for _, name := range links {
		_ = n.AddLink(name, 0) // documented: what is refused is not there
	}
	return n
}

// AddLink adds a link, and an interface of that name to every host. mtu is its
// largest IP packet in bytes; zero is 1,500. A name that is taken is
// ErrDuplicate.
func (n *Network) AddLink(name string, mtu int) error {
	switch {
	case !settings.ValidName(name):
		return fmt.Errorf("add link %q: name: %w", name, multilink.ErrInvalid)
	case mtu < 0 || mtu > 65535:
		return fmt.Errorf("add link %q: mtu: must be 0 to 65535, got %d: %w", name, mtu, multilink.ErrInvalid)
	case mtu == 0:
		mtu = 1500
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return fmt.Errorf("add link %q: %w", name, multilink.ErrClosed)
	}
	if n.links[name] != nil {
		return fmt.Errorf("add link %q: %w", name, multilink.ErrDuplicate)
	}
	n.links[name] = &medium{
		name: name, mtu: mtu, up: true,
		sockets:  map[netip.AddrPort]*underlay{},
		conduits: map[[2]netip.Addr]*conduit{},
	}
	for _, h := range n.hosts {
		h.attachLocked(n.links[name])
	}
	return nil
}

// RemoveLink takes the link, and its interface, from every host. Tunnels over
// it return ErrLinkDown from then on.
func (n *Network) RemoveLink(name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.links[name] == nil {
		return fmt.Errorf("remove link %q: %w", name, multilink.ErrUnknownLink)
	}
	delete(n.links, name)
	for _, h := range n.hosts {
		h.detachLocked(name)
	}
	return nil
}

// Carrier takes the carrier of a link away at all hosts, or gives it back.
// [Host.Carrier] does so at one of them.
func (n *Network) Carrier(link string, up bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.links[link]
	if m == nil {
		return fmt.Errorf("set carrier of link %q: %w", link, multilink.ErrUnknownLink)
	}
	if m.up == up {
		return nil
	}
	m.up = up
	for _, h := range n.hosts {
		h.interfaces[link].publishLocked()
	}
	return nil
}

// Cut drops everything on a path, without an error to any sender, until Heal.
// Packets that are under way arrive.
func (n *Network) Cut(path Path) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if path.Link != "" && n.links[path.Link] == nil {
		return fmt.Errorf("cut link %q: %w", path.Link, multilink.ErrUnknownLink)
	}
	n.cuts[path] = struct{}{}
	return nil
}

// Heal ends every cut of a part of the path. The zero path ends them all.
func (n *Network) Heal(path Path) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for cut := range n.cuts {
		if path.covers(cut) {
			delete(n.cuts, cut)
		}
	}
}

// Impair impairs packets on the path from now on. It replaces what was set before
// for any part of the path. The zero value of an impairment is a perfect link.
func (n *Network) Impair(path Path, with Impairment) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if path.Link != "" && n.links[path.Link] == nil {
		return fmt.Errorf("impair link %q: %w", path.Link, multilink.ErrUnknownLink)
	}
	if err := with.Check(); err != nil {
		return fmt.Errorf("impair link %q: %w", path.Link, err)
	}
	n.impaired = slices.DeleteFunc(n.impaired, func(p impairedPath) bool { return path.covers(p.path) })
	n.impaired = append(n.impaired, impairedPath{path, with})
	return nil
}

// Host attaches a host with that address to every link. An address that is
// taken is ErrDuplicate.
func (n *Network) Host(address netip.Addr) (*Host, error) {
	if !address.IsValid() || address.IsUnspecified() {
		return nil, fmt.Errorf("attach host %v: address: %w", address, multilink.ErrInvalid)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, fmt.Errorf("attach host %v: %w", address, multilink.ErrClosed)
	}
	for _, other := range n.hosts {
		if other.hasLocked(address) {
			return nil, fmt.Errorf("attach host %v: %w", address, multilink.ErrDuplicate)
		}
	}
	h := &Host{
		network:    n,
		address:    address,
		interfaces: map[string]*attachment{},
		ports:      map[string]*plug{},
	}
	for _, m := range n.links {
		h.attachLocked(m)
	}
	n.hosts = append(n.hosts, h)
	return h, nil
}

// Close closes all hosts, and with them every goroutine of the network. A
// second Close returns nil.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	hosts := slices.Clone(n.hosts)
	n.mu.Unlock()
	var failed []error
	for _, h := range hosts {
		failed = append(failed, h.Close())
	}
	return errors.Join(failed...)
}

// severedLocked reports whether a cut lies on the way.
func (n *Network) severedLocked(way Path) bool {
	for cut := range n.cuts {
		if cut.covers(way) {
			return true
		}
	}
	return false
}

// impairmentLocked returns the impairment of a way.
func (n *Network) impairmentLocked(way Path) Impairment {
	for i := len(n.impaired) - 1; i >= 0; i-- {
		if n.impaired[i].path.covers(way) {
			return n.impaired[i].with
		}
	}
	return Impairment{}
}
