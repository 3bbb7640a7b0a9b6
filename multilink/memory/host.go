package memory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/multilink"
)

// Host is a [multilink.Host] on a [Network]. Its ports are pipes. [Host.Plug] returns
// the other end of a port, in the role of the host's applications.
type Host struct {
	network *Network
	address netip.Addr

	// What follows is guarded by the network's lock.
	closed     bool
	interfaces map[string]*attachment
	ports      map[string]*plug
	underlays  []*underlay
	lastPort   uint16
}

// plug is a port with both its ends.
type plug struct {
	config    multilink.PortConfig
	near, far *Port
}

// Address returns the one that the host was attached with.
func (h *Host) Address() netip.Addr { return h.address }

// Port creates a pipe and returns the near end.
func (h *Host) Port(ctx context.Context, config multilink.PortConfig) (multilink.FramePort, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create port %q: %w", config.Name, err)
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("create port %q: %w", config.Name, multilink.ErrClosed)
	}
	if h.ports[config.Name] != nil || h.interfaces[config.Name] != nil {
		return nil, fmt.Errorf("create port %q: %w", config.Name, multilink.ErrDuplicate)
	}
	for _, member := range config.Members {
		if h.interfaces[member] == nil {
			return nil, fmt.Errorf("create port %q: join member %q: %w", config.Name, member, multilink.ErrUnknownLink)
		}
	}
	plug := &plug{config: config}
	plug.near, plug.far = NewPipe(config.MTU)
	plug.near.removed = func() {
		h.network.mu.Lock()
		defer h.network.mu.Unlock()
		if h.ports[config.Name] == plug {
			delete(h.ports, config.Name)
		}
	}
	h.ports[config.Name] = plug
	return plug.near, nil
}

// Plug returns the far end of a port: frames that are written to it are read
// from the port, and the other way round. A port that is not there is
// ErrUnknownLink.
func (h *Host) Plug(port string) (*Port, error) {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	plug := h.ports[port]
	if plug == nil {
		return nil, fmt.Errorf("plug into port %q: %w", port, multilink.ErrUnknownLink)
	}
	return plug.far, nil
}

// Ports returns the settings of the ports that there are, by name.
func (h *Host) Ports() []multilink.PortConfig {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	var all []multilink.PortConfig
	for _, plug := range h.ports {
		all = append(all, plug.config)
	}
	slices.SortFunc(all, func(a, b multilink.PortConfig) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Link watches an interface, which has the name of the network's link.
func (h *Host) Link(ctx context.Context, name string) (multilink.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("watch link %q: %w", name, err)
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("watch link %q: %w", name, multilink.ErrClosed)
	}
	i := h.interfaces[name]
	if i == nil {
		return nil, fmt.Errorf("watch link %q: %w", name, multilink.ErrUnknownLink)
	}
	l := &watch{network: h.network, iface: i}
	i.watchers = append(i.watchers, l)
	return l, nil
}

// Links returns the interfaces, by name.
func (h *Host) Links(ctx context.Context) ([]multilink.LinkInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	if h.closed {
		return nil, fmt.Errorf("list links: %w", multilink.ErrClosed)
	}
	var all []multilink.LinkInfo
	for _, i := range h.interfaces {
		all = append(all, i.info())
	}
	slices.SortFunc(all, func(a, b multilink.LinkInfo) int { return strings.Compare(a.Interface, b.Interface) })
	return all, nil
}

// Underlay creates the tunnels of one link. An empty Interface is the one with
// the link's name.
func (h *Host) Underlay(ctx context.Context, config multilink.UnderlayConfig) (multilink.Underlay, error) {
	fail := func(cause error) (multilink.Underlay, error) {
		return nil, fmt.Errorf("create underlay of link %q: %w", config.Link, cause)
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if config.PrivateKey.IsZero() {
		return fail(fmt.Errorf("private key: %w", multilink.ErrInvalid))
	}
	public, err := config.PrivateKey.PublicKey()
	if err != nil {
		return fail(err)
	}
	name := config.Interface
	if name == "" {
		name = config.Link
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	i := h.interfaces[name]
	switch {
	case h.closed:
		return fail(multilink.ErrClosed)
	case i == nil:
		return fail(fmt.Errorf("interface %q: %w", name, multilink.ErrUnknownLink))
	case config.LinkMTU < 0 || config.LinkMTU > 65535:
		return fail(fmt.Errorf("link mtu: must be 0 to 65535, got %d: %w", config.LinkMTU, multilink.ErrInvalid))
	}
	port, err := h.freePortLocked(i, config.Port)
	if err != nil {
		return fail(err)
	}
	u := &underlay{host: h, iface: i, port: port, public: public, linkMTU: config.LinkMTU, tunnels: map[multilink.Key]*tunnel{}}
	i.medium.sockets[netip.AddrPortFrom(i.address, port)] = u
	h.underlays = append(h.underlays, u)
	return u, nil
}

// freePortLocked returns the wanted port, or any if none is.
func (h *Host) freePortLocked(i *attachment, want uint16) (uint16, error) {
	const first = 49152 // of the dynamic ports, RFC 6335 section 6
	taken := func(port uint16) bool { return i.medium.sockets[netip.AddrPortFrom(i.address, port)] != nil }
	if want != 0 {
		if taken(want) {
			return 0, fmt.Errorf("port %d: %w", want, multilink.ErrAddressInUse)
		}
		return want, nil
	}
	for range 1 << 16 {
		if h.lastPort++; h.lastPort < first {
			h.lastPort = first
		}
		if !taken(h.lastPort) {
			return h.lastPort, nil
		}
	}
	return 0, fmt.Errorf("no port is free: %w", multilink.ErrAddressInUse)
}

// Carrier removes or restores the carrier of a link at this host alone.
func (h *Host) Carrier(link string, up bool) error {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	i := h.interfaces[link]
	if i == nil {
		return fmt.Errorf("set carrier of link %q: %w", link, multilink.ErrUnknownLink)
	}
	if i.up != up {
		i.up = up
		i.publishLocked()
	}
	return nil
}

// Move gives the host another address on a link, as roaming between networks
// does. Paths of the network keep the one that it was attached with.
func (h *Host) Move(link string, to netip.Addr) error {
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	i := h.interfaces[link]
	switch {
	case i == nil:
		return fmt.Errorf("move on link %q: %w", link, multilink.ErrUnknownLink)
	case !to.IsValid() || to.IsUnspecified():
		return fmt.Errorf("move on link %q: address: %w", link, multilink.ErrInvalid)
	}
	for _, other := range h.network.hosts {
		if other != h && other.hasLocked(to) {
			return fmt.Errorf("move on link %q to %v: %w", link, to, multilink.ErrDuplicate)
		}
	}
	for _, u := range h.underlays {
		if u.iface == i {
			delete(i.medium.sockets, netip.AddrPortFrom(i.address, u.port))
			i.medium.sockets[netip.AddrPortFrom(to, u.port)] = u
		}
	}
	i.address = to
	i.publishLocked()
	return nil
}

// Close detaches the host and closes all that it created.
func (h *Host) Close() error {
	n := h.network
	n.mu.Lock()
	h.closed = true
	n.hosts = slices.DeleteFunc(n.hosts, func(other *Host) bool { return other == h })
	underlays := slices.Clone(h.underlays)
	var ports []*plug
	for _, plug := range h.ports {
		ports = append(ports, plug)
	}
	for _, i := range h.interfaces {
		i.unwatchLocked()
	}
	n.mu.Unlock()

	var failed []error
	for _, u := range underlays {
		failed = append(failed, u.Close())
	}
	for _, plug := range ports {
		failed = append(failed, plug.near.Close())
	}
	return errors.Join(failed...)
}

// hasLocked reports whether the host has the address.
func (h *Host) hasLocked(address netip.Addr) bool {
	if h.address == address {
		return true
	}
	for _, i := range h.interfaces {
		if i.address == address {
			return true
		}
	}
	return false
}

// attachLocked adds the interface of a link.
func (h *Host) attachLocked(m *medium) {
	h.interfaces[m.name] = &attachment{medium: m, home: h.address, address: h.address, up: true}
}

// detachLocked removes the interface of a link.
func (h *Host) detachLocked(link string) {
	i := h.interfaces[link]
	delete(h.interfaces, link)
	i.gone = true
	i.publishLocked()
}
