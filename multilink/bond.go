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

// Config is what a [Bond] is made of.
type Config struct {
	// Host whose links and ports are used. Required. The bond does not close it.
	Host Host
	// Isolate keeps peers from reaching each other through this instance, and from
	// the traffic of each other: the Ethernet addresses from which a peer has sent
	// stay its own until it is removed, and so do the addresses of its PeerConfig.
	Isolate bool
	// Logger for operators. Nil is silent.
	Logger *slog.Logger
}

// Bond creates one layer-2 network out of several links, with every peer of its state.
// It is the [Plane] that moves frames itself: it owns a port, an underlay for each
// link, and a state machine for each peer.
//
// [New] starts nothing. [Bond.Apply] starts what its state needs, and [Bond.Close]
// ends it. A Bond is safe for use by several goroutines.
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

// New returns a bond that does nothing until the first Apply. A missing host is
// ErrInvalid.
func New(config Config) (*Bond, error) {
	if config.Host == nil {
		return nil, fmt.Errorf("new bond: host: missing: %w", ErrInvalid)
	}
	b := &Bond{
		host:  config.Host,
		log:   config.Logger,
		links: make(map[string]*localLink),
		peers: make(map[Key]*peer),
	}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.table = ethernet.NewSwitch(&ethernet.SwitchOptions{Isolate: config.Isolate, Claimed: b.reportClaim})
	classes, err := ethernet.NewClassifier(nil)
	if err != nil {
		return nil, err
	}
	b.forwarding.Store(&forwarding{classes: classes})
	return b, nil
}

// Events implements [Plane].
func (b *Bond) Events(ctx context.Context, f func(status.Event)) error {
	return b.events.listen(ctx, f)
}

// Switch implements [Plane]. It returns an error where no peer can be reached over
// the link.
func (b *Bond) Switch(link string, hold time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return fmt.Errorf("switch to %q: %w", link, ErrClosed)
	}
	if _, ok := b.links[link]; link != "" && !ok {
		return fmt.Errorf("switch to %q: %w", link, ErrUnknownLink)
	}
	// Peers that are not connected, or have no such link, must not keep the others
	// from being moved.
	var refused error
	moved := false
	for _, p := range b.peers {
		p.step(func(now time.Time) {
			if err := p.bond.Switch(now, link, hold, &p.out); err != nil {
				refused = fmt.Errorf("peer %q: %w", p.name, err)
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
func (b *Bond) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var errs []error
	if b.port != nil {
		errs = append(errs, b.port.close())
	}
	for _, s := range b.peers {
		errs = append(errs, s.close())
	}
	for _, l := range b.links {
		errs = append(errs, l.close())
	}
	clear(b.peers)
	clear(b.links)
	b.port = nil
	b.forwarding.Store(&forwarding{classes: b.forwarding.Load().classes})
	b.events.close()
	return errors.Join(errs...)
}
