package outbound_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/outbound"
)

// entry is a row of a registry of IANA.
type entry struct {
	block, name string
	// allowed says whether servers on the Internet may have addresses of the block.
	allowed bool
}

// ipv4Registry is the IANA IPv4 Special-Purpose Address Registry, as of 2025-10-09:
// https://www.iana.org/assignments/iana-ipv4-special-registry. What is globally reachable
// there, but is in a range that is not, is an anycast address of a protocol and refused
// with the range.
var ipv4Registry = []entry{
	{"0.0.0.0/8", "This network (RFC 791)", false},
	{"0.0.0.0/32", "This host on this network (RFC 1122)", false},
	{"10.0.0.0/8", "Private-Use (RFC 1918)", false},
	{"100.64.0.0/10", "Shared Address Space (RFC 6598)", false},
	{"127.0.0.0/8", "Loopback (RFC 1122)", false},
	{"169.254.0.0/16", "Link Local (RFC 3927)", false},
	{"172.16.0.0/12", "Private-Use (RFC 1918)", false},
	{"192.0.0.0/24", "IETF Protocol Assignments (RFC 6890)", false},
	{"192.0.0.0/29", "IPv4 Service Continuity Prefix (RFC 7335)", false},
	{"192.0.0.8/32", "IPv4 dummy address (RFC 7600)", false},
	{"192.0.0.9/32", "Port Control Protocol Anycast (RFC 7723)", false},
	{"192.0.0.10/32", "Traversal Using Relays around NAT Anycast (RFC 8155)", false},
	{"192.0.0.170/32", "NAT64/DNS64 Discovery (RFC 8880)", false},
	{"192.0.0.171/32", "NAT64/DNS64 Discovery (RFC 8880)", false},
	{"192.0.2.0/24", "Documentation TEST-NET-1 (RFC 5737)", false},
	{"192.31.196.0/24", "AS112-v4 (RFC 7535)", true},
	{"192.52.193.0/24", "AMT (RFC 7450)", true},
	{"192.88.99.0/24", "Deprecated, 6to4 Relay Anycast (RFC 7526)", false},
	{"192.88.99.2/32", "6a44-relay anycast address (RFC 6751)", false},
	{"192.168.0.0/16", "Private-Use (RFC 1918)", false},
	{"192.175.48.0/24", "Direct Delegation AS112 Service (RFC 7534)", true},
	{"198.18.0.0/15", "Benchmarking (RFC 2544)", false},
	{"198.51.100.0/24", "Documentation TEST-NET-2 (RFC 5737)", false},
	{"203.0.113.0/24", "Documentation TEST-NET-3 (RFC 5737)", false},
	{"240.0.0.0/4", "Reserved (RFC 1112)", false},
	{"255.255.255.255/32", "Limited Broadcast (RFC 919)", false},
}

// ipv6Registry is the IANA IPv6 Special-Purpose Address Registry, as of 2025-10-09:
// https://www.iana.org/assignments/iana-ipv6-special-registry. Blocks with IPv4 addresses
// in them are in [TestPolicy_Check_decidesOnTheIPv4AddressInside].
var ipv6Registry = []entry{
	{"::1/128", "Loopback Address (RFC 4291)", false},
	{"::/128", "Unspecified Address (RFC 4291)", false},
	{"64:ff9b:1::/48", "IPv4-IPv6 Translation (RFC 8215)", false},
	{"100::/64", "Discard-Only Address Block (RFC 6666)", false},
	{"100:0:0:1::/64", "Dummy IPv6 Prefix (RFC 9780)", false},
	{"2001::/23", "IETF Protocol Assignments (RFC 2928)", false},
	{"2001::/32", "TEREDO (RFC 4380)", false},
	{"2001:1::1/128", "Port Control Protocol Anycast (RFC 7723)", false},
	{"2001:1::2/128", "Traversal Using Relays around NAT Anycast (RFC 8155)", false},
	{"2001:1::3/128", "DNS-SD Service Registration Protocol Anycast (RFC 9665)", false},
	{"2001:2::/48", "Benchmarking (RFC 5180)", false},
	{"2001:3::/32", "AMT (RFC 7450)", false},
	{"2001:4:112::/48", "AS112-v6 (RFC 7535)", false},
	{"2001:10::/28", "Deprecated, ORCHID (RFC 4843)", false},
	{"2001:20::/28", "ORCHIDv2 (RFC 7343)", false},
	{"2001:30::/28", "Drone Remote ID Protocol Entity Tags (RFC 9374)", false},
	{"2001:db8::/32", "Documentation (RFC 3849)", false},
	{"2620:4f:8000::/48", "Direct Delegation AS112 Service (RFC 7534)", true},
	{"3fff::/20", "Documentation (RFC 9637)", false},
	{"5f00::/16", "Segment Routing (SRv6) SIDs (RFC 9602)", false},
	{"fc00::/7", "Unique-Local (RFC 4193)", false},
	{"fe80::/10", "Link-Local Unicast (RFC 4291)", false},
}

// otherRanges are of no registry of special-purpose addresses.
var otherRanges = []entry{
	{"224.0.0.0/4", "IPv4 Multicast Address Space Registry (RFC 5771)", false},
	{"168.63.129.16/32", "platform of machines in Azure", false},
	{"::/96", "IPv4-compatible addresses, deprecated (RFC 4291)", false},
	{"::ffff:0:0:0/96", "IPv4-translated addresses (RFC 2765)", false},
	{"200::/7", "OSI NSAP, deprecated (RFC 4048)", false},
	{"4000::/3", "reserved (RFC 4291)", false},
	{"8000::/3", "reserved (RFC 4291)", false},
	{"fec0::/10", "site-local, deprecated (RFC 3879)", false},
	{"ff00::/8", "multicast (RFC 4291)", false},
}

func TestPolicy_Check_followsTheRegistriesOfIANA(t *testing.T) {
	for _, registry := range [][]entry{ipv4Registry, ipv6Registry, otherRanges} {
		for _, e := range registry {
			block := netip.MustParsePrefix(e.block)
			for _, address := range []netip.Addr{block.Masked().Addr(), last(block)} {
				err := outbound.Policy{}.Check(address)
				if e.allowed {
					require.NoError(t, err, "%s: %s", e.block, e.name)
					continue
				}
				require.ErrorIs(t, err, outbound.ErrRefused, "%s of %s: %s", address, e.block, e.name)
			}
		}
	}
}

// The neighbours of the blocks are public, so that no mask is wider than its block.
func TestPolicy_Check_allowsTheNeighboursOfSpecialRanges(t *testing.T) {
	for _, address := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255",
		"192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
		"198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
		"2000::", "2001:200::", "2001:db7:ffff::", "2001:db9::", "2003::", "3ffe::", "3fff:1000::", "3fff:ffff::",
	} {
		require.NoError(t, outbound.Policy{}.Check(netip.MustParseAddr(address)), address)
	}
}

// The registry has 64:ff9b::/96 as globally reachable, and 6to4 as neither: what is reached
// is the IPv4 address inside.
func TestPolicy_Check_decidesOnTheIPv4AddressInside(t *testing.T) {
	for _, form := range []string{"::ffff:7f00:1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::c0a8:1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1"} {
		require.ErrorIs(t, outbound.Policy{}.Check(netip.MustParseAddr(form)), outbound.ErrRefused, form)
	}
	for _, form := range []string{"::ffff:101:101", "64:ff9b::101:101", "2002:101:101::1"} {
		require.NoError(t, outbound.Policy{}.Check(netip.MustParseAddr(form)), form)
	}
}

// last returns the last address of a block.
func last(block netip.Prefix) netip.Addr {
	bytes := block.Addr().AsSlice()
	for bit := block.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}
