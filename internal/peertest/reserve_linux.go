package peertest

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
)

// reserve binds a socket that does not listen. The system lets another socket listen on the
// same port if both have SO_REUSEADDR, and chooses the port for none.
func reserve() (address netip.AddrPort, release func(), err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return netip.AddrPort{}, nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) }
	err = errors.Join(
		os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)),
		os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})),
	)
	if err != nil {
		release()
		return netip.AddrPort{}, nil, err
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		release()
		return netip.AddrPort{}, nil, os.NewSyscallError("getsockname", err)
	}
	at := bound.(*syscall.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(at.Addr), uint16(at.Port)), release, nil
}
