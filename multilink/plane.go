package multilink

import (
	"context"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Plane moves frames as a [State] says. [Bond] is the plane of this package;
// multilink/kernel is one of the kernel's own bonding and WireGuard.
//
// It is safe for use by several goroutines.
type Plane interface {
	// Apply makes the state hold, by the smallest change: what did not change is
	// not disturbed. It checks everything first. When it returns an error, the
	// state before still holds.
	Apply(ctx context.Context, state State) error
	// Status reports what the plane is doing now.
	Status() Status
	// Switch makes the plane prefer the named link for that time, for maintenance.
	// An empty name ends that early.
	Switch(link string, hold time.Duration) error
	// Events calls f with every event from now on, in order, until the context
	// ends or the plane is closed. A reader that is 1,024 events behind loses the
	// oldest; the next event counts them.
	Events(ctx context.Context, f func(status.Event)) error
	// Close ends everything and removes what the plane created. A second Close returns
	// nil.
	Close() error
}

// State is the desired state of a plane.
type State struct {
	Port  PortConfig
	Links []settings.Link
	// Absent are further links, by name, that are managed and whose interface does
	// not exist. A class may name them: one that names no other link has none, and
	// its frames are not sent over others.
	Absent  []string
	Peers   []PeerConfig
	Bond    settings.Bond
	Classes []settings.Class
	// PrivateKey of this instance, for all of its links.
	PrivateKey Key
}

// PeerConfig is the other end of tunnels: a client of a server, or the server of a
// client.
type PeerConfig struct {
	// Name for people. No two peers share one.
	Name string
	// PublicKey identifies the peer.
	PublicKey Key
	// Links over which it is reached. Each is one of the state's.
	Links []PeerLink
	// Addresses of the peer on the bonded network. A Bond that isolates peers drops
	// what others send to claim them, by ARP and Neighbor Discovery.
	Addresses []netip.Prefix
}

// PeerLink is how a peer is reached over one of the links.
type PeerLink struct {
	Link string
	// Endpoint of the peer. With the zero value this end waits for a handshake.
	Endpoint     netip.AddrPort
	PresharedKey Key
}

// Status is what a plane is doing.
type Status struct {
	Port  string
	Links []status.Link // of this instance, over all peers, by priority
	Peers []PeerStatus  // by name
}

// PeerStatus is a peer and its bond.
type PeerStatus struct {
	Name      string
	PublicKey Key
	// Connected is true while any link to it is Up or Suspect.
	Connected bool `metric:"connected" help:"1 while a link to the peer is usable."`
	// ActiveLink carries its frames. It is empty while no link does.
	ActiveLink string
	// Conflict says that another instance uses the key of the peer, or of this one:
	// they take each other's place. It is empty without a conflict.
	Conflict  string `metric:"conflict" help:"1 while another instance uses the key of the peer, or of this one."`
	Handshake time.Time
	Links     []status.Link
	Counters  status.Counters
}
