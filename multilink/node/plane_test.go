package node_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// plane is a Plane that does nothing but keep its state. It has some
// interfaces, and refuses what a real one would.
type plane struct {
	mu       sync.Mutex
	state    multilink.State
	applied  int
	known    []string // interfaces that are there
	fail     error    // of the next Apply
	before   func(multilink.State) error
	switched string
	hold     time.Duration
	status   multilink.Status
	events   chan status.Event
	closed   chan struct{}
}

func newPlane(known ...string) *plane {
	return &plane{known: known, events: make(chan status.Event, 16), closed: make(chan struct{})}
}

func (p *plane) Apply(_ context.Context, state multilink.State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.before != nil {
		if err := p.before(state); err != nil {
			return err
		}
	}
	if err := p.fail; err != nil {
		p.fail = nil
		return err
	}
	for _, link := range state.Links {
		if !slices.Contains(p.known, link.Interface) {
			return fmt.Errorf("watch interface %q: %w", link.Interface, multilink.ErrUnknownLink)
		}
	}
	p.state = state
	p.applied++
	return nil
}

func (p *plane) Status() multilink.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

func (p *plane) Switch(link string, hold time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.switched, p.hold = link, hold
	return nil
}

func (p *plane) Events(ctx context.Context, f func(status.Event)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.closed:
			return nil
		case e := <-p.events:
			f(e)
		}
	}
}

func (p *plane) Close() error { close(p.closed); return nil }

// current returns the last state of the plane.
func (p *plane) current() multilink.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

func (p *plane) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied
}

// set changes what the plane does from now on.
func (p *plane) set(change func(*plane)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// interfaces is Host.Links of the plane's interfaces; the first has 203.0.113.9.
func (p *plane) interfaces(context.Context) ([]multilink.LinkInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []multilink.LinkInfo{}
	for i, name := range p.known {
		info := multilink.LinkInfo{Interface: name, Up: true, MTU: 1500}
		if i == 0 {
			info.Addresses = []string{"203.0.113.9/24", "2001:db8::9/64"}
		}
		all = append(all, info)
	}
	return all, nil
}
