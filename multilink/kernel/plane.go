//go:build linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// assertEvery is how often the settings of a bond are written again, in case another
// program changed them.
const assertEvery = time.Second

var _ multilink.Plane = (*Plane)(nil)

// Plane is a [multilink.Plane] of the kernel's own bonding and WireGuard, in the
// network namespace in which it was created. It is safe for use by several goroutines.
type Plane struct {
	name    string
	host    *host
	log     *slog.Logger
	begun   time.Time
	events  *hub
	watcher *watcher

	// applying guards what is in the kernel. It is taken before mu.
	applying sync.Mutex
	closed   bool // is changed with mu held as well
	state    multilink.State
	port     *port

	// mu guards what the loops of the links use.
	mu             sync.Mutex
	links          map[string]*link
	peers          map[multilink.Key]*peer
	bond           settings.Bond
	asserted       time.Duration
	preferred      string
	preferredUntil time.Duration
}

// Open returns a plane that does nothing until Apply, and removes what another plane
// of that name left behind. Without the right for that it is
// [multilink.ErrDenied], and without WireGuard in the kernel Apply is
// [multilink.ErrUnsupported]: call [Available] first. Open must be called in the
// process's network namespace.
func Open(ctx context.Context, config Config) (*Plane, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open plane %q: %w", config.Name, err)
	}
	made, err := newHost(config.Name)
	if err != nil {
		return nil, fmt.Errorf("open plane %q: %w", config.Name, err)
	}
	log := config.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	p := &Plane{
		name: config.Name, host: made, log: log, begun: time.Now(), events: newHub(),
		links: map[string]*link{}, peers: map[multilink.Key]*peer{},
	}
	if p.watcher, err = watchHost(p); err != nil {
		return nil, errors.Join(fmt.Errorf("open plane %q: %w", config.Name, err), made.close())
	}
	return p, nil
}

// now returns the time since the start of the plane, never zero.
func (p *Plane) now() time.Duration { return max(time.Since(p.begun), 1) }

// Apply makes the state hold; see [multilink.Plane].
func (p *Plane) Apply(ctx context.Context, state multilink.State) error {
	if err := check(state); err != nil {
		return fmt.Errorf("apply state: %w", err)
	}
	p.applying.Lock()
	defer p.applying.Unlock()
	if p.closed {
		return fmt.Errorf("apply state: %w", multilink.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply state: %w", err)
	}
	before := p.state
	if err := p.reconcileLocked(state); err != nil {
		if back := p.reconcileLocked(before); back != nil {
			err = errors.Join(err, fmt.Errorf("and what held before does not any more: %w", back))
		}
		return fmt.Errorf("apply state: %w", err)
	}
	return nil
}

// Switch makes the bonds prefer a link for a time; see [multilink.Plane].
func (p *Plane) Switch(name string, hold time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("switch to %q: %w", name, multilink.ErrClosed)
	}
	if _, known := p.links[name]; name != "" && !known {
		return fmt.Errorf("switch to %q: %w", name, multilink.ErrUnknownLink)
	}
	if hold < 0 {
		return fmt.Errorf("switch to %q: hold: must be 0 or more, got %v: %w", name, hold, multilink.ErrInvalid)
	}
	p.preferred, p.preferredUntil = name, p.now()+hold
	p.decideAllLocked("switched by hand")
	return nil
}

// Events calls f with every event from now on; see [multilink.Plane].
func (p *Plane) Events(ctx context.Context, f func(status.Event)) error {
	return p.events.read(ctx, f)
}

// Close removes everything that the plane created. A second Close returns nil.
func (p *Plane) Close() error {
	p.applying.Lock()
	defer p.applying.Unlock()
	if p.closed {
		return nil
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.watcher.close()
	err := errors.Join(p.reconcileLocked(multilink.State{}), p.host.clean(), p.host.close())
	p.events.close()
	if err != nil {
		return fmt.Errorf("close plane %q: %w", p.name, err)
	}
	return nil
}

// decideAllLocked makes every bond use its best path.
func (p *Plane) decideAllLocked(reason string) {
	for _, to := range p.peers {
		p.decideLocked(to, reason)
	}
}

// decideLocked makes a bond use its best path.
func (p *Plane) decideLocked(to *peer, reason string) {
	paths := make([]*path, 0, len(to.paths))
	for _, one := range to.paths {
		paths = append(paths, one)
	}
	preferred := p.preferred
	if p.now() >= p.preferredUntil {
		preferred = ""
	}
	chosen := choose(paths, to.active, preferred, p.bond.Reselect)
	if chosen == nil || chosen == to.active {
		return
	}
	if err := p.host.use(to, chosen); err != nil {
		p.log.Error("the bond does not switch; it is tried again", "error", err)
		return
	}
	left := to.active
	to.active = chosen
	event := status.Event{Time: time.Now(), Type: "failover", Peer: to.config.Name, Link: chosen.link.config.Name, Reason: reason}
	if left != nil {
		event.From = left.link.config.Name
		if chosen.link.config.Priority < left.link.config.Priority {
			event.Type = "return"
			to.count.Returns++
		}
		to.count.Failovers++
	}
	p.log.Info("link chosen", "peer", event.Peer, "link", event.Link, "from", event.From, "reason", reason)
	p.events.publish(event)
}
