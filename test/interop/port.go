package interop

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// FreePort returns a port of the loopback interface for a program that takes no port of 0. It is
// below those that the system gives to connections, and to listeners with a port of 0: no other
// program gets it by accident before that one listens.
func FreePort(t testing.TB) string {
	t.Helper()
	const lowest, ports, tries = 10_000, 20_000, 100
	var failure error
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(ports))
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			_ = listener.Close() // it has no connection
			return port
		}
		failure = err
	}
	t.Fatalf("no port is free: %v", failure)
	return ""
}
