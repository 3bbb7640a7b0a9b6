package host

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// watcher keeps links up to date. It takes the kernel's messages as hints of what to
// read again, so that a lost or late message does no harm. After an overflow it reads
// everything.
type watcher struct {
	namespace *namespace
	logger    *slog.Logger
	handle    *netlink.Handle // of the goroutine, and of add before it

	refreshing sync.Mutex // held while states are read and sent to readers
	mutex      sync.Mutex
	links      []*link
	socket     *nl.NetlinkSocket
	closed     chan struct{}
	done       sync.WaitGroup
}

// retryWatch is how long a watcher waits before it subscribes again, when the
// kernel has ended a subscription.
const retryWatch = 200 * time.Millisecond

func newWatcher(space *namespace, logger *slog.Logger) (*watcher, error) {
	w := &watcher{namespace: space, logger: logger, closed: make(chan struct{})}
	err := space.in(func() (err error) {
		w.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := w.subscribe(); err != nil {
		w.handle.Close()
		return nil, err
	}
	w.done.Go(w.run)
	return w, nil
}

func (w *watcher) subscribe() error {
	return w.namespace.in(func() error {
		socket, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
		if err != nil {
			return err
		}
		_ = socket.SetReceiveBufferSize(1<<20, false) // fewer overflows; the watcher recovers from them
		w.mutex.Lock()
		defer w.mutex.Unlock()
		select {
		case <-w.closed:
			socket.Close()
			return multilink.ErrClosed
		default:
		}
		w.socket = socket
		return nil
	})
}

func (w *watcher) run() {
	for {
		messages, from, err := w.socket.Receive()
		select {
		case <-w.closed:
			return
		default:
		}
		switch {
		case errors.Is(err, unix.ENOBUFS):
			w.refresh(nil)
		case err != nil:
			w.logger.Warn("watching interfaces was interrupted", "error", err)
			if !w.resubscribe() {
				return
			}
			w.refresh(nil)
		case from.Pid == nl.PidKernel:
			w.refresh(messages)
		}
	}
}

// resubscribe tries until it has a new subscription. It reports false when the
// watcher is closed.
func (w *watcher) resubscribe() bool {
	w.socket.Close()
	for {
		select {
		case <-w.closed:
			return false
		case <-time.After(retryWatch):
		}
		if w.subscribe() == nil {
			return true
		}
	}
}

// refresh reads the links again that messages are about, and all links for nil.
func (w *watcher) refresh(messages []syscall.NetlinkMessage) {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	w.mutex.Lock()
	links := slices.Clone(w.links)
	w.mutex.Unlock()
	for _, l := range links {
		if messages == nil || slices.ContainsFunc(messages, func(m syscall.NetlinkMessage) bool { return concerns(m, l) }) {
			if err := w.look(l); err != nil {
				w.logger.Warn("looking at an interface failed", "interface", l.name, "error", err)
			}
		}
	}
}

// concerns reports whether a message may be about a link. The index is at the
// same place in an ifinfomsg and an ifaddrmsg.
func concerns(m syscall.NetlinkMessage, l *link) bool {
	if len(m.Data) < 8 {
		return false
	}
	index, name := int(int32(binary.NativeEndian.Uint32(m.Data[4:]))), ""
	if m.Header.Type == unix.RTM_NEWLINK || m.Header.Type == unix.RTM_DELLINK {
		header := unix.NlMsghdr(m.Header)
		if about, err := netlink.LinkDeserialize(&header, m.Data); err == nil {
			name = about.Attrs().Name
		}
	}
	return l.is(index, name)
}

// look updates the state of a link.
func (w *watcher) look(l *link) error {
	found, err := w.handle.LinkByName(l.name)
	if err == nil {
		var info multilink.LinkInfo
		if info, err = describe(w.handle, found); err == nil {
			l.update(found.Attrs().Index, info)
			return nil
		}
	}
	if missing(err) {
		l.update(0, multilink.LinkInfo{Interface: l.name, Gone: true})
		return nil
	}
	return err
}

// add begins to watch a link. One that does not exist is not added.
func (w *watcher) add(l *link) error {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	l.watcher = w
	// First added, then read: no change is missed in between.
	w.mutex.Lock()
	w.links = append(w.links, l)
	w.mutex.Unlock()
	err := w.look(l)
	if err == nil && l.Info().Gone {
		err = multilink.ErrUnknownLink
	}
	if err != nil {
		w.remove(l)
	}
	return err
}

func (w *watcher) remove(l *link) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.links = slices.DeleteFunc(w.links, func(other *link) bool { return other == l })
}

// close ends the watching, and with it all links.
func (w *watcher) close() {
	w.mutex.Lock()
	close(w.closed)
	w.socket.Close()
	links := slices.Clone(w.links)
	w.mutex.Unlock()
	w.done.Wait()
	for _, l := range links {
		_ = l.Close()
	}
	w.handle.Close()
}
