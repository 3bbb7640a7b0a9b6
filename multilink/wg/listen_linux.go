package wg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// down reports whether an error says that the link carries nothing. EPERM is a
// packet filter's refusal.
func down(err error) bool {
	var number unix.Errno
	if !errors.As(err, &number) {
		return false
	}
	switch number {
	case unix.ENETDOWN, unix.ENODEV, unix.ENXIO, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EPERM, unix.EACCES, unix.EADDRNOTAVAIL:
		return true
	}
	return false
}

func addressInUse(err error) bool { return errors.Is(err, unix.EADDRINUSE) }

func noFamily(err error) bool {
	return errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL)
}

// listen opens sockets, bound to an interface if one is named.
func listen(device string, port uint16, o Options, rs *remotes) (sockets, carrier, error) {
	var all []*linuxSocket
	s, err := listenPair(port, func(network string, port uint16) (socket, uint16, error) {
		one := newLinuxSocket(network, device, o, rs)
		c, err := one.open(port)
		if err != nil {
			return nil, 0, err
		}
		one.live.Store(c)
		all = append(all, one)
		return one, c.port, nil
	})
	if err != nil {
		return sockets{}, nil, err
	}
	if device == "" {
		return s, nil, nil
	}
	on, err := watchInterface(device, s.port, all)
	if err != nil {
		return sockets{}, nil, errors.Join(err, s.close())
	}
	return s, on, nil
}

// open creates a socket that listens on a port.
func (s *linuxSocket) open(port uint16) (*udpConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		if failure := raw.Control(func(fd uintptr) { err = s.prepare(int(fd)) }); failure != nil {
			return failure
		}
		return err
	}}
	packets, err := config.ListenPacket(context.Background(), s.network, ":"+strconv.Itoa(int(port)))
	if err != nil {
		return nil, err
	}
	c := &udpConn{conn: packets.(*net.UDPConn)}
	c.port = uint16(c.conn.LocalAddr().(*net.UDPAddr).Port)
	if c.raw, err = c.conn.SyscallConn(); err != nil {
		return nil, errors.Join(err, c.conn.Close())
	}
	if !s.noOffload {
		if err := c.raw.Control(c.detect); err != nil {
			return nil, errors.Join(err, c.conn.Close())
		}
	}
	return c, nil
}

// prepare sets the options of a socket that is not bound to a port yet.
func (s *linuxSocket) prepare(fd int) error {
	if s.device != "" {
		if err := bindToDevice(fd, s.device); err != nil {
			return err
		}
	}
	if s.mark != 0 {
		err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(s.mark))
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("mark datagrams: needs CAP_NET_ADMIN: %w", multilink.ErrDenied)
		} else if err != nil {
			return fmt.Errorf("mark datagrams: %w", err)
		}
	}
	// A smaller buffer costs speed, and nothing else.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
	}
	return nil
}

// bindToDevice makes a socket send and receive over one interface alone. Since Linux
// 5.7 a process without CAP_NET_RAW can do so once for each socket.
func bindToDevice(fd int, device string) error {
	if len(device) >= unix.IFNAMSIZ { // the kernel would cut the name off
		return fmt.Errorf("bind to interface %q: %w", device, multilink.ErrUnknownLink)
	}
	err := unix.BindToDevice(fd, device)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("bind to interface %q: needs CAP_NET_RAW: %w", device, multilink.ErrDenied)
	case errors.Is(err, unix.ENODEV):
		return fmt.Errorf("bind to interface %q: %w", device, multilink.ErrUnknownLink)
	}
	return fmt.Errorf("bind to interface %q: %w", device, err)
}
