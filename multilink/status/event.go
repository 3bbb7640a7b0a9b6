package status

import (
	"time"
)

// Event is something that happened.
type Event struct {
	Time time.Time
	// Type is "link", "failover", "return", "peer", "policy", "address",
	// "conflict" or "missed". An "address" is an address of another peer, or of this
	// host, from which the peer sends or which it claims. A "conflict" is that two instances use
	// one key.
	Type string
	Peer string // name; empty where it is about no peer
	Link string // name of the link that it is about, or that took over
	From string // name of the link that was left, in a failover or return
	// State of the link after it, where the type is "link".
	State  State
	Reason string
	// Missed is how many events were lost before this one.
	Missed int
}
