package host

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// routeProtocol marks the routes of a host. It is a value of rtm_protocol that no
// program has registered.
const routeProtocol = 177

// mark returns the alias of the bridges of a host.
func mark(name string) string { return "multilink " + name }

// boot identifies the kernel's run. Changes of an earlier run are gone.
func boot() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(bytes.TrimSpace(id)), err
}

// begin journals a change that is about to be applied.
func (h *Host) begin(c change) (change, error) {
	h.lastChange++
	c.ID = h.lastChange
	c.Boot = h.boot
	c.Namespace = h.namespace.inode
	return c, h.journal.record(c)
}

// revert undoes a change and journals that.
func (h *Host) revert(c change) error {
	if err := h.undo(c); err != nil {
		return err
	}
	return h.journal.forget(c)
}

// revertAll undoes changes, the last one first.
func (h *Host) revertAll(changes []change) error {
	var errs []error
	for _, c := range slices.Backward(changes) {
		errs = append(errs, h.revert(c))
	}
	return errors.Join(errs...)
}

// undo undoes a change. It returns nil where that is undone already or was never
// made.
func (h *Host) undo(c change) error {
	if c.Boot != h.boot || c.Namespace != h.namespace.inode {
		return nil
	}
	link, err := h.netlink.LinkByName(c.Interface)
	if err != nil {
		if missing(err) {
			return nil
		}
		return fmt.Errorf("undo %s of %q: %w", c.Kind, c.Interface, err)
	}
	if c.Index != 0 && c.Index != link.Attrs().Index {
		return nil
	}
	if err := h.undoAt(c, link); err != nil && !gone(err) {
		return denied(fmt.Errorf("undo %s of %q: %w", c.Kind, c.Interface, err), capability)
	}
	return nil
}

func (h *Host) undoAt(c change, link netlink.Link) error {
	switch c.Kind {
	case changeBridge:
		if link.Type() != "bridge" || link.Attrs().HardwareAddr.String() != c.MAC {
			return nil
		}
		return h.netlink.LinkDel(link)
	case changeMember:
		bridge, err := h.netlink.LinkByName(c.Bridge)
		if missing(err) || (err == nil && bridge.Attrs().Index != link.Attrs().MasterIndex) {
			return nil
		}
		if err != nil {
			return err
		}
		return h.netlink.LinkSetNoMaster(link)
	case changeUp:
		return h.netlink.LinkSetDown(link)
	case changeAddress:
		address, err := netlink.ParseAddr(c.Address)
		if err != nil {
			return err
		}
		return h.netlink.AddrDel(link, address)
	case changeRoute:
		route, err := parseRoute(c, link)
		if err != nil {
			return err
		}
		return h.netlink.RouteDel(route)
	}
	return fmt.Errorf("no such kind of change")
}

func parseRoute(c change, link netlink.Link) (*netlink.Route, error) {
	_, destination, err := net.ParseCIDR(c.Destination)
	if err != nil {
		return nil, err
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: destination, Protocol: routeProtocol}
	if c.Gateway != "" {
		route.Gw = net.ParseIP(c.Gateway)
	} else if destination.IP.To4() != nil {
		route.Scope = netlink.SCOPE_LINK
	}
	return route, nil
}

// sweep undoes what a host of the same name left behind.
func (h *Host) sweep(left []change) error {
	for _, c := range left {
		h.lastChange = max(h.lastChange, c.ID)
	}
	err := h.revertAll(left)
	links, listErr := h.links()
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	for _, link := range links {
		if link.Type() == "bridge" && link.Attrs().Alias == mark(h.options.Name) {
			if delErr := h.netlink.LinkDel(link); delErr != nil && !gone(delErr) {
				err = errors.Join(err, denied(fmt.Errorf("remove bridge %q: %w", link.Attrs().Name, delErr), capability))
			}
		}
	}
	return err
}

// missing reports whether an error says that an interface does not exist.
func missing(err error) bool {
	var notFound netlink.LinkNotFoundError
	return errors.As(err, &notFound) || errors.Is(err, unix.ENODEV)
}

// gone reports whether an error says that what is to be removed is not there.
func gone(err error) bool {
	return missing(err) || errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT)
}
