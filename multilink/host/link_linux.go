package host

import (
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// link is an interface that is watched.
type link struct {
	watcher *watcher
	name    string

	mutex   sync.Mutex
	index   int // of the interface now; it changes when that is created again
	info    multilink.LinkInfo
	readers []chan multilink.LinkInfo
	closed  bool
}

// Info returns the latest state of the interface.
func (l *link) Info() multilink.LinkInfo {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	info := l.info
	info.Addresses = slices.Clone(info.Addresses)
	return info
}

// Events reports changes, the current state first.
func (l *link) Events() <-chan multilink.LinkInfo {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	c := make(chan multilink.LinkInfo, 1)
	c <- l.info
	if l.closed {
		close(c)
	} else {
		l.readers = append(l.readers, c)
	}
	return c
}

// update makes info the current state, and sends it to the readers if it is new.
func (l *link) update(index int, info multilink.LinkInfo) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	replaced := l.index != index && !l.info.Gone && !info.Gone
	if l.closed || (!replaced && same(l.info, info)) {
		l.index = index
		return
	}
	l.index, l.info = index, info
	for _, c := range l.readers {
		// Only this method sends, so once the old state is out there is room.
		select {
		case <-c:
		default:
		}
		c <- info
	}
}

// is reports whether a change of an interface may concern the link.
func (l *link) is(index int, name string) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.index == index || l.name == name
}

// Close ends the watching.
func (l *link) Close() error {
	l.watcher.remove(l)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	for _, c := range l.readers {
		close(c)
	}
	l.readers = nil
	return nil
}

func same(a, b multilink.LinkInfo) bool {
	return a.Interface == b.Interface && a.Up == b.Up && a.MTU == b.MTU && a.Gone == b.Gone && slices.Equal(a.Addresses, b.Addresses)
}

// describe returns the state of an interface.
func describe(handle *netlink.Handle, l netlink.Link) (multilink.LinkInfo, error) {
	attrs := l.Attrs()
	info := multilink.LinkInfo{Interface: attrs.Name, MTU: attrs.MTU}
	// The carrier is IFF_LOWER_UP; the state of operation (RFC 2863) says in
	// addition that a radio is not associated. Drivers without one say unknown.
	info.Up = attrs.Flags&net.FlagUp != 0 && attrs.RawFlags&unix.IFF_LOWER_UP != 0 &&
		(attrs.OperState == netlink.OperUp || attrs.OperState == netlink.OperUnknown)
	list, err := retryDump(func() ([]netlink.Addr, error) { return handle.AddrList(l, netlink.FAMILY_ALL) })
	if err != nil {
		return info, fmt.Errorf("list addresses of %q: %w", attrs.Name, err)
	}
	for _, a := range list {
		info.Addresses = append(info.Addresses, a.IPNet.String())
	}
	slices.Sort(info.Addresses)
	return info, nil
}
