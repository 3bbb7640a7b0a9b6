package host

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

const tunDevice = "/dev/net/tun"

// openTAP creates a TAP device in the calling thread's namespace. The kernel removes
// it when the file is closed. offload reports whether super-frames are exchanged.
func openTAP(name string, wantOffload bool) (file *os.File, offload bool, err error) {
	fd, err := unix.Open(tunDevice, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) {
			return nil, false, fmt.Errorf("create TAP device %q: open %s: %w: load the kernel module tun, or give "+
				"the container the device (--device %s): %w",
				name, tunDevice, err, tunDevice, multilink.ErrDenied)
		}
		return nil, false, denied(fmt.Errorf("create TAP device %q: open %s: %w", name, tunDevice, err), capability)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		unix.Close(fd)
		return nil, false, fmt.Errorf("create TAP device %q: %w: %w", name, err, multilink.ErrInvalid)
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_TUN_EXCL)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EINVAL) {
			return nil, false, fmt.Errorf("create TAP device %q: an interface of that name exists: %w: %w", name, err, multilink.ErrDuplicate)
		}
		return nil, false, denied(fmt.Errorf("create TAP device %q: %w", name, err), capability)
	}
	offload = wantOffload && setOffload(fd)
	if !offload {
		// The default of a new device, set again in case a later kernel differs.
		_ = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, 0)
	}
	return os.NewFile(uintptr(fd), tunDevice), offload, nil
}

// setOffload requests super-frames: of TCP and UDP (Linux 6.2), else of TCP.
func setOffload(fd int) bool {
	const tcp = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_TSO_ECN
	for _, features := range []int{tcp | unix.TUN_F_USO4 | unix.TUN_F_USO6, tcp} {
		if unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, features) == nil {
			return true
		}
	}
	return false
}
