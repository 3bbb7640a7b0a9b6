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

// localLink is one of this host's links: its watch and its underlay.
type localLink struct {
	name    string
	config  settings.Link
	private Key
	watch   Link
	under   Underlay
	done    chan struct{}

	reporting sync.Mutex // keeps reports in order
}

// openLink starts to watch a link and to listen on it.
func (b *Bond) openLink(ctx context.Context, config settings.Link, private Key) (*localLink, error) {
	watch, err := b.host.Link(ctx, config.InterfaceName())
	if err != nil {
		return nil, fmt.Errorf("watch link %q: %w", config.Name, err)
	}
	under, err := b.host.Underlay(ctx, UnderlayConfig{
		Link: config.Name, Interface: config.InterfaceName(), PrivateKey: private,
		Port: config.Listen, // the MTU is the interface's, which may change
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on link %q: %w", config.Name, err), watch.Close())
	}
	l := &localLink{name: config.Name, config: config, private: private, watch: watch, under: under, done: make(chan struct{})}
	go b.followLink(l)
	return l, nil
}

// followLink reports every change of a link's interface to all peers. A peer that is
// being added gets a report once it is in the forwarding state: until then it is not
// seen here.
func (b *Bond) followLink(l *localLink) {
	defer close(l.done)
	for range l.watch.Events() {
		l.report(slices.Collect(maps.Values(b.forwarding.Load().peers))...)
	}
}

// report passes the current state of the interface to peers.
func (l *localLink) report(peers ...*peer) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	info := l.watch.Info()
	for _, p := range peers {
		p.carrier(l.name, info)
	}
}

// close ends the watch. The tunnels are closed before it.
func (l *localLink) close() error {
	err := l.watch.Close()
	<-l.done
	return errors.Join(err, l.under.Close())
}

// sameSocket reports whether two links can share a socket and a watch.
func sameSocket(c, other settings.Link) bool {
	return c.InterfaceName() == other.InterfaceName() && c.Listen == other.Listen
}
