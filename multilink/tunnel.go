package multilink

import (
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// HeaderSize is the length of the header that every packet of a bond begins
// with: one byte of type and flags and eight of sequence number. Drivers may
// move it to where it costs nothing on the wire, and must restore it.
const HeaderSize = packet.HeaderSize

// Underlay creates tunnels over one link. It has a socket of its own, bound to the
// link's interface, and the keys of the peers that may use it.
//
// It is safe for use by several goroutines.
type Underlay interface {
	// Open adds a peer and returns the tunnel to it. receive is called with
	// every batch of packets that the peer sent, by one goroutine at a time
	// for each tunnel, and must not block for long; the packets belong to the
	// underlay again when it returns. A peer that is there already is
	// ErrDuplicate.
	Open(peer TunnelPeer, receive func(packets [][]byte)) (Tunnel, error)
	// Port is the UDP port that it listens on.
	Port() uint16
	// Close ends all tunnels and waits for calls of receive to return.
	Close() error
}

// Tunnel carries packets between this node and one peer over one link.
//
// It is safe for use by several goroutines.
type Tunnel interface {
	// Send copies the packets and sends them in their order. It may block while
	// the link takes nothing, for some milliseconds; what is not sent by then is
	// dropped. ErrLinkDown reports that the link carries nothing now: the bond
	// takes it out of use at once. ErrClosed reports that the tunnel was closed.
	Send(packets [][]byte) error
	// SendControl sends one packet ahead of what waits in Send. It never blocks.
	SendControl(packet []byte) error
	// MTU is the length of the longest packet, header included, that crosses
	// the link in one piece.
	MTU() int
	// Stats are the figures up to now, or to a moment ago.
	Stats() TunnelStats
	// Close removes the peer: nothing more is sent to it or taken from it once
	// Close returns, and no call of receive is under way.
	Close() error
}

// TunnelPeer is the other end of a tunnel.
type TunnelPeer struct {
	PublicKey Key
	// PresharedKey mixed into the handshake. Zero means none.
	PresharedKey Key
	// Endpoint of the peer. With the zero value this end waits for a handshake, and
	// answers to the source of the last authentic packet.
	Endpoint netip.AddrPort
	// Keepalive is the interval at which at least one packet is sent, which keeps
	// mappings of NATs. Zero is never.
	Keepalive time.Duration
}

// TunnelStats are a tunnel's figures since it was opened.
type TunnelStats struct {
	// Handshake is when the keys were last agreed on. Zero is never.
	Handshake time.Time
	// Endpoint is the source of the peer's last authentic packet.
	Endpoint netip.AddrPort
	// Sent and Received are bytes on the wire, headers of the tunnel included.
	Sent, Received uint64
	// Dropped packets: the link did not take them in time.
	Dropped uint64
}
