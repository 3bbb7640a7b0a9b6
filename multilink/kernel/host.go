//go:build linux

package kernel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/wgctrl"

	"github.com/iotenablers/enablers/multilink"
)

// protocol marks the plane's routes. It is a routing protocol that no other program
// is known to use.
const protocol = 213

// rulePriority is the place of the plane's routing rules: before the main
// table, and behind what an administrator would put first.
const rulePriority = 5213

// host creates devices, routes and rules, with a tag by which they are found again.
type host struct {
	name  string
	tag   uint32 // interface group; with a link's number also a mark and a table
	links *netlink.Handle
	wg    *wgctrl.Client
}

// newHost removes what a plane of the same name left behind.
func newHost(name string) (*host, error) {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", explain(err))
	}
	wg, err := wgctrl.New()
	if err != nil {
		links.Close()
		return nil, fmt.Errorf("open WireGuard's control: %w", explain(err))
	}
	sum := sha256.Sum256([]byte(name))
	h := &host{name: name, tag: 0x4d000000 | uint32(binary.BigEndian.Uint16(sum[:]))<<8, links: links, wg: wg}
	if err := h.clean(); err != nil {
		return nil, errors.Join(fmt.Errorf("remove what was left behind: %w", err), h.close())
	}
	return h, nil
}

func (h *host) close() error {
	h.links.Close()
	return h.wg.Close()
}

// clean removes everything that has the tag.
func (h *host) clean() error {
	var failed []error
	all, err := h.links.LinkList()
	if err != nil {
		return fmt.Errorf("list devices: %w", err)
	}
	for _, link := range all {
		if link.Attrs().Group == h.tag {
			failed = append(failed, h.remove(link.Attrs().Name))
		}
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		failed = append(failed, h.cleanRouting(family))
	}
	return errors.Join(failed...)
}

// deviceName returns a name that depends on the arguments alone.
func (h *host) deviceName(kind string, of ...string) string {
	return kind + hex.EncodeToString(h.digest(append(of, kind)...)[:5])
}

// digest of the plane's name and others.
func (h *host) digest(of ...string) []byte {
	sum := sha256.New()
	for _, part := range append(of, h.name) {
		fmt.Fprintf(sum, "%d %s ", len(part), part)
	}
	return sum.Sum(nil)
}

// attributes returns the attributes of a device of the plane.
func (h *host) attributes(name string) netlink.LinkAttrs {
	attributes := netlink.NewLinkAttrs()
	attributes.Name, attributes.Group = name, h.tag
	return attributes
}

// add creates a device and returns its index.
func (h *host) add(device netlink.Link) (int, error) {
	name := device.Attrs().Name
	if err := h.links.LinkAdd(device); err != nil {
		return 0, fmt.Errorf("create %s %q: %w", device.Type(), name, explain(err))
	}
	made, err := h.links.LinkByName(name)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("find %s %q: %w", device.Type(), name, err), h.remove(name))
	}
	return made.Attrs().Index, nil
}

// remove removes a device, if it is there.
func (h *host) remove(name string) error {
	if name == "" {
		return nil
	}
	device, err := h.links.LinkByName(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %q: %w", name, err)
	}
	if err := h.links.LinkDel(device); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("remove %q: %w", name, explain(err))
	}
	return nil
}

func (h *host) up(name string, index int) error {
	if err := h.links.LinkSetUp(byIndex(index)); err != nil {
		return fmt.Errorf("set %q up: %w", name, explain(err))
	}
	return nil
}

// addAddress adds an address to a device. It returns nil where the device has it.
func (h *host) addAddress(name string, index int, prefix netip.Prefix, flags int) error {
	address := &netlink.Addr{IPNet: ipNet(prefix), Flags: flags}
	if err := h.links.AddrReplace(byIndex(index), address); err != nil {
		return fmt.Errorf("add %v to %q: %w", prefix, name, explain(err))
	}
	return nil
}

// byIndex returns a device of which only the index is needed.
func byIndex(index int) netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}

func single(address netip.Addr) netip.Prefix {
	return netip.PrefixFrom(address, address.BitLen())
}

// inner returns the address of a node within the tunnels of a link. Both ends
// exchange it. It is a unique local address of RFC 4193, with a negligible chance
// of a collision.
func inner(link string, key multilink.Key) netip.Addr {
	sum := sha256.Sum256(append([]byte(link+"\x00"), key[:]...))
	sum[0] = 0xfd
	return netip.AddrFrom16([16]byte(sum[:16]))
}

// segment returns the VXLAN identifier of two nodes on a link, the same for both.
func segment(link string, a, b multilink.Key) int {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	sum := sha256.Sum256(append(append([]byte(link+"\x00"), a[:]...), b[:]...))
	return int(binary.BigEndian.Uint32(sum[:])>>8 | 1)
}

// hardware returns the locally administered MAC address of a device of the plane.
func (h *host) hardware(of ...string) net.HardwareAddr {
	address := net.HardwareAddr(h.digest(of...)[:6])
	address[0] = address[0]&^1 | 2
	return address
}

// explain adds the sentinels of multilink to errors of the system.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return fmt.Errorf("it takes CAP_NET_ADMIN: %w: %w", multilink.ErrDenied, err)
	case errors.Is(err, syscall.EOPNOTSUPP):
		return fmt.Errorf("the kernel lacks it: %w: %w", multilink.ErrUnsupported, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w: %w", multilink.ErrAddressInUse, err)
	case errors.Is(err, syscall.EEXIST):
		return fmt.Errorf("%w: %w", multilink.ErrDuplicate, err)
	}
	return err
}
