package multilink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/status"
)

// Config says what an Bond works with.
type Config struct {
	// Host whose links and ports are used. Required; it is not closed by the
	// engine.
	Host Host
	// Isolate keeps peers from reaching each other through this instance.
	Isolate bool
	// Logger of what an operator may want to know. Nil is silent.
	Logger *slog.Logger
}

// Bond is the [Plane] that moves frames itself: it owns a port, an underlay
// for each link, and a bond for each peer. Create it with [New].
//
// It is safe for use by several goroutines.
type Bond struct {
	host       Host
	log        *slog.Logger
	events     eventStream
	table      *ethernet.Switch
	forwarding atomic.Pointer[forwarding] // what the data path reads
	lists      sync.Pool                  // *sendLists of goroutines that deliver what peers send

	mu     sync.Mutex // held by Apply and Close
	state  State
	port   *portReader
	links  map[string]*localLink
	peers  map[Key]*peer
	closed bool
}

// layout is what the data path needs of a state. It is replaced, never changed.
type forwarding struct {
	classes *ethernet.Classifier
	port    FramePort // nil where there is none
	peers   map[ethernet.Port]*peer
}

// New returns an engine that does nothing until the first Apply. A
// missing host is ErrInvalid.
func New(config Config) (*Bond, error) {
	if config.Host == nil {
		return nil, fmt.Errorf("new engine: host: missing: %w", ErrInvalid)
	}
	e := &Bond{
		host:  config.Host,
		log:   config.Logger,
		links: make(map[string]*localLink),
		peers: make(map[Key]*peer),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.table = ethernet.NewSwitch(ethernet.SwitchOptions{Isolate: config.Isolate})
	classes, err := ethernet.NewClassifier(nil)
	if err != nil {
		return nil, err
	}
	e.forwarding.Store(&forwarding{classes: classes})
	return e, nil
}

// Events implements [Plane].
func (e *Bond) Events(ctx context.Context, f func(status.Event)) error {
	return e.events.listen(ctx, f)
}

// Switch implements [Plane]. It refuses where no peer can be reached over the
// link.
func (e *Bond) Switch(link string, hold time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("switch to %q: %w", link, ErrClosed)
	}
	if _, ok := e.links[link]; link != "" && !ok {
		return fmt.Errorf("switch to %q: %w", link, ErrUnknownLink)
	}
	// Peers that are away, or have no such link, must not keep the others from
	// being moved.
	var refused error
	moved := false
	for _, s := range e.peers {
		s.step(func(now time.Time) {
			if err := s.bond.Switch(now, link, hold, &s.out); err != nil {
				refused = fmt.Errorf("peer %q: %w", s.name, err)
				return
			}
			moved = true
		})
	}
	if moved {
		return nil
	}
	return refused
}

// Close implements [Plane].
func (e *Bond) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	var errs []error
	if e.port != nil {
		errs = append(errs, e.port.close())
	}
	for _, s := range e.peers {
		errs = append(errs, s.close())
	}
	for _, l := range e.links {
		errs = append(errs, l.close())
	}
	clear(e.peers)
	clear(e.links)
	e.port = nil
	e.forwarding.Store(&forwarding{classes: e.forwarding.Load().classes})
	e.events.close()
	return errors.Join(errs...)
}

// fromPort takes a batch of frames that the host sends.
func (e *Bond) fromPort(frames [][]byte, lists *sendLists) {
	p := e.forwarding.Load()
	lists.reset()
	for _, frame := range frames {
		class, flow := p.classes.Classify(frame)
		lists.add(p, e.table, ethernet.LocalPort, outgoing{frame: frame, class: class, flow: flow})
	}
	var full *path
	free := false // some frames had room: those behind them shall not wait for the others
	for _, l := range lists.used {
		if l.peer == nil {
			continue
		}
		if size := l.peer.segment(); size > 0 {
			for _, o := range l.frames {
				ethernet.ClampMSS(o.frame, size)
			}
		}
		if full = l.peer.send(l.frames); full == nil {
			free = true
		}
	}
	if full != nil && !free {
		full.wait(portPause)
	}
}

// fromPeer takes frames that a peer sent: for the host, or for other peers.
func (e *Bond) fromPeer(from ethernet.Port, frames [][]byte) {
	p := e.forwarding.Load()
	if len(p.peers) == 1 {
		// Where there is one peer, everything of it is for the host, but the
		// table has to learn who lives there.
		local := frames[:0]
		for _, frame := range frames {
			if e.table.Learn(from, frame) {
				local = append(local, frame)
			}
		}
		e.write(p, local)
		return
	}
	lists, _ := e.lists.Get().(*sendLists)
	if lists == nil {
		lists = new(sendLists)
	}
	lists.reset()
	for _, frame := range frames {
		class, flow := p.classes.Classify(frame)
		lists.add(p, e.table, from, outgoing{frame: frame, class: class, flow: flow})
	}
	for _, l := range lists.used {
		if l.peer != nil {
			l.peer.send(l.frames)
		}
	}
	e.write(p, lists.local)
	e.lists.Put(lists)
}
