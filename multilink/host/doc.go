// Package host is a [multilink.Host] on Linux: a TAP device for the frames of
// the bonded network, the bridge, addresses and routes around it, and the
// interfaces whose links are bonded, watched by netlink.
//
// # What it changes, and how that is undone
//
// A TAP device vanishes with the process that holds it. Bridges, addresses on
// interfaces of others, routes and memberships do not, so each is written to
// a journal ([Options.Journal]) before it is created. The next [Open] with the same
// name undoes what a process that was killed left behind. Bridges carry a mark
// (their ifalias) besides, and are found without a journal too.
//
// # Rights
//
// Making devices needs CAP_NET_ADMIN and the device node /dev/net/tun; watching
// interfaces needs no right. [Options.Interfaces] and [Options.Allow] limit the
// interfaces and operations of a host. An operation that they exclude fails with
// [multilink.ErrDenied] and a message that names the setting.
//
// # Offload
//
// The kernel hands over TCP and UDP in super-frames of up to 64 KiB with a
// header of virtio (virtio 1.2, section 5.1.6). A port cuts them into frames
// that fit its MTU, and joins the segments of a connection that it is given
// into such super-frames again, so that a system call moves dozens of frames.
package host
