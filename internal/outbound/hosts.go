package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Hosts is a list of the hosts that a server may connect to: names, addresses and ranges
// of addresses. What a name of the list resolves to is of no concern; any other name has
// to resolve to an address of the list, and only such addresses are connected to. A nil
// list allows every host. It is created with [ParseHosts] and is safe for concurrent use.
type Hosts struct {
	names  []hostName
	ranges []hostRange
}

// hostName is a name at a port; zero is any port.
type hostName struct {
	Name
	port int
}

// hostRange is a range of addresses, at a port; zero is any port.
type hostRange struct {
	prefix netip.Prefix
	port   int
}

// Dial opens a connection, as [net.Dialer.DialContext] does.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// ParseHosts reads a list whose entries are HOST, HOST:PORT, *.DOMAIN for all names below a
// domain, *.DOMAIN:PORT, or a range of addresses such as 10.1.0.0/16. A host is a name or
// an address. An empty list is an error: nil stands for every host.
func ParseHosts(entries []string) (*Hosts, error) {
	if len(entries) == 0 {
		return nil, errors.New("the list of hosts is empty")
	}
	h := &Hosts{}
	for _, entry := range entries {
		if err := h.add(entry); err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
	}
	return h, nil
}

func (h *Hosts) add(entry string) error {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		h.ranges = append(h.ranges, hostRange{prefix: unmapped(prefix)})
		return nil
	}
	host, port := entry, 0
	if _, err := netip.ParseAddr(Bare(entry)); err != nil && strings.Contains(entry, ":") {
		var text string
		if host, text, err = net.SplitHostPort(entry); err != nil {
			return errors.New("expected HOST, HOST:PORT, *.DOMAIN or a range of addresses")
		}
		if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
			return fmt.Errorf("the port %q is not a number from 1 to 65535", text)
		}
	}
	if address, err := netip.ParseAddr(Bare(host)); err == nil {
		address = address.WithZone("").Unmap()
		h.ranges = append(h.ranges, hostRange{netip.PrefixFrom(address, address.BitLen()), port})
		return nil
	}
	name := ParseName(host)
	if err := checkName(name.name); err != nil {
		return err
	}
	h.names = append(h.names, hostName{name, port})
	return nil
}

// checkName returns an error for what is not a DNS name.
func checkName(name string) error {
	wrong := func(c rune) bool {
		return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.')
	}
	switch {
	case name == "" || strings.ContainsFunc(name, wrong) || strings.HasPrefix(name, ".") || strings.Contains(name, ".."):
		return errors.New("expected HOST, HOST:PORT, *.DOMAIN or a range of addresses")
	case IsNumber(name):
		return errors.New("neither a name nor an address")
	}
	return nil
}

// Check returns an error that wraps ErrRefused for a host that cannot be on the list. It
// resolves no name: where the list has ranges, a connection shows whether the name has an
// address of the list.
func (h *Hosts) Check(host string, port int) error {
	if h == nil || h.hasName(host, port) {
		return nil
	}
	address, err := netip.ParseAddr(Bare(host))
	switch {
	case err != nil && !IsNumber(Canonical(host)) && h.hasRange(port):
		return nil
	case err != nil || !h.hasAddress(address, port):
		return refusedHost(net.JoinHostPort(Bare(host), strconv.Itoa(port)))
	}
	return nil
}

// Over returns a function that connects to hosts of the list only, and has dial open the
// connections. The errors of all other hosts are the same, whether the name exists or not
// and whatever listens there. A nil dial means that of a zero net.Dialer.
func (h *Hosts) Over(dial Dial) Dial {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if h == nil {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return h.dial(ctx, dial, net.DefaultResolver.LookupNetIP, network, address)
	}
}

// lookup resolves a name, as [net.Resolver.LookupNetIP] does.
type lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

func (h *Hosts) dial(ctx context.Context, dial Dial, resolve lookup, network, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	if h.hasName(host, port) {
		return dial(ctx, network, address)
	}
	ends := []netip.Addr{}
	if end, err := netip.ParseAddr(host); err == nil {
		ends = append(ends, end)
	} else if h.Check(host, port) == nil {
		ends, _ = resolve(ctx, "ip", host) // a name that does not resolve is not on the list either
	}
	var failure error
	for _, end := range ends {
		if !h.hasAddress(end, port) {
			continue
		}
		conn, err := dial(ctx, network, netip.AddrPortFrom(end.Unmap(), uint16(port)).String())
		if err == nil {
			return conn, nil
		}
		failure = errors.Join(failure, err)
	}
	switch {
	case failure != nil:
		return nil, failure
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, refusedHost(address)
}

func refusedHost(hostPort string) error {
	return fmt.Errorf("%w: %s is not on the list of hosts", ErrRefused, hostPort)
}

// hasName reports whether the list has a name.
func (h *Hosts) hasName(host string, port int) bool {
	return slices.ContainsFunc(h.names, func(n hostName) bool {
		return (n.port == 0 || n.port == port) && n.Matches(host)
	})
}

// hasRange reports whether the list has any address at a port.
func (h *Hosts) hasRange(port int) bool {
	return slices.ContainsFunc(h.ranges, func(r hostRange) bool { return r.port == 0 || r.port == port })
}

// hasAddress reports whether the list has an address.
func (h *Hosts) hasAddress(address netip.Addr, port int) bool {
	address = address.WithZone("").Unmap()
	return slices.ContainsFunc(h.ranges, func(r hostRange) bool {
		return (r.port == 0 || r.port == port) && r.prefix.Contains(address)
	})
}

// unmapped returns a range of IPv4 addresses inside IPv6 as the range of IPv4.
func unmapped(prefix netip.Prefix) netip.Prefix {
	if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96).Masked()
	}
	return prefix.Masked()
}
