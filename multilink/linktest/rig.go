package linktest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/multilink"
)

// private returns a key of one of the ends.
func private(n byte) multilink.Key {
	return multilink.Key{0: 8, 1: n, 31: 0x40}
}

// end is an underlay and what its tunnels received.
type end struct {
	h        UnderlayHarness
	underlay multilink.Underlay
	public   multilink.Key
	at       netip.AddrPort
}

// rig is the ends of an experiment.
type rig struct {
	h    UnderlayHarness
	ends []*end
}

// end creates an underlay on a host of its own.
func (r *rig) end() (*end, error) {
	n := len(r.ends)
	e := &end{h: r.h}
	key := private(byte(n + 1))
	var err error
	if e.public, err = key.PublicKey(); err != nil {
		return nil, err
	}
	var address netip.Addr
	e.underlay, address, err = r.h.Underlay(n, multilink.UnderlayConfig{Link: r.h.Link, PrivateKey: key})
	if err != nil {
		return nil, fmt.Errorf("create underlay %d: %w", n, err)
	}
	e.at = netip.AddrPortFrom(address, e.underlay.Port())
	r.ends = append(r.ends, e)
	return e, nil
}

// close ends what is left, and adds what went wrong with that.
func (r *rig) close(err *error) {
	for _, e := range r.ends {
		if failed := e.underlay.Close(); failed != nil {
			*err = errors.Join(*err, fmt.Errorf("close underlay: %w", failed))
		}
	}
}

// tunnel is one side of a connection, and what it received.
type tunnel struct {
	multilink.Tunnel
	h UnderlayHarness

	mu       sync.Mutex
	received [][]byte
	closed   bool // by the experiment, which has seen Close return
	late     int  // packets since then
}

func (t *tunnel) receive(packets [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		t.late += len(packets)
	}
	for _, p := range packets {
		t.received = append(t.received, slices.Clone(p))
	}
}

func (t *tunnel) all() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.received)
}

func (t *tunnel) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.received)
}

// close closes the tunnel, and watches from when that has returned.
func (t *tunnel) close() error {
	if err := t.Close(); err != nil {
		return fmt.Errorf("close tunnel: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return nil
}

func (t *tunnel) afterClose() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// open opens a tunnel from e to a peer. Where call is true it calls.
func (e *end) open(to *end, psk multilink.Key, call bool) (*tunnel, error) {
	peer := multilink.TunnelPeer{PublicKey: to.public, PresharedKey: psk}
	if call {
		peer.Endpoint = to.at
	}
	t := &tunnel{h: e.h}
	opened, err := e.underlay.Open(peer, t.receive)
	if err != nil {
		return nil, fmt.Errorf("open tunnel: %w", err)
	}
	t.Tunnel = opened
	return t, nil
}

// connect opens both ends between an initiator and a responder, and waits until
// packets pass both ways.
func connect(caller, called *end) (out, back *tunnel, err error) {
	if back, err = called.open(caller, multilink.Key{}, false); err != nil {
		return nil, nil, err
	}
	if out, err = caller.open(called, multilink.Key{}, true); err != nil {
		return nil, nil, err
	}
	return out, back, meet(out, back)
}

// meet sends until packets pass both ways. A driver may lose what is sent while
// it shakes hands.
func meet(out, back *tunnel) error {
	hello := packet(0, 32)
	there, home := back.count(), out.count()
	return within(out.h.Timeout, "no packet passed there and back", func() bool {
		_ = out.Send([][]byte{hello}) // what comes back shows whether it went
		if back.count() > there {
			_ = back.Send([][]byte{hello})
		}
		return back.count() > there && out.count() > home
	})
}

// packet has a header and a payload that are the number's own. 1 to 8 are its
// number.
func packet(number uint64, size int) []byte {
	random := rand.New(rand.NewPCG(number, uint64(size)))
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(random.Uint32())
	}
	if size >= multilink.HeaderSize {
		binary.BigEndian.PutUint64(p[1:], number)
	}
	return p
}

func frameNumber(p []byte) uint64 {
	if len(p) < multilink.HeaderSize {
		return 0
	}
	return binary.BigEndian.Uint64(p[1:])
}

// stream sends numbered packets, at most some hundred ahead of the other side,
// so that nothing overflows. Numbers begin at first.
func stream(out, back *tunnel, first uint64, count, size int) error {
	const ahead, batch = 128, 16
	before := countFrom(back, first)
	for sent := 0; sent < count; {
		if err := within(out.h.Timeout, fmt.Sprintf("only %d of %d packets arrived", countFrom(back, first)-before, sent), func() bool {
			return sent-(countFrom(back, first)-before) < ahead
		}); err != nil {
			return err
		}
		var packets [][]byte
		for ; len(packets) < batch && sent < count; sent++ {
			packets = append(packets, packet(first+uint64(sent), size))
		}
		if err := out.Send(packets); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	return within(out.h.Timeout, "the last packets did not arrive", func() bool {
		return countFrom(back, first)-before >= count
	})
}

func countFrom(t *tunnel, first uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, p := range t.received {
		if frameNumber(p) >= first {
			n++
		}
	}
	return n
}

// inOrder checks that the packets from first on are those, once each and in order.
func inOrder(t *tunnel, first uint64, count, size int) error {
	want := first
	for _, p := range t.all() {
		if frameNumber(p) < first {
			continue
		}
		if got := frameNumber(p); got != want {
			return fmt.Errorf("packet %d came where %d was due", got-first, want-first)
		}
		if !slices.Equal(p, packet(want, size)) {
			return fmt.Errorf("packet %d arrived changed: %d bytes for %d", want-first, len(p), size)
		}
		want++
	}
	if got := int(want - first); got != count {
		return fmt.Errorf("%d packets arrived of %d", got, count)
	}
	return nil
}

// refused checks an error.
func refused(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: must be an error that wraps %q, got %v", what, want, err)
	}
	return nil
}
