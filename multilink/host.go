package multilink

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/iotenablers/enablers/multilink/settings"
)

// Host is the machine whose interfaces carry links and whose applications talk
// through a port.
//
// It is safe for use by several goroutines. A context bounds the call alone, not
// the life of what the call creates: a call whose context has ended creates nothing
// and returns the context's error. Everything that a Host creates is gone after
// Close; what a killed process left behind is removed when the next Host of the
// same name is opened.
type Host interface {
	// Port creates a port. A name that is taken is ErrDuplicate, a missing right
	// ErrDenied with the capability's name, a bad address ErrInvalid.
	Port(ctx context.Context, config PortConfig) (FramePort, error)
	// Link watches an interface. One that does not exist is ErrUnknownLink,
	// one that the settings exclude ErrDenied.
	Link(ctx context.Context, name string) (Link, error)
	// Links are the interfaces that may carry a link.
	Links(ctx context.Context) ([]LinkInfo, error)
	// Underlay creates the tunnels of one link.
	Underlay(ctx context.Context, config UnderlayConfig) (Underlay, error)
	// Close removes everything that the host created. A second Close returns nil.
	Close() error
}

// PortConfig describes a port and how the host uses it.
type PortConfig struct {
	// Name of the device. Up to 15 bytes.
	Name string
	// Addresses of the host on the bonded network, as host address and
	// prefix length.
	Addresses []netip.Prefix
	// Bridge to make the port a member of. It is created where it does not exist,
	// and then has the Addresses. Empty means none.
	Bridge string
	// Members are interfaces to join to the bridge, such as a LAN's.
	Members []string
	// Routes through the bonded network.
	Routes []Route
	// MTU in bytes. Zero is 1,500.
	MTU int
}

const (
	maxPortName = 15 // of a device of Linux, with the zero behind it 16
	minPortMTU  = 576
	maxPortMTU  = 9000
)

// Check reports the first field of c that is not allowed. It wraps ErrInvalid.
func (c PortConfig) Check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("port %q: %s: %s: %w", c.Name, field, fmt.Sprintf(format, args...), ErrInvalid)
	}
	device := func(name string) bool { return settings.ValidName(name) && len(name) <= maxPortName }
	switch {
	case !device(c.Name):
		return bad("name", "must be 1 to %d letters, digits, '.', '-' or '_', got %q", maxPortName, c.Name)
	case c.Bridge != "" && (!device(c.Bridge) || c.Bridge == c.Name):
		return bad("bridge", "must be the name of another device, got %q", c.Bridge)
	case c.Bridge == "" && len(c.Members) > 0:
		return bad("members", "must be empty without a bridge")
	case c.MTU != 0 && (c.MTU < minPortMTU || c.MTU > maxPortMTU):
		return bad("mtu", "must be %d to %d, got %d", minPortMTU, maxPortMTU, c.MTU)
	}
	for i, member := range c.Members {
		if !device(member) || member == c.Name || member == c.Bridge {
			return bad(fmt.Sprintf("members[%d]", i), "must be the name of another device, got %q", member)
		}
	}
	for i, address := range c.Addresses {
		if !address.IsValid() || address.Addr().IsUnspecified() || address.Addr().IsMulticast() {
			return bad(fmt.Sprintf("addresses[%d]", i), "must be the address of a host with a prefix length, got %v", address)
		}
	}
	for i, route := range c.Routes {
		if !route.Destination.IsValid() {
			return bad(fmt.Sprintf("routes[%d].destination", i), "must be a prefix, got %v", route.Destination)
		}
		if g := route.Gateway; g.IsValid() && g.Is4() != route.Destination.Addr().Is4() {
			return bad(fmt.Sprintf("routes[%d].gateway", i), "must be an address of the destination's family, got %v", g)
		}
	}
	return nil
}

// Route is a destination that is reached over the bonded network.
type Route struct {
	Destination netip.Prefix
	// Gateway on the bonded network. The zero value is none: the destination
	// is on it.
	Gateway netip.Addr
}

// UnderlayConfig describes one link's end of its tunnels.
type UnderlayConfig struct {
	// Link's name, for messages.
	Link string
	// Interface to bind to. Empty binds to none.
	Interface string
	// PrivateKey of this end, the same for all peers.
	PrivateKey Key
	// Port to listen on. Zero takes a free one. One that is taken is
	// ErrAddressInUse.
	Port uint16
	// LinkMTU is the largest IP packet that the link carries. Zero is that of
	// the interface, or 1,500 without one.
	LinkMTU int
}
