package peertest

import (
	"net/netip"
	"testing"
)

// ReservedAddress returns an address of loopback where nothing listens, for a server that
// cannot choose its port. The server may end and listen there again: on Linux the system gives
// the port to no other process, and uses it for no outgoing connection, until the test ends. The
// server has to set SO_REUSEADDR, as servers do.
func ReservedAddress(tb testing.TB) netip.AddrPort {
	tb.Helper()
	address, release, err := reserve()
	if err != nil {
		tb.Fatalf("reserve a port: %v", err)
	}
	tb.Cleanup(release)
	return address
}
