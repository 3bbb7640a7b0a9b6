// Package nodetest runs instances over a plane that only keeps its state, for tests.
package nodetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// Plane is a multilink.Plane that does nothing but keep its state. It has some
// interfaces, and refuses what a real one would.
type Plane struct {
	// Known are the interfaces that exist.
	Known []string
	// Fail is the error of the next Apply, Before is asked by each one.
	Fail   error
	Before func(multilink.State) error
	// State is the one that was applied last.
	State multilink.State
	// Reported is what Status returns.
	Reported multilink.Status
	// Sent are the events.
	Sent chan status.Event
	// Switched and Hold are of the last switch by hand.
	Switched string
	Hold     time.Duration

	mu      sync.Mutex
	applied int
	closed  chan struct{}
}

// NewPlane returns a plane with these interfaces.
func NewPlane(known ...string) *Plane {
	return &Plane{Known: known, Sent: make(chan status.Event, 16), closed: make(chan struct{})}
}

// Apply implements multilink.Plane.
func (p *Plane) Apply(_ context.Context, state multilink.State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Before != nil {
		if err := p.Before(state); err != nil {
			return err
		}
	}
	if err := p.Fail; err != nil {
		p.Fail = nil
		return err
	}
	for _, link := range state.Links {
		if !slices.Contains(p.Known, link.Interface) {
			return fmt.Errorf("watch interface %q: %w", link.Interface, multilink.ErrUnknownLink)
		}
	}
	p.State = state
	p.applied++
	return nil
}

// Status implements multilink.Plane.
func (p *Plane) Status() multilink.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Reported
}

// Switch implements multilink.Plane.
func (p *Plane) Switch(link string, hold time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Switched, p.Hold = link, hold
	return nil
}

// Events implements multilink.Plane.
func (p *Plane) Events(ctx context.Context, f func(status.Event)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.closed:
			return nil
		case e := <-p.Sent:
			f(e)
		}
	}
}

// Close implements multilink.Plane.
func (p *Plane) Close() error { close(p.closed); return nil }

// Current returns the last state of the plane.
func (p *Plane) Current() multilink.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.State
}

// Count returns how many states were applied.
func (p *Plane) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied
}

// Set changes what the plane does from now on.
func (p *Plane) Set(change func(*Plane)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// Interfaces returns Host.Links of the plane's interfaces; the first has 203.0.113.9.
func (p *Plane) Interfaces(context.Context) ([]multilink.LinkInfo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []multilink.LinkInfo{}
	for i, name := range p.Known {
		info := multilink.LinkInfo{Interface: name, Up: true, MTU: 1500}
		if i == 0 {
			info.Addresses = []string{"203.0.113.9/24", "2001:db8::9/64"}
		}
		all = append(all, info)
	}
	return all, nil
}
