//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
)

// Available returns why this process cannot have a plane: a missing right
// ([multilink.ErrDenied]), or the list of devices that the kernel cannot make
// ([multilink.ErrUnsupported]). It creates the devices in a network namespace of its
// own, which ends with the call.
func Available() error {
	answer := make(chan error)
	go func() {
		// Never unlocked: the thread, and the namespace with it, ends here.
		runtime.LockOSThread()
		answer <- try()
	}()
	return <-answer
}

func try() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if errors.Is(err, unix.EPERM) {
			return fmt.Errorf("try the kernel's devices: it takes CAP_SYS_ADMIN and CAP_NET_ADMIN: %w", multilink.ErrDenied)
		}
		return fmt.Errorf("try the kernel's devices in a network namespace: %w", err)
	}
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("try the kernel's devices: open netlink: %w", explain(err))
	}
	defer handle.Close()
	named := func(name string) netlink.LinkAttrs {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = name
		return attributes
	}
	var missing []string
	for _, device := range []netlink.Link{
		&netlink.Wireguard{LinkAttrs: named("try-wireguard")},
		&netlink.Vxlan{LinkAttrs: named("try-vxlan"), VxlanId: 1, Port: segmentPort},
		netlink.NewLinkBond(named("try-bond")),
		&netlink.Bridge{LinkAttrs: named("try-bridge")},
	} {
		switch err := handle.LinkAdd(device); {
		case errors.Is(err, unix.EOPNOTSUPP):
			missing = append(missing, device.Type())
		case err != nil:
			return fmt.Errorf("try the kernel's devices: create a %s: %w", device.Type(), explain(err))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the kernel has no devices of type %s: %w", strings.Join(missing, ", "), multilink.ErrUnsupported)
	}
	return nil
}
