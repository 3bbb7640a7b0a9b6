// Package kernel is a [multilink.Plane] of what Linux itself has: a WireGuard
// device for each link, a VXLAN device over that for each peer, a bond in the mode
// active-backup over the VXLAN devices of a peer, and a bridge that joins the
// bonds of all peers.
//
//	bridge - bond of a peer - vxlan - wireguard - WiFi
//	                        \ vxlan - wireguard - mesh
//	                        \ vxlan - wireguard - 5G
//
// No frame passes through the process. What the process does is to decide which link a
// bond uses: the kernel's own link monitor sees that a carrier is gone, but not
// that a radio is out of range. So the plane sends probes in the manner of BFD
// (RFC 5880) through every tunnel, and sets the active slave of a bond by what it
// hears. A bond takes frames from every link at any time, so the two ends need not
// switch together.
//
// In return a bond of the kernel keeps nothing to send again, sends no copies,
// divides no frame and has no classes of traffic. A state that sets one of these gets
// [multilink.ErrUnsupported] with the name of the option; [multilink.Bond]
// has it. A port carries 1,350 bytes over links of 1,500, since what WireGuard
// (80) and VXLAN over IPv6 (70) add must fit. Further probes find what each link
// really carries (RFC 8899), and where that is less the MTU of the port follows within
// some seconds, for as long as the link is not down. It stays at 1,280 bytes or more, which IPv6
// takes, where the port has an address of IPv6, the bridge was there before, or the plane has
// several peers: frames that are longer than a link carries are lost there, and the link's
// reason says so.
//
// A WireGuard device has a mark, and a routing table of its own that mirrors
// the routes over the link's interface, so that no packet of a link ever leaves by
// another one. Everything that the plane creates has a tag (an interface group, a
// routing protocol, a mark), by which it is removed at the end, or at the next
// start if the process was killed.
package kernel
