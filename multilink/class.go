package multilink

import (
	"net/netip"
	"time"
)

// Class is a kind of traffic, and how it travels. A frame belongs to the first
// class one of whose rules matches it; to the class without rules otherwise,
// or to one with the bond's defaults where there is none.
type Class struct {
	// Name of the class. Same form as a link's.
	Name string
	// Match lists rules; any of them may match. A class without rules takes
	// what no other one does; there is at most one.
	Match []Rule
	// Policy of its frames. Empty is the bond's.
	Policy Policy
	// Links that it may use, by name. Empty is all.
	Links []string
	// Copies at most, for Redundant. Zero is the bond's.
	Copies int
	// MaxDelay is how long a frame may wait in a queue before it is dropped.
	// Zero is 1 s.
	MaxDelay time.Duration
	// Weight of its queue beside other classes, for deficit round robin. Zero
	// is 1. Up to 1,000.
	Weight int
	// Control goes before all other classes. It is meant for little traffic:
	// what exceeds a tenth of the queue's room is dropped.
	Control bool
	// Metered allows metered links while others are usable.
	Metered bool
	// NoReplay forgets its frames once sent: late ones are of no use to it.
	NoReplay bool
}

// Rule matches frames by what their headers say. Every field that is set has to
// match; the zero value matches all.
type Rule struct {
	// EtherType, behind VLAN tags. Zero is any.
	EtherType uint16
	// VLAN identifier, 1 to 4094, of the outer tag. Zero is any.
	VLAN uint16
	// Priority code points (PCP) of the outer tag, 0 to 7. Empty is any.
	Priority []int
	// DSCP values, 0 to 63. Empty is any.
	DSCP []int
	// Source and Destination prefixes. The zero value is any.
	Source, Destination netip.Prefix
	// Protocol of IP, such as 6 for TCP. Zero is any.
	Protocol int
	// SourcePorts and DestinationPorts of TCP, UDP and SCTP. Empty is any.
	SourcePorts, DestinationPorts []PortRange
	// MinSize and MaxSize of the frame in bytes. Zero is any.
	MinSize, MaxSize int
}

// PortRange is a range of ports, ends included.
type PortRange struct{ First, Last uint16 }
