package wg

import (
	"fmt"
	"sync"
	"time"

	"golang.zx2c4.com/wireguard/device"

	"github.com/iotenablers/enablers/multilink"
)

const (
	// beat is how often handshakes are checked when nothing hints at a change.
	beat = 250 * time.Millisecond
	// After a hint the figures of WireGuard are read at short intervals, for it may not have
	// dealt yet with what the hint was about.
	attention = 20 * time.Millisecond
	glance    = 2 * time.Millisecond
	// share is the least ratio of the pause between two checks to the duration of a
	// check, so that datagrams of unknown senders cannot keep a processor busy.
	share = 20
)

// watch is the goroutine that starts handshakes and follows the link.
type watch struct {
	under *Underlay
	on    carrier // nil: bound to no interface
	hints chan struct{}
	done  chan struct{}
	ended sync.WaitGroup
	once  sync.Once

	outdated outdated

	mu      sync.Mutex // held while peers are called, so that none is once it is removed
	tunnels []*tunnel
	last    linkState // of the goroutine, and of look before it
}

// outdated are the peers of which WireGuard dropped a call because of its timestamp.
type outdated struct {
	mu    sync.Mutex
	peers map[*device.Peer]bool
}

func (o *outdated) add(peer *device.Peer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.peers == nil {
		o.peers = make(map[*device.Peer]bool)
	}
	o.peers[peer] = true
}

// take returns the peers that were added since the last call.
func (o *outdated) take() map[*device.Peer]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	peers := o.peers
	o.peers = nil
	return peers
}

func newWatch(u *Underlay, on carrier) *watch {
	return &watch{under: u, on: on, hints: make(chan struct{}, 1), done: make(chan struct{})}
}

// hint has the goroutine look. It does not wait.
func (w *watch) hint() { signal(w.hints) }

func (w *watch) run() { w.ended.Go(w.loop) }

// stop ends the goroutine and waits for it.
func (w *watch) stop() {
	w.once.Do(func() { close(w.done) })
	w.ended.Wait()
}

// release frees what the watching of the interface needs.
func (w *watch) release() {
	if w.on != nil {
		w.on.close()
	}
}

func (w *watch) loop() {
	var changes <-chan struct{}
	if w.on != nil {
		changes = w.on.changes()
	}
	timer := time.NewTimer(beat)
	defer timer.Stop()
	var until time.Time
	for {
		select {
		case <-w.done:
			return
		case <-changes:
			if w.look() {
				w.hurry()
			}
		case <-w.hints:
			until = time.Now().Add(attention)
		case <-timer.C:
			if w.on != nil && w.look() {
				w.hurry()
			}
		}
		began := time.Now()
		for _, t := range w.refreshAll() {
			w.under.renew(t)
		}
		now := time.Now()
		pause := beat
		if now.Before(until) {
			pause = max(glance, share*now.Sub(began))
		}
		timer.Reset(pause)
	}
}

// add takes a tunnel in and calls its peer.
func (w *watch) add(t *tunnel) {
	w.mu.Lock()
	w.tunnels = append(w.tunnels, t)
	w.refreshLocked(t, time.Now())
	w.mu.Unlock()
	w.hint()
}

// remove forgets a tunnel. Its peer is not called after that.
func (w *watch) remove(t *tunnel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, one := range w.tunnels {
		if one == t {
			w.tunnels = append(w.tunnels[:i], w.tunnels[i+1:]...)
			return
		}
	}
}

// heard records that packets came through a tunnel: there are keys. The responder
// sees that in no other way.
func (w *watch) heard(t *tunnel) {
	if !t.ready.Load() {
		t.ready.Store(true)
		w.under.queue.setReady(t.queue, true)
		w.hint()
	}
}

// hurry starts the handshakes that are missing at once.
func (w *watch) hurry() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.tunnels {
		t.handshaker.hurry()
	}
}

// refreshAll brings every tunnel up to date. It returns those whose peers call with
// outdated timestamps and have no session: their clocks were set back.
func (w *watch) refreshAll() (setBack []*tunnel) {
	w.mu.Lock()
	defer w.mu.Unlock()
	outdated := w.outdated.take()
	if len(w.tunnels) == 0 {
		return nil
	}
	w.under.polling.Lock()
	w.under.pollLocked()
	w.under.polling.Unlock()
	now := time.Now()
	for _, t := range w.tunnels {
		w.refreshLocked(t, now)
		if outdated[t.routine] && !t.handshaker.live(now) {
			setBack = append(setBack, t)
		}
	}
	return setBack
}

// renewed gives a tunnel its peer as WireGuard has it now, which has had no handshake.
func (w *watch) renewed(t *tunnel, routine *device.Peer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t.routine = routine
	t.handshaker = handshaker{caller: t.handshaker.caller, retry: t.handshaker.retry}
}

// refreshLocked brings a tunnel up to date, and starts a handshake if that is due.
func (w *watch) refreshLocked(t *tunnel, now time.Time) {
	o := observation{reachable: t.remote.Load() != nil}
	if f := t.figures.Load(); f != nil {
		o.handshake, o.received = f.handshake, f.received
	}
	if since := t.wanted.Load(); since != 0 {
		o.wanted = w.under.start.Add(time.Duration(since))
	}
	t.handshaker.observe(now, o)
	good := t.handshaker.good(now)
	t.ready.Store(good)
	w.under.queue.setReady(t.queue, good)
	switch t.handshaker.next(now, o) {
	case callAfresh:
		t.routine.ExpireCurrentKeypairs()
		// An error says that the datagram was not sent. The next call is due
		// soon, and the bind has noted why.
		_ = t.routine.SendHandshakeInitiation(false)
	case callPolitely:
		_ = t.routine.SendHandshakeInitiation(false)
	}
}

// look takes in how the interface is, and reports that it carries again.
func (w *watch) look() (carries bool) {
	if w.on == nil {
		return false
	}
	now := w.on.state()
	before := w.last
	if (now.index != 0 && before.index != 0 && now.index != before.index) || (now.index != 0 && before.gone) {
		if w.on.rebind() != nil {
			// Not bound, so not of use. The next look tries again.
			now.up, now.gone = false, true
		}
	}
	if now.index == 0 {
		now.gone = true
	}
	w.last = now
	u := w.under
	if now.index != 0 && !u.fixed && u.setMTU(now.mtu) && u.inside != nil {
		u.publishMTU()
	}
	switch {
	case now.up:
		u.bind.fault.Store(nil)
	case u.bind.fault.Load() == nil || now.gone != before.gone:
		why := "has no carrier or is disabled"
		if now.gone {
			why = "is gone"
		}
		u.bind.fault.Store(&fault{fmt.Errorf("send over %q: its interface %s: %w", u.link, why, multilink.ErrLinkDown)})
	}
	return now.up && !before.up
}
