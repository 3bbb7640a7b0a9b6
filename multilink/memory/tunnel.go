package memory

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

const (
	// tunnelOverhead is what WireGuard adds to a packet: its header and
	// authenticator, 32 bytes, and UDP's 8.
	tunnelOverhead = 32 + 8
	// rekeyAfter is how long a handshake holds.
	rekeyAfter = 2 * time.Minute
	// sendTimeout bounds how long Send waits for room.
	sendTimeout = 5 * time.Millisecond
	// shortestWait is the shortest time that a timer is set to. In a bubble of
	// testing/synctest, a select that finds a timer due already runs it on the
	// spot, which the race detector of Go 1.26 does not survive when two
	// goroutines do so.
	shortestWait = time.Microsecond
)

// underlay is one end of a link's tunnels. The network's lock guards what
// may change.
type underlay struct {
	host    *Host
	iface   *attachment
	port    uint16
	public  multilink.Key
	linkMTU int
	tunnels map[multilink.Key]*tunnel
	closed  bool
}

func (u *underlay) Port() uint16 { return u.port }

func (u *underlay) Open(peer multilink.TunnelPeer, receive func(packets [][]byte)) (multilink.Tunnel, error) {
	fail := func(cause error) (multilink.Tunnel, error) {
		return nil, fmt.Errorf("open tunnel to %q: %w", peer.PublicKey.Base64(), cause)
	}
	switch {
	case peer.PublicKey.IsZero():
		return fail(fmt.Errorf("public key: %w", multilink.ErrInvalid))
	case peer.PublicKey == u.public:
		return fail(fmt.Errorf("public key: it is this end's: %w", multilink.ErrInvalid))
	case receive == nil:
		return fail(fmt.Errorf("receive: %w", multilink.ErrInvalid))
	case peer.Keepalive < 0:
		return fail(fmt.Errorf("keepalive: must be 0 or more, got %v: %w", peer.Keepalive, multilink.ErrInvalid))
	}
	t := &tunnel{
		underlay: u,
		peer:     peer,
		receive:  receive,
		inbox:    inbox{wake: make(chan struct{}, 1)},
		done:     make(chan struct{}),
		ended:    make(chan struct{}),
		endpoint: netip.AddrPortFrom(peer.Endpoint.Addr().Unmap(), peer.Endpoint.Port()),
	}
	n := u.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if u.closed {
		return fail(multilink.ErrClosed)
	}
	if u.tunnels[peer.PublicKey] != nil {
		return fail(multilink.ErrDuplicate)
	}
	u.tunnels[peer.PublicKey] = t
	go t.run()
	return t, nil
}

func (u *underlay) Close() error {
	h := u.host
	h.network.mu.Lock()
	u.closed = true
	var open []*tunnel
	for _, t := range u.tunnels {
		open = append(open, t)
	}
	at := netip.AddrPortFrom(u.iface.address, u.port)
	if u.iface.medium.sockets[at] == u {
		delete(u.iface.medium.sockets, at)
	}
	h.underlays = slices.DeleteFunc(h.underlays, func(other *underlay) bool { return other == u })
	h.network.mu.Unlock()

	var failed []error
	for _, t := range open {
		failed = append(failed, t.Close())
	}
	return errors.Join(failed...)
}

// ipHeader returns the length of the header of the network below.
func (u *underlay) ipHeader() int {
	if u.iface.address.Is4() {
		return 20
	}
	return 40
}

// tunnel is a Tunnel over a Network. A goroutine of its own hands
// packets to receive when they arrive.
type tunnel struct {
	underlay *underlay
	peer     multilink.TunnelPeer
	receive  func([][]byte)
	inbox    inbox
	closing  sync.Once
	done     chan struct{} // closed by Close
	ended    chan struct{} // closed when the goroutine has ended

	// What follows is guarded by the network's lock.
	closed   bool
	endpoint netip.AddrPort
	stats    multilink.TunnelStats
}

func (t *tunnel) Send(packets [][]byte) error {
	patience := sendTimeout
	for _, packet := range packets {
		for {
			wait, err := t.transmit(packet, false, patience > 0)
			if err != nil {
				return fmt.Errorf("send over link %q: %w", t.underlay.iface.medium.name, err)
			}
			if wait == 0 {
				break
			}
			wait = min(wait, patience)
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
				patience -= wait
			case <-t.done:
				timer.Stop()
			}
		}
	}
	return nil
}

func (t *tunnel) SendControl(packet []byte) error {
	if _, err := t.transmit(packet, true, false); err != nil {
		return fmt.Errorf("send over link %q: %w", t.underlay.iface.medium.name, err)
	}
	return nil
}

// transmit sends one packet. Where the link has no room for it, it returns how long
// to wait if the sender can, or drops it.
func (t *tunnel) transmit(packet []byte, control, canWait bool) (time.Duration, error) {
	u := t.underlay
	n := u.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	size := len(packet) + tunnelOverhead + u.ipHeader()
	medium := u.iface.medium
	switch {
	case t.closed:
		return 0, multilink.ErrClosed
	case !u.iface.carries():
		return 0, multilink.ErrLinkDown
	case len(packet) > t.mtuLocked() || !t.endpoint.Addr().IsValid():
		t.stats.Dropped++
		return 0, nil
	}
	now := time.Now()
	way := Path{Link: medium.name, From: u.iface.home, To: t.endpoint.Addr()}
	far := medium.sockets[t.endpoint]
	if far != nil {
		way.To = far.iface.home
	}
	between := [2]netip.Addr{way.From, way.To}
	c := medium.conduits[between]
	if c == nil {
		c = newConduit(n.seed, medium.name, way.From, way.To)
		medium.conduits[between] = c
	}
	with := n.impairmentLocked(way)
	if !control {
		if wait := c.room(now, size, with); wait > 0 {
			if canWait {
				return wait, nil
			}
			t.stats.Dropped++
			return 0, nil
		}
	}
	t.stats.Sent += uint64(size)
	f := c.pass(now, size, control, with)
	if (with.MTU > 0 && size > with.MTU) || far == nil || !far.iface.carries() || n.severedLocked(way) {
		return 0, nil
	}
	to := far.tunnels[u.public]
	if to == nil || far.public != t.peer.PublicKey || to.peer.PresharedKey != t.peer.PresharedKey {
		return 0, nil // not authentic: as good as noise
	}
	from := netip.AddrPortFrom(u.iface.address, u.port)
	for _, at := range f.at[:f.copies] {
		if !to.inbox.post(at, from, size, packet) {
			t.stats.Dropped++
		}
	}
	return 0, nil
}

// run passes on what arrives, and sends keepalives.
func (t *tunnel) run() {
	defer close(t.ended)
	var arrived []arrival
	var packets [][]byte
	timer := time.NewTimer(shortestWait)
	defer timer.Stop()
	keepalive := time.Now()
	for {
		now := time.Now()
		if t.peer.Keepalive > 0 && !keepalive.After(now) {
			_, _ = t.transmit(nil, true, false) // a link that is down is tried again
			keepalive = now.Add(t.peer.Keepalive)
		}
		var next time.Time
		arrived, next = t.inbox.arrived(now, arrived[:0])
		if packets = t.accept(now, arrived, packets[:0]); len(packets) > 0 {
			t.receive(packets)
		}
		t.inbox.release(arrived)
		if len(arrived) > 0 { // there may be more
			select {
			case <-t.done:
				return
			default:
				continue
			}
		}

		if t.peer.Keepalive > 0 && (next.IsZero() || keepalive.Before(next)) {
			next = keepalive
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(shortestWait, time.Until(next)))
		}
		select {
		case <-t.done:
			return
		case <-t.inbox.wake:
		case <-timer.C:
		}
	}
}

// accept notes where the peer is, and appends what is not a keepalive. It
// appends nothing once the tunnel is closed.
func (t *tunnel) accept(now time.Time, arrived []arrival, packets [][]byte) [][]byte {
	if len(arrived) == 0 {
		return packets
	}
	n := t.underlay.host.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.closed {
		return packets
	}
	for _, a := range arrived {
		t.endpoint = a.from
		t.stats.Received += uint64(a.size)
		if len(a.packet) > 0 {
			packets = append(packets, a.packet)
		}
	}
	if now.Sub(t.stats.Handshake) > rekeyAfter {
		t.stats.Handshake = now
	}
	t.stats.Endpoint = t.endpoint
	return packets
}

func (t *tunnel) MTU() int {
	t.underlay.host.network.mu.Lock()
	defer t.underlay.host.network.mu.Unlock()
	return t.mtuLocked()
}

// mtuLocked returns what the link carries less the headers.
func (t *tunnel) mtuLocked() int {
	link := t.underlay.iface.medium.mtu
	if limit := t.underlay.linkMTU; limit > 0 {
		link = min(link, limit)
	}
	return max(link-tunnelOverhead-t.underlay.ipHeader(), 0)
}

func (t *tunnel) Stats() multilink.TunnelStats {
	t.underlay.host.network.mu.Lock()
	defer t.underlay.host.network.mu.Unlock()
	return t.stats
}

// Close must not be called from receive.
func (t *tunnel) Close() error {
	t.closing.Do(func() {
		n := t.underlay.host.network
		n.mu.Lock()
		t.closed = true
		delete(t.underlay.tunnels, t.peer.PublicKey)
		n.mu.Unlock()
		t.inbox.close()
		close(t.done)
	})
	<-t.ended
	return nil
}
