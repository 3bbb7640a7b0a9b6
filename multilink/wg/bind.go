package wg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"

	"github.com/iotenablers/enablers/multilink"
)

// batch is the most datagrams of one call.
const batch = conn.IdealBatchSize

var (
	// errStuck: the socket took nothing for as long as it may be waited for.
	errStuck = errors.New("the link takes nothing")
	// errNoFamily: there is no socket for that version of IP.
	errNoFamily = errors.New("no socket for that version of IP")
)

// socket is a UDP socket of one version of IP.
type socket interface {
	// receive fills bufs, at most batch of them, and sets the lengths and the
	// senders. One goroutine calls it. It returns net.ErrClosed after close.
	receive(bufs [][]byte, sizes []int, from []conn.Endpoint) (int, error)
	// send sends bufs, at most batch of them, in their order. It reports that
	// the socket had to be waited for, and errStuck when that took too long.
	send(bufs [][]byte, to *remote) (stuck bool, err error)
	close() error
}

// sockets are what a link's end listens with. Either may be missing.
type sockets struct {
	v4, v6 socket
	port   uint16
}

func (s sockets) close() error {
	var errs []error
	for _, one := range []socket{s.v4, s.v6} {
		if one != nil {
			errs = append(errs, one.close())
		}
	}
	return errors.Join(errs...)
}

// carrier is the interface that a link's sockets are bound to.
type carrier interface {
	// state is how the interface is now. One that is gone is not up.
	state() linkState
	// changes has a token when something may have changed.
	changes() <-chan struct{}
	// rebind binds the sockets to the interface that has the name now.
	rebind() error
	close() error
}

// linkState is how an interface is.
type linkState struct {
	index int // 0 is gone
	mtu   int
	up    bool // enabled, with a carrier
	gone  bool // there is none, or the sockets are not bound to it
}

// bind is how WireGuard reaches the network. It holds what is known of the
// link: faults, and which packets have left.
type bind struct {
	link    string
	queue   *sendQueue
	inflow  *inflow
	remotes *remotes
	fault   atomic.Pointer[fault] // of the link as a whole
	// hint is called when a datagram came or went after which a handshake may
	// have begun. It does not wait.
	hint func()

	mu      sync.RWMutex
	sockets sockets
	opened  bool
	closed  bool
}

var _ conn.Bind = (*bind)(nil)

// Open hands out the sockets that were opened before.
func (b *bind) Open(uint16) ([]conn.ReceiveFunc, uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, 0, net.ErrClosed
	}
	b.opened = true
	var all []conn.ReceiveFunc
	for _, s := range []socket{b.sockets.v4, b.sockets.v6} {
		if s == nil {
			continue
		}
		all = append(all, b.receiver(s))
	}
	return all, b.sockets.port, nil
}

// Close closes the sockets for good, if they are in use: WireGuard begins with a
// Close before it opens.
func (b *bind) Close() error {
	b.mu.RLock()
	opened := b.opened
	b.mu.RUnlock()
	if !opened {
		return nil
	}
	return b.end()
}

// end closes the sockets for good. A second call returns nil.
func (b *bind) end() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	return b.sockets.close()
}

// SetMark does nothing: the mark is an option of the sockets.
func (b *bind) SetMark(uint32) error { return nil }

// BatchSize returns how many datagrams a call moves at most.
func (b *bind) BatchSize() int { return batch }

// ParseEndpoint reads an address and a port.
func (b *bind) ParseEndpoint(s string) (conn.Endpoint, error) {
	to, err := netip.ParseAddrPort(s)
	if err != nil {
		return nil, err
	}
	return b.remotes.get(to), nil
}

// Send sends datagrams and remembers whether the address can be reached.
func (b *bind) Send(bufs [][]byte, to conn.Endpoint) error {
	r, ok := to.(*remote)
	if !ok {
		return conn.ErrWrongEndpointType
	}
	b.mu.RLock()
	s := b.sockets.v4
	if r.to.Addr().Is6() {
		s = b.sockets.v6
	}
	b.mu.RUnlock()

	packets, begins := 0, false
	for _, datagram := range bufs {
		switch {
		case beginsSession(datagram):
			begins = true
		case messageType(datagram) == device.MessageTransportType:
			packets++
		}
	}
	b.queue.begin()
	stuck, err := false, error(nil)
	if s == nil {
		err = errNoFamily
	} else {
		stuck, err = s.send(bufs, r)
	}
	b.queue.end(packets, stuck, time.Now())
	b.judge(r, err)
	if begins {
		b.hint()
	}
	return err
}

// judge notes what the outcome of a call says about an address.
func (b *bind) judge(r *remote, err error) {
	switch {
	case err == nil:
		if r.fault.Load() != nil {
			r.fault.Store(nil)
		}
	case down(err) || errors.Is(err, errNoFamily):
		if f := r.fault.Load(); f == nil || !errors.Is(f.err, err) {
			r.fault.Store(&fault{fmt.Errorf("send over %q to %v: %w: %w", b.link, r.to, multilink.ErrLinkDown, err)})
		}
	}
}

// messageType returns the type of one of WireGuard's messages, 0 for none.
func messageType(datagram []byte) uint32 {
	if len(datagram) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(datagram)
}

// beginsSession reports whether a datagram may complete a handshake: the answer
// to a call, and the empty message by which the caller confirms it.
func beginsSession(datagram []byte) bool {
	switch messageType(datagram) {
	case device.MessageResponseType:
		return true
	case device.MessageTransportType:
		return len(datagram) == device.MessageKeepaliveSize
	}
	return false
}
