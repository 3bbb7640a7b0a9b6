package multilink

import "net/netip"

// Host is the machine whose interfaces carry links and whose applications talk
// through a port.
//
// It is safe for use by several goroutines. Everything that it makes is gone
// after Close; what a process that was killed left behind goes when the next
// Host of the same name is made.
type Host interface {
	// Port makes a port. A name that is taken is ErrDuplicate, a missing right
	// ErrDenied with the capability's name, a bad address ErrInvalid.
	Port(PortConfig) (FramePort, error)
	// Link watches an interface. One that does not exist is ErrUnknownLink,
	// one that the settings exclude ErrDenied.
	Link(name string) (Link, error)
	// Links are the interfaces that may carry a link.
	Links() ([]LinkInfo, error)
	// Underlay makes the tunnels of one link.
	Underlay(UnderlayConfig) (Underlay, error)
	// Close removes everything that the host made. A second Close returns nil.
	Close() error
}

// PortConfig describes a port and how the host uses it.
type PortConfig struct {
	// Name of the device. Up to 15 bytes.
	Name string
	// Addresses of the host on the bonded network, as host address and
	// prefix length.
	Addresses []netip.Prefix
	// Bridge to make the port a member of. It is made where it does not exist,
	// and then has the Addresses. Empty is none.
	Bridge string
	// Members are interfaces to join to the bridge, such as a LAN's.
	Members []string
	// Routes through the bonded network.
	Routes []Route
	// MTU in bytes. Zero is 1,500.
	MTU int
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
	// LinkMTU is the largest IP packet that the link carries. Zero asks the
	// interface, or is 1,500.
	LinkMTU int
}
