package netlab

import (
	"errors"
	"fmt"
	"net"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Lab is two hosts and the links between them. A link is an interface of the
// same name on both hosts. Create it with [New].
//
// It is safe for use by several goroutines.
type Lab struct {
	hosts [2]space
	air   space
}

// space is a network namespace and a socket to configure it with.
type space struct {
	ns     netns.NsHandle
	handle *netlink.Handle
}

// New creates the hosts and links of those names, of up to 12 bytes, with the
// addresses 192.0.2.1 and .2 of the client's and the server's end of the first
// link, 192.0.3.1 and .2 of the second, and so on. Without the right to, it
// returns the system's error.
func New(links ...string) (*Lab, error) {
	l := &Lab{}
	for _, s := range []*space{&l.hosts[Client], &l.hosts[Server], &l.air} {
		if err := s.open(); err != nil {
			return nil, errors.Join(fmt.Errorf("create network namespace: %w", err), l.Close())
		}
	}
	for i, name := range links {
		if err := l.join(i, name); err != nil {
			return nil, errors.Join(fmt.Errorf("create link %q: %w", name, err), l.Close())
		}
	}
	return l, nil
}

func (s *space) open() error {
	done := make(chan error, 1)
	go func() {
		// The thread keeps the new namespace, so it ends with this goroutine.
		runtime.LockOSThread()
		ns, err := netns.New()
		if err != nil {
			done <- err
			return
		}
		s.ns = ns
		s.handle, err = netlink.NewHandleAt(ns)
		if err == nil {
			err = s.up("lo")
		}
		done <- err
	}()
	return <-done
}

func (s *space) up(name string) error {
	link, err := s.handle.LinkByName(name)
	if err != nil {
		return err
	}
	return s.handle.LinkSetUp(link)
}

// join creates one link: a pair of interfaces from each host to the air, and a
// bridge there that passes on everything that it is given.
func (l *Lab) join(index int, name string) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "b-" + name}}
	if err := l.air.handle.LinkAdd(bridge); err != nil {
		return fmt.Errorf("add bridge: %w", err)
	}
	if err := l.air.handle.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("start bridge: %w", err)
	}
	for side := range l.hosts {
		host := &l.hosts[side]
		port := airPort(Side(side), name)
		pair := &netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: port, TxQLen: 1000}, PeerName: name,
			PeerNamespace: netlink.NsFd(int(host.ns)),
		}
		if err := l.air.handle.LinkAdd(pair); err != nil {
			return fmt.Errorf("add interfaces: %w", err)
		}
		inAir, err := l.air.handle.LinkByName(port)
		if err != nil {
			return err
		}
		if err := l.air.handle.LinkSetMaster(inAir, bridge); err != nil {
			return fmt.Errorf("join bridge: %w", err)
		}
		if err := errors.Join(l.air.handle.LinkSetLearning(inAir, false), l.air.handle.LinkSetUp(inAir)); err != nil {
			return fmt.Errorf("start interface: %w", err)
		}
		inHost, err := host.handle.LinkByName(name)
		if err != nil {
			return err
		}
		address := Address(Side(side), index)
		prefix := &netlink.Addr{IPNet: &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(24, 32)}}
		if err := host.handle.AddrAdd(inHost, prefix); err != nil {
			return fmt.Errorf("add address: %w", err)
		}
		if err := host.handle.LinkSetUp(inHost); err != nil {
			return fmt.Errorf("start interface: %w", err)
		}
	}
	return l.introduce(index, name)
}

// introduce tells each host where the other one is, so that what is measured
// after a cut is not how long the kernel takes to ask.
func (l *Lab) introduce(index int, name string) error {
	for side := range l.hosts {
		here, there := &l.hosts[side], &l.hosts[1-side]
		other, err := there.handle.LinkByName(name)
		if err != nil {
			return err
		}
		own, err := here.handle.LinkByName(name)
		if err != nil {
			return err
		}
		if err := here.handle.NeighSet(&netlink.Neigh{
			LinkIndex: own.Attrs().Index, State: netlink.NUD_PERMANENT,
			IP: Address(Side(1-side), index).AsSlice(), HardwareAddr: other.Attrs().HardwareAddr,
		}); err != nil {
			return fmt.Errorf("add neighbour: %w", err)
		}
	}
	return nil
}

func airPort(side Side, name string) string { return [2]string{"c-", "s-"}[side] + name }

// Pass says whether the air carries packets of a link towards a host. Neither
// end sees a change of its interface.
func (l *Lab) Pass(link string, to Side, pass bool) error {
	port, err := l.air.handle.LinkByName(airPort(to, link))
	if err != nil {
		return fmt.Errorf("find link %q: %w", link, err)
	}
	// The bridge learns no addresses, so all that it passes on it floods, but
	// for broadcasts, which are nothing that a tunnel sends.
	if err := l.air.handle.LinkSetFlood(port, pass); err != nil {
		return fmt.Errorf("change link %q: %w", link, err)
	}
	return nil
}

// Cut has the air swallow everything on a link.
func (l *Lab) Cut(link string) error {
	return errors.Join(l.Pass(link, Client, false), l.Pass(link, Server, false))
}

// Restore undoes Cut and Pass.
func (l *Lab) Restore(link string) error {
	return errors.Join(l.Pass(link, Client, true), l.Pass(link, Server, true))
}

// Narrow has the air swallow packets of IP on a link that are longer than that, as a
// tunnel of a provider does whose messages about it are filtered. Neither end sees a
// change of its interface.
func (l *Lab) Narrow(link string, mtu int) error {
	for side := range l.hosts {
		port, err := l.air.handle.LinkByName(airPort(Side(side), link))
		if err != nil {
			return fmt.Errorf("find link %q: %w", link, err)
		}
		own, err := l.hosts[side].handle.LinkByName(link)
		if err != nil {
			return fmt.Errorf("find link %q: %w", link, err)
		}
		// A bridge lets pass four bytes more, for a tag, and whatever is not cut into
		// segments yet.
		if err := errors.Join(
			l.air.handle.LinkSetMTU(port, mtu-4), l.hosts[side].handle.LinkSetGSOMaxSegs(own, 1),
		); err != nil {
			return fmt.Errorf("change link %q: %w", link, err)
		}
	}
	return nil
}

// Carrier takes the carrier away from a host's end of a link, or gives it back.
func (l *Lab) Carrier(link string, side Side, up bool) error {
	port, err := l.air.handle.LinkByName(airPort(side, link))
	if err != nil {
		return fmt.Errorf("find link %q: %w", link, err)
	}
	set := l.air.handle.LinkSetUp
	if !up {
		set = l.air.handle.LinkSetDown
	}
	if err := set(port); err != nil {
		return fmt.Errorf("change link %q: %w", link, err)
	}
	return nil
}

// In runs f on a host: sockets that it opens and processes that it starts
// belong there. It must do so by itself, and not in another goroutine.
func (l *Lab) In(side Side, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err := netns.Set(l.hosts[side].ns); err != nil {
			done <- fmt.Errorf("enter network namespace: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

// Path names a host's namespace, for this process and as long as the lab is open.
func (l *Lab) Path(side Side) string { return fmt.Sprintf("/proc/self/fd/%d", l.hosts[side].ns) }

// Close lets go of everything. A second Close returns nil.
func (l *Lab) Close() error {
	var errs []error
	for _, s := range []*space{&l.hosts[Client], &l.hosts[Server], &l.air} {
		if s.handle != nil {
			s.handle.Close()
			s.handle = nil
		}
		if s.ns > 0 {
			errs = append(errs, s.ns.Close())
		}
	}
	return errors.Join(errs...)
}
