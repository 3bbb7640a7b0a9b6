package wg

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

const (
	defaultMTU    = 1500
	minMTU        = 576 // what every IPv4 host takes, RFC 791
	maxMTU        = 65535
	defaultRetry  = time.Second
	minRetry      = 100 * time.Millisecond
	receiveBuffer = 4 << 20 // of a socket, in bytes; without CAP_NET_ADMIN the limit of the system holds
	maxKeepalive  = 65535 * time.Second

	// manyPeers is from how many on Stats does not read from WireGuard each time, which
	// answers about all of them, but only when the last answer is as old as
	// rest times what it took.
	manyPeers = 16
	rest      = 10
)

// Options are the optional settings of an underlay. Nil means
// the zero value.
type Options struct {
	// Logger gets WireGuard's messages, at debug. None shows a secret. Nil is
	// silent.
	Logger *slog.Logger
	// Mark of the datagrams (SO_MARK), for policy routing. Linux only, and needs
	// CAP_NET_ADMIN or CAP_NET_RAW. Zero means none.
	Mark uint32
	// NoOffload has every datagram cross the socket by itself, for systems whose
	// drivers do UDP_SEGMENT or UDP_GRO badly.
	NoOffload bool
	// Retry is the pause between calls of a peer that does not answer, for the
	// end that was given the other's address. Zero is 1 s. From 100 ms.
	Retry time.Duration
}

// Underlay is one link's end of its tunnels.
//
// It is safe for use by several goroutines.
type Underlay struct {
	link    string
	port    uint16
	private multilink.Key
	public  multilink.Key
	log     *slog.Logger
	retry   time.Duration
	fixed   bool // the configuration gave the MTU
	linkMTU atomic.Int64
	start   time.Time

	queue  *sendQueue
	bind   *bind
	inside *inside
	device *device.Device
	watch  *watch

	changing  sync.Mutex // held while a tunnel is opened or closed
	mu        sync.RWMutex
	closed    bool
	bySource  map[address]*tunnel
	byKey     map[multilink.Key]*tunnel
	ended     chan struct{}
	endedOnce sync.Once

	polling sync.Mutex
	polled  time.Time
	took    time.Duration
	answer  bytes.Buffer
}

var _ multilink.Underlay = (*Underlay)(nil)

// Open creates an underlay that listens on its port. The interface must exist;
// that it is gone later is survived. A nil opts means the defaults.
//
// A port that is taken is multilink.ErrAddressInUse, an interface that does not
// exist ErrUnknownLink, a missing right ErrDenied with the capability's name,
// an interface where sockets cannot be bound to one ErrUnsupported, and a bad
// value ErrInvalid.
func Open(ctx context.Context, config multilink.UnderlayConfig, opts *Options) (*Underlay, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	public, err := check(config, &o)
	if err != nil {
		return nil, fmt.Errorf("listen on link %q: %w", config.Link, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("listen on link %q: %w", config.Link, err)
	}
	rs := new(remotes)
	opened, on, err := listen(config.Interface, config.Port, o, rs)
	if err != nil {
		return nil, fmt.Errorf("listen on link %q: %w", config.Link, err)
	}
	u := &Underlay{
		link: config.Link, port: opened.port, private: config.PrivateKey, public: public,
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), retry: o.Retry,
		fixed: config.LinkMTU != 0, start: time.Now(), queue: newSendQueue(),
		bySource: make(map[address]*tunnel), byKey: make(map[multilink.Key]*tunnel),
		ended: make(chan struct{}),
	}
	u.watch = newWatch(u, on)
	u.bind = &bind{link: u.link, queue: u.queue, inflow: newInflow(), remotes: rs, hint: u.watch.hint, sockets: opened}
	u.setMTU(defaultMTU)
	if u.fixed {
		u.setMTU(config.LinkMTU)
	}
	u.watch.look()
	u.inside = newInside(u.queue, u.bind.inflow, u.innerMTU, u.deliver)
	u.device = device.NewDevice(u.inside, u.bind, logger(o.Logger, config.Link, u.watch.outdated.add))
	if err := errors.Join(
		u.device.IpcSet("private_key="+hex.EncodeToString(config.PrivateKey[:])+"\n"),
		u.device.Up(),
	); err != nil {
		u.device.Close()
		_ = u.bind.end() // it has carried nothing
		u.watch.release()
		return nil, fmt.Errorf("listen on link %q: start WireGuard: %w", config.Link, err)
	}
	u.watch.run()
	return u, nil
}

// check fills in defaults and reports the first value that is not allowed. The
// key that it returns is the public half of the configuration's.
func check(config multilink.UnderlayConfig, o *Options) (multilink.Key, error) {
	bad := func(format string, args ...any) (multilink.Key, error) {
		return multilink.Key{}, fmt.Errorf(format+": %w", append(args, multilink.ErrInvalid)...)
	}
	switch {
	case config.Interface != "" && !settings.ValidName(config.Interface):
		return bad("interface %q: must be letters, digits, '.', '-' or '_'", config.Interface)
	case config.LinkMTU != 0 && (config.LinkMTU < minMTU || config.LinkMTU > maxMTU):
		return bad("link MTU: must be %d to %d, got %d", minMTU, maxMTU, config.LinkMTU)
	case config.PrivateKey.IsZero():
		return bad("private key: is missing")
	case o.Retry != 0 && o.Retry < minRetry:
		return bad("retry: must be %v or more, got %v", minRetry, o.Retry)
	}
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	return config.PrivateKey.PublicKey()
}

// Port implements [multilink.Underlay].
func (u *Underlay) Port() uint16 { return u.port }

// String names the link. It shows no key.
func (u *Underlay) String() string { return fmt.Sprintf("wg(%s)", u.link) }

// GoString returns the result of String.
func (u *Underlay) GoString() string { return u.String() }

// Open implements [multilink.Underlay]. A peer with an endpoint is called at
// once. Besides a peer that is there already, one whose inner address another
// has is ErrDuplicate: a matter of chance that one in a million servers of a
// hundred clients meets, and that another key resolves.
func (u *Underlay) Open(peer multilink.TunnelPeer, receive func(packets [][]byte)) (multilink.Tunnel, error) {
	fail := func(err error) (multilink.Tunnel, error) {
		return nil, fmt.Errorf("open tunnel over %q: %w", u.link, err)
	}
	invalid := func(why string) (multilink.Tunnel, error) {
		return fail(fmt.Errorf("%s: %w", why, multilink.ErrInvalid))
	}
	switch {
	case peer.PublicKey.IsZero():
		return invalid("public key: is missing")
	case peer.PublicKey == u.public:
		return invalid("public key: is our own")
	case peer.Keepalive < 0 || peer.Keepalive > maxKeepalive:
		return invalid("keepalive: must be 0 to " + maxKeepalive.String())
	case peer.Endpoint.IsValid() && (peer.Endpoint.Port() == 0 || peer.Endpoint.Addr().IsUnspecified()):
		return invalid("endpoint: must be an address and a port, got " + peer.Endpoint.String())
	case !validZone(peer.Endpoint.Addr().Zone()):
		return invalid("endpoint: must have the name of an interface as the zone")
	case receive == nil:
		return invalid("receive: is missing")
	}
	u.changing.Lock()
	defer u.changing.Unlock()

	at := innerAddress(peer.PublicKey, u.public)
	t := &tunnel{
		under: u, peer: peer, receive: receive, batch: make([][]byte, 0, batch), ended: make(chan struct{}),
		queue: newTunnelQueue(innerAddress(u.public, peer.PublicKey), at),
	}
	t.handshaker = handshaker{caller: peer.Endpoint.IsValid(), retry: u.retry}
	if peer.Endpoint.IsValid() {
		t.remote.Store(u.bind.remotes.get(peer.Endpoint))
	}
	u.mu.RLock()
	_, known := u.byKey[peer.PublicKey]
	_, taken := u.bySource[at]
	closed := u.closed
	u.mu.RUnlock()
	switch {
	case closed:
		return fail(multilink.ErrClosed)
	case known:
		return fail(fmt.Errorf("public key: %w", multilink.ErrDuplicate))
	case taken:
		return fail(fmt.Errorf("inner address of the public key: %w", multilink.ErrDuplicate))
	}
	// The tunnel is stored before WireGuard has the peer: the first packet
	// may come at once.
	u.mu.Lock()
	u.byKey[peer.PublicKey], u.bySource[at] = t, t
	u.mu.Unlock()
	if err := u.device.IpcSet(peerConfig(peer, at)); err != nil {
		u.dropLocked(t)
		return fail(fmt.Errorf("add peer: %w", err))
	}
	if t.routine = u.device.LookupPeer(device.NoisePublicKey(peer.PublicKey)); t.routine == nil {
		u.dropLocked(t)
		return fail(multilink.ErrClosed) // WireGuard ended in between
	}
	u.watch.add(t)
	return t, nil
}

// validZone reports whether a zone can be a name of an interface: anything else
// could end a line of WireGuard's configuration, and begin others.
func validZone(zone string) bool { return zone == "" || settings.ValidName(zone) }

// settings are a peer in the form of WireGuard's configuration protocol.
func peerConfig(peer multilink.TunnelPeer, at address) string {
	var b strings.Builder
	fmt.Fprintf(&b, "public_key=%s\n", hex.EncodeToString(peer.PublicKey[:]))
	fmt.Fprintf(&b, "preshared_key=%s\n", hex.EncodeToString(peer.PresharedKey[:]))
	fmt.Fprintf(&b, "allowed_ip=%d.%d.%d.%d/32\n", at[0], at[1], at[2], at[3])
	if peer.Endpoint.IsValid() {
		fmt.Fprintf(&b, "endpoint=%s\n", peer.Endpoint)
	}
	seconds := (peer.Keepalive + time.Second - 1) / time.Second
	fmt.Fprintf(&b, "persistent_keepalive_interval=%d\n", seconds)
	return b.String()
}

// remove ends a tunnel and has WireGuard forget its peer.
func (u *Underlay) remove(t *tunnel) {
	t.end()
	u.changing.Lock()
	defer u.changing.Unlock()
	u.watch.remove(t)
	u.dropLocked(t)
}

// renew has WireGuard forget the handshakes of a peer, and so the timestamp of its last
// call. Removing the peer waits for a delivery under way, and receivers may wait for locks of this
// underlay: so nothing is delivered from before these are taken.
func (u *Underlay) renew(t *tunnel) {
	t.hold(true)
	defer t.hold(false)
	u.changing.Lock()
	defer u.changing.Unlock()
	u.mu.RLock()
	gone := u.closed || u.byKey[t.peer.PublicKey] != t
	u.mu.RUnlock()
	if gone {
		return
	}
	routine, err := u.replace(t)
	if err != nil {
		u.log.Error("add peer again", "link", u.link, "peer", t.peer.PublicKey.Base64(), "err", err)
		return
	}
	if routine == nil {
		return // WireGuard ended in between
	}
	u.watch.renewed(t, routine)
	if now := time.Now(); now.Sub(t.warned) >= time.Minute {
		t.warned = now
		u.log.Warn("the clock of a peer was set back; its next call is answered", "link", u.link, "peer", t.peer.PublicKey.Base64())
	}
}

// replace removes the peer of a tunnel from WireGuard and adds it again. Its figures go on.
func (u *Underlay) replace(t *tunnel) (*device.Peer, error) {
	u.polling.Lock()
	defer u.polling.Unlock()
	u.pollLocked()
	sum := figures{}
	for _, f := range []*figures{t.earlier.Load(), t.figures.Load()} {
		if f != nil {
			sum.sent, sum.received = sum.sent+f.sent, sum.received+f.received
		}
	}
	key := device.NoisePublicKey(t.peer.PublicKey)
	u.device.RemovePeer(key)
	if err := u.device.IpcSet(peerConfig(t.peer, t.queue.target)); err != nil {
		return nil, err
	}
	routine := u.device.LookupPeer(key)
	if routine != nil {
		t.figures.Store(nil)
		t.earlier.Store(&sum)
	}
	return routine, nil
}

// dropLocked forgets a tunnel. The lock is changing.
func (u *Underlay) dropLocked(t *tunnel) {
	u.device.RemovePeer(device.NoisePublicKey(t.peer.PublicKey))
	u.mu.Lock()
	delete(u.byKey, t.peer.PublicKey)
	delete(u.bySource, t.queue.target)
	u.mu.Unlock()
}

// deliver hands on what WireGuard received in one call: packets of one peer.
func (u *Underlay) deliver(inner [][]byte, offset int) {
	var t *tunnel
	for _, buf := range inner {
		packet, source, ok := reveal(buf[offset:])
		if !ok {
			continue
		}
		if t == nil {
			u.mu.RLock()
			t = u.bySource[source]
			u.mu.RUnlock()
			if t == nil {
				return
			}
		}
		if source == t.queue.target {
			t.batch = append(t.batch, packet)
		}
	}
	if t == nil {
		return
	}
	u.watch.heard(t)
	t.deliver(t.batch)
	clear(t.batch)
	t.batch = t.batch[:0]
}

// refresh reads the figures of WireGuard unless they are fresh.
func (u *Underlay) refresh() {
	u.mu.RLock()
	many := len(u.byKey) >= manyPeers
	u.mu.RUnlock()
	u.polling.Lock()
	defer u.polling.Unlock()
	if !many || time.Since(u.polled) >= rest*u.took {
		u.pollLocked()
	}
}

// pollLocked reads the figures of WireGuard. The lock is polling.
func (u *Underlay) pollLocked() {
	began := time.Now()
	defer func() {
		u.polled = time.Now()
		u.took = u.polled.Sub(began)
	}()
	u.answer.Reset()
	if u.device.IpcGetOperation(&u.answer) != nil {
		return
	}
	all, err := readFigures(&u.answer)
	if err != nil {
		return
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	for key, f := range all {
		t := u.byKey[key]
		if t == nil {
			continue
		}
		if f.endpoint.IsValid() {
			if r := t.remote.Load(); r == nil || r.to != f.endpoint {
				t.remote.Store(u.bind.remotes.get(f.endpoint))
			}
		}
		t.figures.Store(&f)
	}
}

// setMTU takes the link's MTU in, and reports a change.
func (u *Underlay) setMTU(mtu int) bool {
	mtu = min(max(mtu, minMTU), maxMTU)
	return int(u.linkMTU.Swap(int64(mtu))) != mtu
}

// innerMTU returns the length up to which WireGuard pads: what a datagram over IPv4 holds.
func (u *Underlay) innerMTU() int { return int(u.linkMTU.Load()) - 20 - 8 - 32 }

// publishMTU makes WireGuard read the MTU again.
func (u *Underlay) publishMTU() {
	select {
	case u.inside.events <- tun.EventMTUUpdate:
	default:
	}
}

// Close implements [multilink.Underlay]. A second Close waits for the first and
// returns nil. It must not be called by a receiver.
func (u *Underlay) Close() error {
	u.endedOnce.Do(func() {
		u.watch.stop()
		u.changing.Lock()
		u.mu.Lock()
		u.closed = true
		all := make([]*tunnel, 0, len(u.byKey))
		for _, t := range u.byKey {
			all = append(all, t)
		}
		u.mu.Unlock()
		u.changing.Unlock()
		for _, t := range all {
			t.end()
		}
		u.device.Close()
		u.watch.release()
		close(u.ended)
	})
	<-u.ended
	return nil
}
