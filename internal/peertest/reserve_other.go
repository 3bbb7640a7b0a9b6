//go:build !linux

package peertest

import (
	"net"
	"net/netip"
)

// reserve returns an address that was not in use a moment ago: elsewhere two sockets cannot be
// bound to one port.
func reserve() (address netip.AddrPort, release func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, nil, err
	}
	return listener.Addr().(*net.TCPAddr).AddrPort(), func() {}, listener.Close()
}
