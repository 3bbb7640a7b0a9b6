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

// Underlay makes tunnels over one link: a socket of its own, bound to the
// link's interface, and the keys of everyone who may use it.
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
	// Send takes copies of the packets and sends them in their order. It may
	// wait while the link takes nothing, up to a bound of milliseconds; what
	// was not sent by then is dropped. ErrLinkDown says that the link carries
	// nothing now, which is evidence that nobody need wait for; ErrClosed that
	// the tunnel was closed.
	Send(packets [][]byte) error
	// SendControl sends one packet ahead of what waits in Send, and never waits.
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

// TunnelPeer is who is at the other end of a tunnel.
type TunnelPeer struct {
	PublicKey Key
	// PresharedKey mixed into the handshake. Zero is none.
	PresharedKey Key
	// Endpoint to call. The zero value waits to be called, and answers to
	// wherever the last authentic packet came from.
	Endpoint netip.AddrPort
	// Keepalive makes sure that something is sent at that interval, for the
	// sake of NATs. Zero is never.
	Keepalive time.Duration
}

// TunnelStats are a tunnel's figures since it was opened.
type TunnelStats struct {
	// Handshake is when the keys were last agreed on. Zero is never.
	Handshake time.Time
	// Endpoint is where the peer was last heard from.
	Endpoint netip.AddrPort
	// Sent and Received are bytes on the wire, headers of the tunnel included.
	Sent, Received uint64
	// Dropped packets: the link took them not, or not in time.
	Dropped uint64
}
