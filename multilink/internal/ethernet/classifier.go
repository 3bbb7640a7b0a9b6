package ethernet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Classifier finds the class of a frame by rules that are compiled once. It
// reads headers of Ethernet, VLANs (one tag or two), IPv4, IPv6 with its
// extension headers, TCP, UDP and SCTP. What a frame is too short for, or a
// later fragment does not have, matches no rule that needs it.
//
// It never changes, and is safe for use by several goroutines.
type Classifier struct {
	rules     []compiledRule // in order of classes
	otherwise int
}

// compiledRule is a Rule as comparisons of numbers. Masks of zero match all.
type compiledRule struct {
	class     int
	etherType uint16
	vlan      uint16
	priority  uint8  // bit for each value
	dscp      uint64 // bit for each value
	prefixes  [2]compiledPrefix
	protocol  uint8
	ports     [2][]settings.PortRange
	minSize   int
	maxSize   int
}

// compiledPrefix matches where an address, masked, equals it.
type compiledPrefix struct {
	set  bool
	six  bool
	mask ipAddress
	want ipAddress
}

// NewClassifier compiles the rules of classes. The first class that has a rule
// that matches a frame has it. ErrInvalid names the field that is not allowed.
func NewClassifier(classes []settings.Class) (*Classifier, error) {
	c := &Classifier{otherwise: -1}
	names := map[string]bool{}
	for i, class := range classes {
		if err := class.Check(); err != nil {
			return nil, err
		}
		if names[class.Name] {
			return nil, fmt.Errorf("class %q: name: %w", class.Name, fault.ErrDuplicate)
		}
		names[class.Name] = true
		if len(class.Match) == 0 {
			if c.otherwise >= 0 {
				return nil, fmt.Errorf("class %q: match: must not be empty, because class %q has no rules: %w",
					class.Name, classes[c.otherwise].Name, fault.ErrInvalid)
			}
			c.otherwise = i
		}
		for _, rule := range class.Match {
			c.rules = append(c.rules, compileRule(rule, i))
		}
	}
	return c, nil
}

// Classify returns the index of the frame's class, or -1 without one,
// and a hash of its flow: frames of one conversation and direction have the
// same. That is a hash of the addresses, protocol and ports of a packet of IP;
// of the addresses and protocol where it comes in fragments, so that those stay
// together; and of Ethernet's addresses for other frames. It allocates nothing.
func (c *Classifier) Classify(frame []byte) (class int, flow uint32) {
	var h Headers
	h.parse(frame)
	flow = h.flow(frame)
	for i := range c.rules {
		if c.rules[i].matches(&h, len(frame)) {
			return c.rules[i].class, flow
		}
	}
	return c.otherwise, flow
}

// flow hashes the frame's conversation.
func (h *Headers) flow(frame []byte) uint32 {
	hash := uint64(0x9e3779b97f4a7c15)
	mix := func(v uint64) {
		high, low := bits.Mul64(hash^v, 0xd6e8feb86659fd93)
		hash = high ^ low ^ v
	}
	switch {
	case h.ip:
		for _, a := range h.addr {
			if h.six {
				mix(a.high)
			}
			mix(a.low)
		}
		rest := uint64(h.protocol) << 32
		if h.ports && !h.fragment {
			rest |= uint64(h.source)<<16 | uint64(h.destiny)
		}
		mix(rest)
	case len(frame) >= 14:
		mix(binary.BigEndian.Uint64(frame))
		mix(uint64(binary.BigEndian.Uint32(frame[8:]))<<16 | uint64(h.etherType))
	default:
		mix(uint64(len(frame)))
	}
	mix(uint64(h.vlan))
	return uint32(hash>>32) ^ uint32(hash)
}

func (r *compiledRule) matches(h *Headers, size int) bool {
	switch {
	case size < r.minSize || (r.maxSize != 0 && size > r.maxSize):
	case r.etherType != 0 && h.etherType != r.etherType:
	case r.vlan != 0 && (!h.tagged || h.vlan != r.vlan):
	case r.priority != 0 && (!h.tagged || r.priority&(1<<h.priority) == 0):
	case r.dscp != 0 && (!h.ip || r.dscp&(1<<h.dscp) == 0):
	case r.protocol != 0 && (!h.ip || h.protocol != r.protocol):
	case r.prefixes[0].set && !r.prefixes[0].contains(h, 0):
	case r.prefixes[1].set && !r.prefixes[1].contains(h, 1):
	case r.ports[0] != nil && !(h.ports && inRanges(r.ports[0], h.source)):
	case r.ports[1] != nil && !(h.ports && inRanges(r.ports[1], h.destiny)):
	default:
		return true
	}
	return false
}

func (p *compiledPrefix) contains(h *Headers, which int) bool {
	a := h.addr[which]
	return h.ip && h.six == p.six && a.high&p.mask.high == p.want.high && a.low&p.mask.low == p.want.low
}

func inRanges(ranges []settings.PortRange, port uint16) bool {
	for _, r := range ranges {
		if r.First <= port && port <= r.Last {
			return true
		}
	}
	return false
}

// compileRule compiles a rule that has passed Check.
func compileRule(r settings.Rule, class int) compiledRule {
	c := compiledRule{
		class:     class,
		etherType: r.EtherType,
		vlan:      r.VLAN,
		prefixes:  [2]compiledPrefix{compilePrefix(r.Source), compilePrefix(r.Destination)},
		protocol:  uint8(r.Protocol),
		minSize:   r.MinSize,
		maxSize:   r.MaxSize,
	}
	for _, v := range r.Priority {
		c.priority |= 1 << v
	}
	for _, v := range r.DSCP {
		c.dscp |= 1 << v
	}
	c.ports[0] = append(c.ports[0], r.SourcePorts...)
	c.ports[1] = append(c.ports[1], r.DestinationPorts...)
	return c
}

func compilePrefix(p netip.Prefix) compiledPrefix {
	if !p.IsValid() {
		return compiledPrefix{}
	}
	c := compiledPrefix{set: true, six: !p.Addr().Is4()}
	if !c.six {
		a := p.Addr().As4()
		c.mask.low = ones(p.Bits()+32) & 0xffffffff
		c.want.low = uint64(binary.BigEndian.Uint32(a[:])) & c.mask.low
		return c
	}
	a := p.Addr().As16()
	c.mask = ipAddress{ones(p.Bits()), ones(p.Bits() - 64)}
	c.want.high = binary.BigEndian.Uint64(a[:8]) & c.mask.high
	c.want.low = binary.BigEndian.Uint64(a[8:]) & c.mask.low
	return c
}

// ones has that many bits set, from the highest on.
func ones(n int) uint64 {
	n = min(max(n, 0), 64)
	return ^(^uint64(0) >> n)
}
