package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"github.com/iotenablers/enablers/internal/cli"
)

// Listen opens a TCP listener. An address in IPv4 means exactly that: 0.0.0.0
// is not IPv6 as well, for which [::] or an empty host stands. The error names
// the flag that the address came from, and is one of usage for an address that cannot be.
func Listen(flagName, address string) (net.Listener, error) {
	network := "tcp"
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Is4() {
		network = "tcp4"
	}
	listener, err := net.Listen(network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &takenError{address, flagName}
	}
	if err != nil {
		var malformed *net.AddrError
		var unknown *net.DNSError
		err = fmt.Errorf("listen on %q (-%s): %w", address, flagName, err)
		if errors.As(err, &malformed) || (errors.As(err, &unknown) && unknown.IsNotFound) {
			err = cli.Usage(err)
		}
		return nil, err
	}
	return listener, nil
}

// takenError is the error of a port that another program has.
type takenError struct{ address, flagName string }

// Error implements error.
func (e *takenError) Error() string {
	return fmt.Sprintf("listen on %q: the port is taken by another program; choose another one with -%s "+
		"HOST:PORT (port 0 takes any that is free)", e.address, e.flagName)
}

// Unwrap returns the error of the operating system.
func (e *takenError) Unwrap() error { return syscall.EADDRINUSE }

// IsLoopback reports whether only this machine can reach the listener.
func IsLoopback(listener net.Listener) bool {
	address, ok := listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// Reachable returns the address of a listener, or a URL with such an address, as this
// machine reaches it: the loopback replaces what stands for all interfaces.
func Reachable(address string) string {
	return strings.NewReplacer("0.0.0.0:", "127.0.0.1:", "[::]:", "[::1]:").Replace(address)
}

// WarnIfExposed logs one line when other machines can reach a listener that requires no
// authentication.
func WarnIfExposed(log *slog.Logger, listener net.Listener, service string) {
	if !IsLoopback(listener) {
		log.Warn("listening beyond loopback without authentication", "service", service, "address", listener.Addr().String())
	}
}
