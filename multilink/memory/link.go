package memory

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/multilink"
)

// attachment is a host's end of a link. The network's lock guards it.
type attachment struct {
	medium   *medium
	home     netip.Addr // of the host, as it was attached
	address  netip.Addr
	up       bool
	gone     bool
	watchers []*watch
}

// carries reports whether packets leave and arrive here.
func (i *attachment) carries() bool { return i.up && i.medium.up && !i.gone }

func (i *attachment) info() multilink.LinkInfo {
	return multilink.LinkInfo{
		Interface: i.medium.name,
		Up:        i.carries(),
		MTU:       i.medium.mtu,
		Addresses: []string{netip.PrefixFrom(i.address, i.address.BitLen()).String()},
		Gone:      i.gone,
	}
}

// publishLocked sends the current state to every watch.
func (i *attachment) publishLocked() {
	for _, l := range i.watchers {
		l.publish(i.info())
	}
}

// unwatchLocked ends all watches.
func (i *attachment) unwatchLocked() {
	for _, l := range i.watchers {
		l.end()
	}
	i.watchers = nil
}

// watch is a Link on an interface in memory.
type watch struct {
	network *Network
	iface   *attachment

	mu      sync.Mutex
	closed  bool
	readers []chan multilink.LinkInfo
}

func (l *watch) Info() multilink.LinkInfo {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	return l.iface.info()
}

// Events has room for one state. A newer one replaces one that is not read yet.
func (l *watch) Events() <-chan multilink.LinkInfo {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	events := make(chan multilink.LinkInfo, 1)
	if l.closed {
		close(events)
		return events
	}
	events <- l.iface.info()
	l.readers = append(l.readers, events)
	return events
}

func (l *watch) publish(info multilink.LinkInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, events := range l.readers {
		select {
		case <-events:
		default:
		}
		events <- info // only publish sends, and what it sent before is gone
	}
}

func (l *watch) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, events := range l.readers {
		close(events)
	}
	l.readers = nil
}

func (l *watch) Close() error {
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	l.iface.watchers = slices.DeleteFunc(l.iface.watchers, func(other *watch) bool { return other == l })
	l.end()
	return nil
}
