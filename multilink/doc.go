// Package multilink bonds several radio links into one layer-2 network, so that
// applications do not notice the loss of a link.
//
// # What moves where
//
// Frames enter at a [FramePort], usually a TAP device. A [Bond] gives each one a
// class, finds the peer behind which its destination is, and chooses the links that
// it uses. A [Tunnel] for each link and peer carries it, encrypted, to the Bond of
// the peer, which drops duplicates and passes the frame to its own port.
//
//	FramePort -> class -> switch -> links of the peer -> queue -> Tunnel -> radio
//	FramePort <---------- switch <- duplicates, order <---------- Tunnel <- radio
//
// A Bond measures every link by probes in the manner of BFD (RFC 5880). It takes a
// link out of use when the peer is silent on it but not on the others, and keeps what
// the peer has not acknowledged, in order to send it again over the link that takes
// over.
//
// # What a program does
//
// [New] makes a Bond over a [Host]. [Bond.Apply] makes a [State] hold: links, peers,
// classes and keys, in the types of package settings. [Bond.Status] and [Bond.Events]
// report what happens, in the types of package status.
//
// The contracts are [Host] for ports and links, and [Underlay] and [Tunnel] for what
// crosses a link. Drivers are subpackages: multilink/host for Linux, multilink/wg for
// WireGuard. Package multilink/memory implements both without a right to touch a
// network: for unit tests and demonstrations. A [Plane] is what an instance of
// multilink/node runs: a Bond, or the kernel's own bonding (multilink/kernel).
package multilink
