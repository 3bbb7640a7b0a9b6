//go:build !linux

package wg

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"

	"github.com/iotenablers/enablers/multilink"
)

// What Windows calls the errors of the same names: its package syscall has
// numbers of its own invention for them.
const (
	wsaAddressInUse    = syscall.Errno(10048)
	wsaNetDown         = syscall.Errno(10050)
	wsaNetUnreachable  = syscall.Errno(10051)
	wsaHostUnreachable = syscall.Errno(10065)
)

// down reports whether an error says that the link carries nothing.
func down(err error) bool {
	for _, one := range []syscall.Errno{syscall.ENETDOWN, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EPERM} {
		if errors.Is(err, one) {
			return true
		}
	}
	return runtime.GOOS == "windows" &&
		(errors.Is(err, wsaNetDown) || errors.Is(err, wsaNetUnreachable) || errors.Is(err, wsaHostUnreachable))
}

// listen opens sockets. They are bound to no interface, for which every system
// has another way.
func listen(device string, port uint16, o Options, rs *remotes) (sockets, carrier, error) {
	if device != "" {
		return sockets{}, nil, fmt.Errorf("bind to interface %q: on %s: %w", device, runtime.GOOS, multilink.ErrUnsupported)
	}
	if o.Mark != 0 {
		return sockets{}, nil, fmt.Errorf("mark datagrams: on %s: %w", runtime.GOOS, multilink.ErrUnsupported)
	}
	s, err := listenPair(port, func(network string, port uint16) (socket, uint16, error) {
		at, err := net.ResolveUDPAddr(network, ":"+strconv.Itoa(int(port)))
		if err != nil {
			return nil, 0, err
		}
		c, err := net.ListenUDP(network, at)
		if err != nil {
			return nil, 0, err
		}
		_ = c.SetReadBuffer(receiveBuffer) // a smaller buffer costs speed, and nothing else
		return &plainSocket{conn: c, remotes: rs}, uint16(c.LocalAddr().(*net.UDPAddr).Port), nil
	})
	return s, nil, err
}

func addressInUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || (runtime.GOOS == "windows" && errors.Is(err, wsaAddressInUse))
}

func noFamily(err error) bool {
	return errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) ||
		(runtime.GOOS == "windows" && (errors.Is(err, syscall.Errno(10047)) || errors.Is(err, syscall.Errno(10049))))
}
