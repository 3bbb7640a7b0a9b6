package ethernet_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/settings"
)

// slowFrame is a frame taken apart field by field, each cut from what is left.
type slowFrame struct {
	tags       []int // TCI
	etherType  int   // -1 where it is cut off
	dscp       int
	protocol   int
	addresses  []netip.Addr // of a packet of IP
	ports      []int
	fragmented bool
}

func number(b []byte) (n int) {
	for _, digit := range b {
		n = n*256 + int(digit)
	}
	return n
}

func takeApart(rest []byte) slowFrame {
	f := slowFrame{etherType: -1}
	cut := func(n int) []byte {
		if len(rest) < n {
			rest = nil
			return nil
		}
		head := rest[:n]
		rest = rest[n:]
		return head
	}
	if cut(12) == nil {
		return f
	}
	kind := cut(2)
	if kind == nil {
		return f
	}
	for len(f.tags) < 2 && slices.Contains([]int{0x8100, 0x88a8, 0x9100}, number(kind)) {
		tag := cut(4)
		if tag == nil {
			return f
		}
		f.tags = append(f.tags, number(tag[:2]))
		kind = tag[2:]
	}
	f.etherType = number(kind)
	switch f.etherType {
	case 0x0800:
		f.takeIPv4(rest)
	case 0x86dd:
		f.takeIPv6(rest)
	}
	return f
}

func (f *slowFrame) takeIPv4(p []byte) {
	if len(p) < 20 || p[0]/16 != 4 {
		return
	}
	header, total := int(p[0]%16)*4, number(p[2:4])
	if header < 20 || header > total || header > len(p) {
		return
	}
	f.dscp, f.protocol = int(p[1])/4, int(p[9])
	f.addresses = []netip.Addr{netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20]))}
	offset := number(p[6:8]) % 8192
	f.fragmented = offset > 0 || number(p[6:8])/8192%2 == 1
	if offset == 0 {
		f.takePorts(p[header:min(total, len(p))])
	}
}

func (f *slowFrame) takeIPv6(p []byte) {
	if len(p) < 40 || p[0]/16 != 6 {
		return
	}
	f.dscp = number(p[:2]) % 4096 / 16 / 4
	f.addresses = []netip.Addr{netip.AddrFrom16([16]byte(p[8:24])), netip.AddrFrom16([16]byte(p[24:40]))}
	f.protocol = int(p[6])
	end := min(40+number(p[4:6]), len(p))
	p, end = p[40:], end-40
	for followed := 0; slices.Contains([]int{0, 43, 44, 51, 60, 135, 139, 140}, f.protocol); followed++ {
		if followed == 8 || len(p) < 8 {
			return
		}
		length := 8 * (1 + int(p[1]))
		switch f.protocol {
		case 51:
			length = 4 * (2 + int(p[1]))
		case 44:
			length = 8
			if number(p[2:4])%2 == 1 {
				f.fragmented = true
			}
			if number(p[2:4])/8 > 0 {
				f.fragmented, f.protocol = true, int(p[0])
				return
			}
		}
		f.protocol = int(p[0])
		if len(p) < length {
			return
		}
		p, end = p[length:], end-length
		if followed == 7 {
			return // as many as are looked at
		}
	}
	f.takePorts(p[:max(min(end, len(p)), 0)])
}

func (f *slowFrame) takePorts(segment []byte) {
	if slices.Contains([]int{6, 17, 132}, f.protocol) && len(segment) >= 4 {
		f.ports = []int{number(segment[:2]), number(segment[2:4])}
	}
}

// matchesSlowly reports what a rule says, word by word.
func matchesSlowly(r settings.Rule, frame []byte) bool {
	f := takeApart(frame)
	tagged, packet := len(f.tags) > 0, f.addresses != nil
	within := func(which int, ranges []settings.PortRange) bool {
		return len(ranges) == 0 || (f.ports != nil && slices.ContainsFunc(ranges, func(r settings.PortRange) bool {
			return int(r.First) <= f.ports[which] && f.ports[which] <= int(r.Last)
		}))
	}
	inside := func(which int, p netip.Prefix) bool {
		if !p.IsValid() {
			return true
		}
		if !packet || p.Addr().Is4() != f.addresses[which].Is4() {
			return false
		}
		masked, err := f.addresses[which].Prefix(p.Bits())
		return err == nil && masked == p.Masked()
	}
	return (r.EtherType == 0 || int(r.EtherType) == f.etherType) &&
		(r.VLAN == 0 || (tagged && f.tags[0]%4096 == int(r.VLAN))) &&
		(len(r.Priority) == 0 || (tagged && slices.Contains(r.Priority, f.tags[0]/8192))) &&
		(len(r.DSCP) == 0 || (packet && slices.Contains(r.DSCP, f.dscp))) &&
		(r.Protocol == 0 || (packet && f.protocol == r.Protocol)) &&
		inside(0, r.Source) && inside(1, r.Destination) &&
		within(0, r.SourcePorts) && within(1, r.DestinationPorts) &&
		len(frame) >= r.MinSize && (r.MaxSize == 0 || len(frame) <= r.MaxSize)
}

// FuzzClassify holds the classifier against the slow one, for rules and frames
// that no test lists.
func FuzzClassify(f *testing.F) {
	for _, s := range []packetSpec{
		voiceV4, voiceV6,
		with(voiceV4, func(s *packetSpec) {
			s.tags = []uint32{0x88a80064, 0x81002005}
			s.ipOptions = 8
			s.fragment = 0x2000
		}),
		with(voiceV6, func(s *packetSpec) {
			s.tags = []uint32{0x81000064}
			s.extensions = []byte{0, 44, 60}
			s.fragment = 1
		}),
		with(voiceV6, func(s *packetSpec) { s.extensions = []byte{51, 135, 139, 140, 60, 60, 60} }),
	} {
		f.Add(s.frame(), uint16(0), uint16(100), uint8(5), uint8(46), uint8(17), uint16(5000), uint16(5010), uint8(16), uint16(0))
		f.Add(s.frame(), uint16(0x86dd), uint16(0), uint8(8), uint8(64), uint8(6), uint16(0), uint16(0), uint8(64), uint16(90))
	}
	f.Fuzz(func(t *testing.T, frame []byte, etherType, vlan uint16, priority, dscp, protocol uint8, first,
		last uint16, bits uint8, least uint16) {
		rule := settings.Rule{EtherType: etherType, VLAN: vlan, Protocol: int(protocol), MinSize: int(least)}
		if priority < 8 {
			rule.Priority = []int{int(priority)}
		}
		if dscp < 64 {
			rule.DSCP = []int{int(dscp)}
		}
		if first|last != 0 {
			rule.DestinationPorts = []settings.PortRange{{First: first, Last: last}}
		}
		parts := takeApart(frame)
		if bits <= 128 && len(parts.addresses) == 2 {
			rule.Source, _ = parts.addresses[0].Prefix(int(bits)) // one that matches
			rule.Destination, _ = parts.addresses[0].Prefix(int(bits))
		}
		classes := []settings.Class{{Name: "a", Match: []settings.Rule{rule}}}
		c, err := ethernet.NewClassifier(classes)
		if err != nil {
			t.Skip("a rule that is not allowed")
		}
		class, _ := c.Classify(frame)
		if want := matchesSlowly(rule, frame); want != (class == 0) {
			t.Fatalf("rule %+v: got class %d, the reference says %v for %x", rule, class, want, frame)
		}
	})
}
