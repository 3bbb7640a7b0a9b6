package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

// maxAddresses is how many addresses a client has at most.
const maxAddresses = 8

// HostIn reports whether an address is one that a host can have in its network: not
// the network's own, and not its broadcast address.
func HostIn(address netip.Prefix) bool {
	a := address.Addr()
	if a.IsUnspecified() || a.IsMulticast() || a.Is4In6() || a.Zone() != "" || address.Bits() == 0 {
		return false // a network of everything would take the default route
	}
	if !a.Is4() || address.Bits() >= 31 {
		return true
	}
	return a != address.Masked().Addr() && a != lastAddress(address)
}

// lastAddress returns the last address of a network in IPv4, the broadcast address.
func lastAddress(network netip.Prefix) netip.Addr {
	a := network.Masked().Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		a[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(a)
}

// taken are the addresses in use, with their users.
type taken map[netip.Addr]string

func takenBy(server []netip.Prefix, clients []*Client) taken {
	t := taken{}
	for _, address := range server {
		t[address.Addr()] = "the server"
	}
	for _, c := range clients {
		for _, address := range c.Addresses {
			t[address.Addr()] = fmt.Sprintf("client %q", c.Name)
		}
	}
	return t
}

// addressesFor returns those of a new client: the ones of the request, or the next
// that is free in each network of the server.
func addressesFor(asked []string, server []netip.Prefix, clients []*Client) ([]netip.Prefix, error) {
	inUse := takenBy(server, clients)
	if len(asked) == 0 {
		free := []netip.Prefix{}
		for _, network := range server {
			address, ok := nextFree(network, inUse)
			if !ok {
				return nil, fault.Clash("addresses", "the network %v is full", network.Masked())
			}
			free = append(free, address)
		}
		return free, nil
	}
	if len(asked) > maxAddresses {
		return nil, fault.Wrong("addresses", "must be %d at most, got %d", maxAddresses, len(asked))
	}
	made := make([]netip.Prefix, 0, len(asked))
	for i, text := range asked {
		at := fmt.Sprintf("addresses[%d]", i)
		address, err := parseAddress(text, server)
		if err != nil {
			return nil, fault.Wrong(at, "%v", err)
		}
		if len(server) > 0 && !slices.ContainsFunc(server, func(s netip.Prefix) bool {
			return s.Masked().Contains(address.Addr()) && HostIn(netip.PrefixFrom(address.Addr(), s.Bits()))
		}) {
			return nil, fault.Wrong(at, "must be a host in the server's network %[2]v, got %[1]v", address.Addr(), masked(server))
		}
		if by, ok := inUse[address.Addr()]; ok {
			return nil, fault.Clash(at, "%v is the address of %s", address.Addr(), by)
		}
		inUse[address.Addr()] = "the client itself"
		made = append(made, address)
	}
	return made, nil
}

// parseAddress reads "10.9.0.2/24", or "10.9.0.2", whose prefix is the server's.
func parseAddress(text string, server []netip.Prefix) (netip.Prefix, error) {
	const want = "must be the address of a host and the length of its network's prefix, such as 10.9.0.2/24, got %.60q"
	if !strings.Contains(text, "/") {
		address, err := netip.ParseAddr(text)
		if err != nil || !HostIn(netip.PrefixFrom(address, address.BitLen())) || address.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf(want, text)
		}
		for _, s := range server {
			if s.Masked().Contains(address) {
				return netip.PrefixFrom(address, s.Bits()), nil
			}
		}
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	address, err := netip.ParsePrefix(text)
	if err != nil || !HostIn(address) {
		return netip.Prefix{}, fmt.Errorf(want, text)
	}
	return address, nil
}

// nextFree returns the first address of a network that is not taken. It tries as many as
// are in use and some more.
func nextFree(network netip.Prefix, inUse taken) (netip.Prefix, bool) {
	address := network.Masked().Addr().Next() // the first is the network's own
	if network.Bits() >= address.BitLen()-1 {
		address = network.Masked().Addr() // of two, or of one, both are hosts (RFC 3021, RFC 6164)
	}
	for range len(inUse) + 2 {
		made := netip.PrefixFrom(address, network.Bits())
		if !network.Masked().Contains(address) || !HostIn(made) {
			return netip.Prefix{}, false
		}
		if _, ok := inUse[address]; !ok {
			return made, true
		}
		address = address.Next()
	}
	return netip.Prefix{}, false
}

func masked(all []netip.Prefix) []netip.Prefix {
	made := make([]netip.Prefix, len(all))
	for i, p := range all {
		made[i] = p.Masked()
	}
	return made
}

// owner returns the interface that has the address.
func owner(all []multilink.LinkInfo, address netip.Addr) string {
	for _, info := range all {
		for _, text := range info.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil && p.Addr() == address {
				return info.Interface
			}
		}
	}
	return ""
}
