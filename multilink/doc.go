// Package multilink bonds several radio links into one layer-2 network, so
// that the loss of a link passes unnoticed.
//
// # What moves where
//
// Frames enter at a [FramePort], usually a TAP device. A [Classifier] gives
// each one a class, a [Switch] finds the peer behind which its destination
// lives, and that peer's [Bond] decides over which links it travels. A
// [Tunnel] for each link carries it, encrypted, to the peer, whose Bond removes
// duplicates and hands the frame to its own port.
//
//	FramePort -> Classifier -> Switch -> Bond -> Scheduler -> Tunnel -> radio
//	FramePort <------------- Switch <- Bond <-------------- Tunnel <- radio
//
// # What decides
//
// A Bond is a state machine without goroutines, clocks or sockets: time is an
// argument, packets and frames are bytes in and out. It measures every link by
// probes in the manner of BFD (RFC 5880), takes a link out of use when the peer
// falls silent on it but not on the others, and keeps what the peer has not
// acknowledged in order to send it again over the link that takes over.
//
// An [Engine] drives bonds with real time over the contracts of this package:
// [Host] for ports and links, [Underlay] and [Tunnel] for what crosses a link.
// Drivers are subpackages: multilink/host for Linux, multilink/wg for WireGuard.
// [MemoryHost] and [MemoryNetwork] stand in for both where there is no right to
// touch a network: in unit tests and demonstrations.
package multilink
