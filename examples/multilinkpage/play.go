package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// play is a plane whose links behave like radios, on paper: the first that is enabled
// carries what is sent, the others wait, and a switch by hand is a failover.
type play struct {
	mu     sync.Mutex
	began  time.Time
	state  multilink.State
	prefer string
	events chan status.Event
	closed chan struct{}
}

func newPlay() *play {
	return &play{began: time.Now(), events: make(chan status.Event, 64), closed: make(chan struct{})}
}

func (p *play) interfaces(context.Context) ([]multilink.LinkInfo, error) {
	var all []multilink.LinkInfo
	for _, name := range []string{"eth0", "wlan0", "mesh0", "wwan0"} {
		all = append(all, multilink.LinkInfo{Interface: name, Up: true, MTU: 1500})
	}
	return all, nil
}

// Apply implements multilink.Plane.
func (p *play) Apply(ctx context.Context, state multilink.State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, _ := p.interfaces(ctx)
	for _, link := range state.Links {
		known := false
		for _, info := range all {
			known = known || info.Interface == link.Interface
		}
		if !known {
			return fmt.Errorf("watch interface %q: %w", link.Interface, multilink.ErrUnknownLink)
		}
	}
	before := p.active()
	p.state = state
	p.moved(before, "the configuration changed")
	return nil
}

// active is the link that carries frames.
func (p *play) active() string {
	best := -1
	for i, link := range p.state.Links {
		if link.Disabled {
			continue
		}
		if link.Name == p.prefer {
			return link.Name
		}
		if best < 0 || link.Priority < p.state.Links[best].Priority {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return p.state.Links[best].Name
}

func (p *play) moved(before, reason string) {
	if now := p.active(); now != before && before != "" {
		select {
		case p.events <- status.Event{Time: time.Now(), Type: "failover", Peer: "gw-1", Link: now, From: before, Reason: reason}:
		default: // no reader is ready
		}
	}
}

// Status implements multilink.Plane.
func (p *play) Status() multilink.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := multilink.Status{Port: p.state.Port.Name}
	t := time.Since(p.began).Seconds()
	active := p.active()
	for i, link := range p.state.Links {
		wave := 1 + 0.3*math.Sin(t+float64(i))
		one := status.Link{
			Name: link.Name, Interface: link.Interface, Kind: link.Kind, Priority: link.Priority, State: status.Up,
			Active: link.Name == active,
			RTT:    time.Duration(wave * float64(4+15*i) * float64(time.Millisecond)),
			Jitter: time.Duration(wave * float64(time.Millisecond)),
			LossRx: 0.01 * float64(i), TxBytes: uint64(4000 * t), RxBytes: uint64(3000 * t), Port: link.Listen,
			LastChange: p.began, Reason: "heard",
		}
		if one.Active {
			one.TxBytes, one.RxBytes = uint64(90000*t), uint64(60000*t)
		}
		s.Links = append(s.Links, one)
	}
	for _, peer := range p.state.Peers {
		s.Peers = append(s.Peers, multilink.PeerStatus{Name: peer.Name, PublicKey: peer.PublicKey,
			Connected: active != "", ActiveLink: active,
			Handshake: p.began, Links: s.Links, Counters: status.Counters{Failovers: 2, TxFrames: uint64(80 * t)}})
	}
	return s
}

// Switch implements multilink.Plane.
func (p *play) Switch(link string, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.active()
	p.prefer = link
	p.moved(before, "switched by hand")
	return nil
}

// Events implements multilink.Plane.
func (p *play) Events(ctx context.Context, f func(status.Event)) error {
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

// Close implements multilink.Plane.
func (p *play) Close() error { return nil }
