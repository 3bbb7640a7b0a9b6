package peertest

import (
	"net"
	"testing"
)

// UnusedAddress returns a HOST:PORT of loopback where nothing listens.
func UnusedAddress(tb testing.TB) string {
	tb.Helper()
	address, err := FreeAddress()
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	return address
}

// FreeAddress is UnusedAddress outside of a test.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
