package wg

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/device"

	"github.com/iotenablers/enablers/multilink"
)

// patienceOfSend is how long Send waits for a link that takes nothing.
const patienceOfSend = 10 * time.Millisecond

// chunk is how many packets Send hands over at once.
const chunk = 64

// tunnel is a peer of an underlay.
type tunnel struct {
	under      *Underlay
	peer       multilink.TunnelPeer
	routine    *device.Peer
	queue      *tunnelQueue
	closed     atomic.Bool
	ready      atomic.Bool  // there are keys, as far as is known
	wanted     atomic.Int64 // when something was last to be sent, since the underlay's start
	remote     atomic.Pointer[remote]
	figures    atomic.Pointer[figures]
	earlier    atomic.Pointer[figures] // before WireGuard forgot the peer; nil means none
	warned     time.Time               // that its clock was set back; guarded by the underlay's changing
	handshaker handshaker              // the watcher's

	gate    sync.Mutex // held while receive runs
	shut    bool
	held    bool // while the underlay renews the peer
	receive func([][]byte)
	batch   [][]byte

	ending sync.Once
	ended  chan struct{}
}

var _ multilink.Tunnel = (*tunnel)(nil)

// check returns why nothing can be sent at all.
func (t *tunnel) check(verb string, packet []byte) error {
	switch {
	case t.closed.Load():
		return fmt.Errorf("%s over %q: %w", verb, t.under.link, multilink.ErrClosed)
	case len(packet) < multilink.HeaderSize || len(packet) > maxPacket:
		return fmt.Errorf("%s over %q: must be a packet of %d to %d bytes, got %d: %w", verb, t.under.link,
			multilink.HeaderSize, maxPacket, len(packet), multilink.ErrInvalid)
	}
	return nil
}

// fault returns why the link carries nothing to the peer now, as far as is known.
func (t *tunnel) fault() error {
	if f := t.under.bind.fault.Load(); f != nil {
		return f.err
	}
	if r := t.remote.Load(); r != nil {
		if f := r.fault.Load(); f != nil {
			return f.err
		}
	}
	return nil
}

// Send implements [multilink.Tunnel]. While there are no keys the newest
// packets wait for one, up to a second, and Send does not.
func (t *tunnel) Send(packets [][]byte) error {
	for _, packet := range packets {
		if err := t.check("send", packet); err != nil {
			return err
		}
	}
	now := time.Now()
	t.want(now)
	var until time.Time
	var copies [chunk]*waiting
	for len(packets) > 0 {
		n := min(len(packets), chunk)
		for i, packet := range packets[:n] {
			copies[i] = t.under.queue.take(t.queue, packet, now)
		}
		packets = packets[n:]
		for left := copies[:n]; len(left) > 0; {
			taken, ready := t.under.queue.push(t.queue, left)
			if left = left[taken:]; len(left) == 0 {
				break
			}
			if until.IsZero() {
				until = time.Now().Add(patienceOfSend)
			}
			if !ready || t.fault() != nil || !t.wait(until) {
				t.under.queue.dropAll(left)
				break
			}
		}
	}
	if t.closed.Load() {
		return t.check("send", nil)
	}
	return t.fault()
}

// wait blocks until there may be room in the data queue.
func (t *tunnel) wait(until time.Time) bool {
	d := time.Until(until)
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.queue.space:
		return true
	case <-timer.C:
		return false
	}
}

// SendControl implements [multilink.Tunnel].
func (t *tunnel) SendControl(packet []byte) error {
	if err := t.check("send control", packet); err != nil {
		return err
	}
	now := time.Now()
	t.want(now)
	t.under.queue.pushControl(t.under.queue.take(t.queue, packet, now))
	return t.fault()
}

// want records that there is something to send, and starts a handshake if there
// is none and none was wanted.
func (t *tunnel) want(now time.Time) {
	since := now.Sub(t.under.start)
	before := time.Duration(t.wanted.Swap(int64(since)))
	if since-before > interest/2 {
		t.under.watch.hint()
	}
}

// MTU implements [multilink.Tunnel].
func (t *tunnel) MTU() int {
	to := t.peer.Endpoint
	if r := t.remote.Load(); r != nil {
		to = r.to
	}
	return tunnelMTU(int(t.under.linkMTU.Load()), to.Addr())
}

// tunnelMTU returns the longest packet that crosses a link in one piece. Messages
// are padded to 16 bytes but not beyond what fits over IPv4, so over IPv6, which
// is assumed as long as the address is not known, the length is rounded.
func tunnelMTU(link int, to netip.Addr) int {
	room := link - 20 - 8 - 32
	if !to.Unmap().Is4() {
		room = (room - 20) &^ (device.PaddingMultiple - 1)
	}
	return min(room-overhead, maxPacket)
}

// Stats implements [multilink.Tunnel].
func (t *tunnel) Stats() multilink.TunnelStats {
	t.under.refresh()
	stats := multilink.TunnelStats{Dropped: t.under.queue.droppedBy(t.queue)}
	if f := t.figures.Load(); f != nil {
		stats.Endpoint = f.endpoint
		stats.Sent = f.sent
		stats.Received = f.received
		if e := t.earlier.Load(); e != nil {
			stats.Sent, stats.Received = stats.Sent+e.sent, stats.Received+e.received
		}
		if f.handshake != 0 {
			stats.Handshake = time.Unix(0, f.handshake)
		}
	}
	return stats
}

// deliver hands packets to the receiver, unless the tunnel was closed.
func (t *tunnel) deliver(packets [][]byte) {
	t.gate.Lock()
	defer t.gate.Unlock()
	if !t.shut && !t.held {
		t.receive(packets)
	}
}

// Close implements [multilink.Tunnel]. A second Close waits for the first and
// returns nil. It must not be called by receive.
func (t *tunnel) Close() error {
	t.ending.Do(func() {
		t.under.remove(t)
		close(t.ended)
	})
	<-t.ended
	return nil
}

// hold has nothing delivered while the underlay renews the peer. It waits for a delivery under way.
func (t *tunnel) hold(held bool) {
	t.gate.Lock()
	defer t.gate.Unlock()
	t.held = held
}

// end has nothing more delivered.
func (t *tunnel) end() {
	t.closed.Store(true)
	t.under.queue.remove(t.queue)
	t.gate.Lock()
	t.shut = true
	t.gate.Unlock()
}
