package multilink

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/multilink/settings"
)

// engineLink is one of this host's links: its watch and its underlay.
type localLink struct {
	name    string
	config  settings.Link
	private Key
	watch   Link
	under   Underlay
	done    chan struct{}

	reporting sync.Mutex // so that what is newest is told last
}

// openLink starts to watch a link and to listen on it.
func (e *Bond) openLink(ctx context.Context, config settings.Link, private Key) (*localLink, error) {
	watch, err := e.host.Link(ctx, config.InterfaceName())
	if err != nil {
		return nil, fmt.Errorf("watch link %q: %w", config.Name, err)
	}
	under, err := e.host.Underlay(ctx, UnderlayConfig{
		Link: config.Name, Interface: config.InterfaceName(), PrivateKey: private,
		Port: config.Listen, // the MTU is the interface's, which may change
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on link %q: %w", config.Name, err), watch.Close())
	}
	l := &localLink{name: config.Name, config: config, private: private, watch: watch, under: under, done: make(chan struct{})}
	go e.followLink(l)
	return l, nil
}

// follow tells all bonds what happens to the interface of a link. Whoever adds
// a session tells it once it is in the layout: until then it is not seen here.
func (e *Bond) followLink(l *localLink) {
	defer close(l.done)
	for range l.watch.Events() {
		l.report(slices.Collect(maps.Values(e.forwarding.Load().peers))...)
	}
}

// tell has bonds know how the interface of the link does now.
func (l *localLink) report(sessions ...*peer) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	info := l.watch.Info()
	for _, s := range sessions {
		s.carrier(l.name, info)
	}
}

// close ends the watch. The tunnels are closed before.
func (l *localLink) close() error {
	err := l.watch.Close()
	<-l.done
	return errors.Join(err, l.under.Close())
}

// sameSocket reports whether two links can share a socket and a watch.
func sameSocket(c, other settings.Link) bool {
	return c.InterfaceName() == other.InterfaceName() && c.Listen == other.Listen
}
