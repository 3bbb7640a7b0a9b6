// Package wg creates tunnels of WireGuard, in process: it implements
// [multilink.Underlay] with one wireguard-go device for each link.
//
// # On the wire
//
// A datagram is an ordinary transport message of WireGuard. Inside is an IPv4
// packet that never meets a kernel: its version, length and addresses are what
// WireGuard's cryptokey routing needs, and the nine bytes that no end reads
// carry the header of the bond, so that a packet of the bond costs eleven bytes
// more than itself, and 32 of WireGuard's. The addresses are computed from the
// public keys of both ends, so that no one has to agree on any, and one server's
// device serves all clients.
//
// # On the link
//
// On Linux a socket is bound to the link's interface (SO_BINDTODEVICE), moves
// many datagrams with one system call (sendmmsg, recvmmsg), and leaves their
// segmentation to the kernel where that can do it (UDP_SEGMENT, UDP_GRO). It
// outlives its interface: addresses that change, a cable that is pulled, and a
// device that is removed and created again. Elsewhere sockets are plain and bound to
// no interface.
//
// # Sessions
//
// WireGuard calls a silent peer every five seconds and only while there is
// something to send. A link that was dead for longer than its keys live (180 s)
// would then need that long to be of use again, so the end that was given the
// other's address calls every second until it is answered.
//
// WireGuard drops a call whose timestamp is not after that of the peer's last one, so
// that a call that was captured is of no use. A client whose clock was set back would
// then stay away until the server restarts. Where such a call is authentic, and no
// session of the peer is in use, the server forgets the timestamp, as a restart does,
// and answers the next call.
package wg
