// Package vm tries multi-link in a virtual machine with the kernel of the
// distribution, over what only that has: a simulated 802.11 radio as a station
// of an access point and as a mesh point, a link with the delay, jitter, loss and
// reordering of a mobile network, and the kernel's own bonding and WireGuard.
package vm
