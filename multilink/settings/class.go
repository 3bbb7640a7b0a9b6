package settings

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/fault"
)

// Class is a kind of traffic, and how it is carried. A frame belongs to the first
// class one of whose rules matches it; to the class without rules otherwise,
// or to one with the bond's defaults where there is none.
type Class struct {
	// Name of the class. Same form as a link's.
	Name string
	// Match lists rules; any of them may match. A class without rules takes
	// the frames that match no other one; there is at most one.
	Match []Rule
	// Policy of its frames. Empty is the bond's.
	Policy Policy
	// Links that it may use, by name. Empty is all. While none of them is there its
	// frames wait, and are dropped as those of a bond without a link.
	Links []string
	// Copies at most, for Redundant. Zero is the bond's.
	Copies int
	// MaxDelay is how long a frame may wait in a queue before it is dropped.
	// Zero is 1 s.
	MaxDelay time.Duration
	// Weight of its queue beside other classes, for deficit round robin. Zero
	// is 1. Up to 1,000.
	Weight int
	// Control precedes all other classes. It is meant for little traffic:
	// what exceeds a tenth of the queue's room is dropped.
	Control bool
	// Metered allows metered links while others are usable.
	Metered bool
	// NoReplay drops its frames once sent: late ones are of no use to it.
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

const (
	maxWeight   = 1000
	maxClassAge = time.Minute // the longest MaxDelay
)

// Check reports the first field of c that is not allowed. It wraps ErrInvalid.
func (c Class) Check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("class %q: %s: %s: %w", c.Name, field, fmt.Sprintf(format, args...), fault.ErrInvalid)
	}
	switch {
	case !ValidName(c.Name):
		return bad("name", "must be 1 to %d letters, digits, '.', '-' or '_', got %q", maxLinkName, c.Name)
	case c.Policy != "" && !c.Policy.Valid():
		return bad("policy", "must be one of %v, got %q", Policies(), c.Policy)
	case c.Copies < 0:
		return bad("copies", "must be 0 or more, got %d", c.Copies)
	case c.MaxDelay < 0 || c.MaxDelay > maxClassAge:
		return bad("max_delay", "must be 0 to %v, got %v", maxClassAge, c.MaxDelay)
	case c.Weight < 0 || c.Weight > maxWeight:
		return bad("weight", "must be 0 to %d, got %d", maxWeight, c.Weight)
	}
	for i, link := range c.Links {
		if !ValidName(link) {
			return bad(fmt.Sprintf("links[%d]", i), "must be the name of a link, got %q", link)
		}
	}
	for i, rule := range c.Match {
		if field, want := rule.problem(); field != "" {
			return bad(fmt.Sprintf("match[%d].%s", i, field), "%s", want)
		}
	}
	return nil
}

// problem returns the first field that is not allowed, and what is allowed; or empty.
func (r Rule) problem() (field, want string) {
	switch {
	case r.VLAN > 4094:
		return "vlan", fmt.Sprintf("must be 1 to 4094, got %d", r.VLAN)
	case r.EtherType != 0 && r.EtherType < 1536:
		return "ether_type", fmt.Sprintf("must be 1536 or more, got %d", r.EtherType)
	case vlanTag(r.EtherType):
		return "ether_type", fmt.Sprintf("must be the one behind VLAN tags, got %#x", r.EtherType)
	case r.Protocol < 0 || r.Protocol > 255:
		return "protocol", fmt.Sprintf("must be 0 to 255, got %d", r.Protocol)
	case r.MinSize < 0:
		return "min_size", fmt.Sprintf("must be 0 or more, got %d", r.MinSize)
	case r.MaxSize < 0 || (r.MaxSize != 0 && r.MaxSize < r.MinSize):
		return "max_size", fmt.Sprintf("must be min_size or more, got %d", r.MaxSize)
	case r.Source.IsValid() && r.Destination.IsValid() && r.Source.Addr().Is4() != r.Destination.Addr().Is4():
		return "destination", fmt.Sprintf("must be a prefix of the source's family, got %v", r.Destination)
	}
	for i, v := range r.Priority {
		if v < 0 || v > 7 {
			return fmt.Sprintf("priority[%d]", i), fmt.Sprintf("must be 0 to 7, got %d", v)
		}
	}
	for i, v := range r.DSCP {
		if v < 0 || v > 63 {
			return fmt.Sprintf("dscp[%d]", i), fmt.Sprintf("must be 0 to 63, got %d", v)
		}
	}
	if field, want := portProblem("source_ports", r.SourcePorts); field != "" {
		return field, want
	}
	return portProblem("destination_ports", r.DestinationPorts)
}

// vlanTag reports whether an EtherType announces a VLAN tag: 802.1Q's C-tag and
// S-tag, and the outer tag of equipment that is older than the S-tag.
func vlanTag(etherType uint16) bool {
	return etherType == 0x8100 || etherType == 0x88a8 || etherType == 0x9100
}

func portProblem(name string, ranges []PortRange) (field, want string) {
	for i, p := range ranges {
		if p.First > p.Last {
			return fmt.Sprintf("%s[%d]", name, i), fmt.Sprintf("must not begin above its end, got %d to %d", p.First, p.Last)
		}
	}
	return "", ""
}
