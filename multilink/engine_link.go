package multilink

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// engineLink is one of this host's links: its watch and its underlay.
type engineLink struct {
	name    string
	config  LinkConfig
	private Key
	watch   Link
	under   Underlay
	done    chan struct{}

	telling sync.Mutex // so that what is newest is told last
}

// openLink starts to watch a link and to listen on it.
func (e *Engine) openLink(config LinkConfig, private Key) (*engineLink, error) {
	watch, err := e.host.Link(config.interfaceName())
	if err != nil {
		return nil, fmt.Errorf("watch link %q: %w", config.Name, err)
	}
	under, err := e.host.Underlay(UnderlayConfig{
		Link: config.Name, Interface: config.interfaceName(), PrivateKey: private,
		Port: config.Listen, // the MTU is the interface's, which may change
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on link %q: %w", config.Name, err), watch.Close())
	}
	l := &engineLink{name: config.Name, config: config, private: private, watch: watch, under: under, done: make(chan struct{})}
	go e.follow(l)
	return l, nil
}

// follow tells all bonds what happens to the interface of a link. Whoever adds
// a session tells it once it is in the layout: until then it is not seen here.
func (e *Engine) follow(l *engineLink) {
	defer close(l.done)
	for range l.watch.Events() {
		l.tell(slices.Collect(maps.Values(e.layout.Load().sessions))...)
	}
}

// tell has bonds know how the interface of the link does now.
func (l *engineLink) tell(sessions ...*session) {
	l.telling.Lock()
	defer l.telling.Unlock()
	info := l.watch.Info()
	for _, s := range sessions {
		s.carrier(l.name, info)
	}
}

// close ends the watch. The tunnels are closed before.
func (l *engineLink) close() error {
	err := l.watch.Close()
	<-l.done
	return errors.Join(err, l.under.Close())
}

// interfaceName is the interface that carries the link.
func (c LinkConfig) interfaceName() string {
	if c.Interface != "" {
		return c.Interface
	}
	return c.Name
}

// sameSocket reports whether both links can share a socket and a watch.
func (c LinkConfig) sameSocket(other LinkConfig) bool {
	return c.interfaceName() == other.interfaceName() && c.Listen == other.Listen
}
