package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// Host is a [multilink.Host] on Linux. [Open] creates it.
//
// It is safe for use by several goroutines.
type Host struct {
	options   Options
	namespace *namespace
	boot      string
	guard     net.Listener // holds the name

	mutex      sync.Mutex // held while something is changed
	netlink    *netlink.Handle
	journal    *journal
	lastChange int
	watcher    *watcher // nil until a link is watched
	ports      []*Port
	made       []string // bridges that the ports created
	underlays  []*underlay
	closed     bool
}

// Open creates a host and removes what a process that was killed left behind under
// its name. It starts nothing, and needs no rights as long as nothing was left.
//
// A name or journal that another host uses is ErrDuplicate, leftovers that the
// process may not remove ErrDenied. On other systems than Linux it returns
// ErrUnsupported.
func Open(ctx context.Context, options *Options) (*Host, error) {
	complete, err := options.complete()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open host %q: %w", complete.Name, err)
	}
	h := &Host{options: complete}
	if err := h.open(); err != nil {
		h.release()
		return nil, fmt.Errorf("open host %q: %w", complete.Name, err)
	}
	return h, nil
}

func (h *Host) open() error {
	var err error
	if h.boot, err = boot(); err != nil {
		return err
	}
	if h.namespace, err = openNamespace(h.options.Namespace); err != nil {
		return err
	}
	err = h.In(func() error {
		if h.guard, err = guardName(h.options.Name); err != nil {
			return err
		}
		h.netlink, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return err
	}
	var left []change
	if h.journal, left, err = openJournal(h.options.Journal); err != nil {
		return err
	}
	return h.sweep(left)
}

// guardName keeps other hosts of the namespace from using the same name. An
// abstract socket belongs to a namespace, and goes with the process.
func guardName(name string) (net.Listener, error) {
	guard, err := net.Listen("unix", "@multilink/host/"+name)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("another host of this name works in the namespace: %w", multilink.ErrDuplicate)
	}
	return guard, err
}

// In calls f on a thread that is in the host's network namespace: sockets and
// devices that it opens belong to that namespace. f must open them in the goroutine
// that calls it. In returns f's error.
func (h *Host) In(f func() error) error { return h.namespace.in(f) }

// Port creates a TAP device with the bridge, addresses and routes of its
// configuration. It returns a [*Port].
//
// Without CAP_NET_ADMIN or /dev/net/tun it returns ErrDenied. Where the options
// exclude a part of the configuration it returns ErrDenied before it changes
// anything. A port that could not be created in full is removed again. A bridge is
// removed with the port that it was created for.
func (h *Host) Port(ctx context.Context, config multilink.PortConfig) (multilink.FramePort, error) {
	if config.MTU == 0 {
		config.MTU = defaultMTU
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create port %q: %w", config.Name, err)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return nil, fmt.Errorf("create port %q: %w", config.Name, multilink.ErrClosed)
	}
	if err := h.checkPort(config); err != nil {
		return nil, err
	}
	p, err := h.openPort(config)
	if err != nil {
		return nil, err
	}
	changes, err := h.wire(config)
	p.remove = func() error { return h.removePort(p, changes) }
	if err != nil {
		err = fmt.Errorf("create port %q: %w", config.Name, denied(err, capability))
		return nil, errors.Join(err, p.file.Close(), h.revertAll(changes))
	}
	h.ports = append(h.ports, p)
	for _, c := range changes {
		if c.Kind == changeBridge {
			h.made = append(h.made, c.Interface)
		}
	}
	return p, nil
}

func (h *Host) openPort(config multilink.PortConfig) (*Port, error) {
	var p *Port
	err := h.In(func() error {
		file, offload, err := openTAP(config.Name, !h.options.NoOffload)
		if err != nil {
			return err
		}
		if p, err = newPort(config.Name, config.MTU, file, offload); err != nil {
			file.Close()
		}
		return err
	})
	return p, err
}

// removePort undoes what was created around a port.
func (h *Host) removePort(p *Port, changes []change) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.ports = slices.DeleteFunc(h.ports, func(other *Port) bool { return other == p })
	h.made = slices.DeleteFunc(h.made, func(bridge string) bool {
		return slices.ContainsFunc(changes, func(c change) bool { return c.Kind == changeBridge && c.Interface == bridge })
	})
	return h.revertAll(changes)
}

// Link watches an interface.
func (h *Host) Link(ctx context.Context, name string) (multilink.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("watch interface %q: %w", name, err)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return nil, fmt.Errorf("watch interface %q: %w", name, multilink.ErrClosed)
	}
	if err := h.usable(name); err != nil {
		return nil, fmt.Errorf("watch interface %q: %w", name, err)
	}
	if h.watcher == nil {
		w, err := newWatcher(h.namespace, h.options.Logger)
		if err != nil {
			return nil, fmt.Errorf("watch interface %q: %w", name, err)
		}
		h.watcher = w
	}
	l := &link{name: name}
	if err := h.watcher.add(l); err != nil {
		return nil, fmt.Errorf("watch interface %q: %w", name, err)
	}
	return l, nil
}

// usable returns an error for an interface that cannot carry a link.
func (h *Host) usable(name string) error {
	if err := h.options.touch(name); err != nil {
		return err
	}
	if h.own(name) {
		return fmt.Errorf("the host created it itself: %w", multilink.ErrDenied)
	}
	if !validInterface(name) {
		return fmt.Errorf("not the name of an interface: %w", multilink.ErrUnknownLink)
	}
	return nil
}

// own reports whether an interface is a port or bridge of the host.
func (h *Host) own(name string) bool {
	return slices.Contains(h.made, name) || slices.ContainsFunc(h.ports, func(p *Port) bool { return p.name == name })
}

// Links returns the interfaces that may carry a link: all that the options allow
// but the loopback interface and what the host created itself.
func (h *Host) Links(ctx context.Context) ([]multilink.LinkInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return nil, fmt.Errorf("list interfaces: %w", multilink.ErrClosed)
	}
	links, err := h.links()
	if err != nil {
		return nil, err
	}
	var infos []multilink.LinkInfo
	for _, l := range links {
		attrs := l.Attrs()
		if attrs.Flags&net.FlagLoopback != 0 || h.usable(attrs.Name) != nil {
			continue
		}
		info, err := describe(h.netlink, l)
		if err != nil {
			return nil, fmt.Errorf("list interfaces: %w", err)
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (h *Host) links() ([]netlink.Link, error) {
	links, err := retryDump(h.netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	return links, nil
}

// Close removes everything that the host created: ports with all that was created
// for them, underlays, and the journal. Links and ports that are still in use
// end with ErrClosed.
func (h *Host) Close() error {
	h.mutex.Lock()
	if h.closed {
		h.mutex.Unlock()
		return nil
	}
	h.closed = true
	ports, underlays := slices.Clone(h.ports), slices.Clone(h.underlays)
	h.mutex.Unlock()
	var errs []error
	for _, u := range underlays {
		errs = append(errs, u.Close())
	}
	for _, p := range slices.Backward(ports) {
		errs = append(errs, p.Close())
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	errs = append(errs, h.release())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close host %q: %w", h.options.Name, err)
	}
	return nil
}

// release returns what the host holds for itself.
func (h *Host) release() error {
	if h.watcher != nil {
		h.watcher.close()
	}
	if h.netlink != nil {
		h.netlink.Close()
	}
	err := h.journal.close()
	if h.guard != nil {
		err = errors.Join(err, h.guard.Close())
	}
	if h.namespace != nil {
		err = errors.Join(err, h.namespace.close())
	}
	return err
}
