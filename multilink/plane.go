package multilink

import (
	"context"
	"net/netip"
	"time"
)

// Plane moves frames as a [State] says. [Engine] is the plane of this package;
// multilink/kernel is one of the kernel's own bonding and WireGuard.
//
// It is safe for use by several goroutines.
type Plane interface {
	// Apply makes the state hold, by the smallest change: what did not change
	// is not disturbed. It checks everything first: when it refuses, what held
	// before still holds.
	Apply(ctx context.Context, state State) error
	// Status is what is going on now.
	Status() Status
	// Switch has the bonds prefer the named link for that time, for the sake of
	// maintenance. An empty name ends that early.
	Switch(link string, hold time.Duration) error
	// Events calls f with every event from now on, in order, until the context
	// ends. A reader that is slower than 1,024 events misses the oldest and is
	// told how many. It returns when the context ends or the plane is closed.
	Events(ctx context.Context, f func(Event)) error
	// Close ends everything and removes what was made. A second Close returns nil.
	Close() error
}

// State is what an instance is told to be.
type State struct {
	Port    PortConfig
	Links   []LinkConfig
	Peers   []PeerConfig
	Bond    BondConfig
	Classes []Class
	// PrivateKey of this instance, for all of its links.
	PrivateKey Key
}

// PeerConfig is somebody at the other end: the clients of a server, or the
// server of a client.
type PeerConfig struct {
	// Name for people. No two peers share one.
	Name string
	// PublicKey identifies the peer.
	PublicKey Key
	// Links over which it may be reached. Each is one of the state's.
	Links []PeerLink
	// Addresses of the peer on the bonded network. They are informative.
	Addresses []netip.Prefix
}

// PeerLink is how a peer is reached over one of the links.
type PeerLink struct {
	Link string
	// Endpoint to call. The zero value waits to be called.
	Endpoint     netip.AddrPort
	PresharedKey Key
}

// LinkState is what is thought of a link, by the more pessimistic of its two
// directions.
type LinkState string

// The states of a link. A link carries frames in Up, and in Suspect until
// another one takes over.
const (
	// Disabled by the administrator.
	Disabled LinkState = "disabled"
	// Down: nothing is heard, or the carrier is gone.
	Down LinkState = "down"
	// Probing: heard again, and waited for to stay.
	Probing LinkState = "probing"
	// Up: in use or ready for it.
	Up LinkState = "up"
	// Suspect: late, but not for long enough to be down, or beyond its limits
	// of loss and delay.
	Suspect LinkState = "suspect"
)

// Status is what a plane is doing.
type Status struct {
	Port  string
	Links []LinkStatus // of this instance, over all peers, by priority
	Peers []PeerStatus // by name
}

// LinkStatus is a link as this instance sees it. Where a server has several
// peers, State is the best of any, and the figures are sums and worst cases.
type LinkStatus struct {
	Name, Interface string
	Kind            Kind
	Priority        int
	State           LinkState
	// Active is true while the link carries the frames of a peer.
	Active bool
	// RTT is the smoothed round trip, Jitter its variation. Zero is unknown.
	RTT, Jitter time.Duration
	// Loss is the fraction of probes that did not arrive, by direction, over
	// about the last hundred.
	LossTx, LossRx float64
	// Bytes of packets since the link was added.
	TxBytes, RxBytes uint64
	// Port is the UDP port of this end.
	Port       uint16
	LastChange time.Time
	// Reason of the last change, for people.
	Reason string
}

// PeerStatus is a peer and its bond.
type PeerStatus struct {
	Name      string
	PublicKey Key
	// Connected is true while any link to it is Up or Suspect.
	Connected bool
	// ActiveLink carries its frames. Empty is none.
	ActiveLink string
	Handshake  time.Time
	Links      []LinkStatus
	Counters   Counters
}

// Counters of a bond since it was made.
type Counters struct {
	TxFrames, RxFrames, TxBytes, RxBytes uint64
	// Failovers to another link, and returns among them.
	Failovers, Returns uint64
	// Replayed frames were sent again; Duplicates were received again and
	// dropped; Evicted left the replay buffer unacknowledged; Expired came too
	// late to be told from duplicates; Dropped found no link or no room.
	Replayed, Duplicates, Evicted, Expired, Dropped uint64
	// Fragmented frames were sent in pieces, Reassembled ones received so;
	// Incomplete ones lost a piece.
	Fragmented, Reassembled, Incomplete uint64
}

// Event is something that happened.
type Event struct {
	Time time.Time
	// Type is "link", "failover", "return", "peer", "policy" or "missed".
	Type string
	Peer string // name; empty where it is about no peer
	Link string // name of the link that it is about, or that took over
	From string // name of the link that was left, in a failover or return
	// State of the link after it, where the type is "link".
	State  LinkState
	Reason string
	// Missed is how many events were lost before this one.
	Missed int
}
