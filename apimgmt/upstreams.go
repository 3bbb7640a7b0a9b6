package apimgmt

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/outbound"
)

// Upstreams bounds the hosts that definitions may name as their servers, so that no
// definition leads into a private network. A name may resolve to any address, also later,
// so the gateway has to check the addresses that it connects to as well; the embedded one
// does.
type Upstreams struct {
	// Hosts are the allowed hosts: "weather.example", or "*.example" for
	// all below. Empty means any.
	Hosts []string
	// Private are allowed addresses that are not public. A range with 127.0.0.1 or ::1
	// allows the name localhost.
	Private []netip.Prefix
}

func (u Upstreams) check() error {
	for i, host := range u.Hosts {
		if rest := strings.TrimPrefix(host, "*."); rest == "" || (strings.ContainsAny(rest, "*/: ") && !isAddress(rest)) {
			return fmt.Errorf("apimgmt: Config.Upstreams.Hosts[%d]: %q is not a host", i, host)
		}
	}
	for i, prefix := range u.Private {
		if !prefix.IsValid() {
			return fmt.Errorf("apimgmt: Config.Upstreams.Private[%d]: is not a range of addresses", i)
		}
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// allow decides on one host.
func (u Upstreams) allow(host string) error {
	listed := func(name string) bool { return outbound.ParseName(name).Matches(host) }
	if len(u.Hosts) > 0 && !slices.ContainsFunc(u.Hosts, listed) {
		return errors.New("the host is not one of those that definitions may name")
	}
	host = outbound.Canonical(host)
	policy := outbound.Policy{Allow: u.Private}
	if address, err := netip.ParseAddr(host); err == nil {
		return policy.Check(address)
	}
	switch {
	case outbound.IsNumber(host):
		return errors.New("the host is neither a name nor an address")
	case strings.HasSuffix("."+host, ".localhost"):
		if policy.Check(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != nil && policy.Check(netip.IPv6Loopback()) != nil {
			return fmt.Errorf("%w: %s is not public", outbound.ErrRefused, host)
		}
	}
	return nil
}
