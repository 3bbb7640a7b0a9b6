package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
)

// Listen opens a TCP listener. The error names the flag that the address came
// from.
func Listen(flagName, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %q: the port is taken by another program; choose another one with -%s HOST:PORT (port 0 takes any that is free)", address, flagName)
	case err != nil:
		return nil, fmt.Errorf("listen on %q (-%s): %w", address, flagName, err)
	}
	return listener, nil
}

// IsLoopback reports whether only this machine can reach the listener.
func IsLoopback(listener net.Listener) bool {
	address, ok := listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// WarnIfExposed logs one line when a listener that asks nobody who he is can
// be reached from other machines.
func WarnIfExposed(log *slog.Logger, listener net.Listener, service string) {
	if !IsLoopback(listener) {
		log.Warn("listening beyond loopback without authentication", "service", service, "address", listener.Addr().String())
	}
}
