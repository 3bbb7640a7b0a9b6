package ethernet_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Voice has a class of its own, everything else has the other.
func ExampleNewClassifier() {
	classes := []settings.Class{
		{Name: "voice", Match: []settings.Rule{{DSCP: []int{46}}}, Policy: settings.Redundant},
		{Name: "rest"},
	}
	classifier, err := ethernet.NewClassifier(classes)
	if err != nil {
		fmt.Println(err)
		return
	}
	class, _ := classifier.Classify(voiceV4.frame())
	fmt.Println(classes[class].Name)

	_, err = ethernet.NewClassifier([]settings.Class{{Name: "voice", Match: []settings.Rule{{}, {DSCP: []int{99}}}}})
	fmt.Println(err)
	// Output:
	// voice
	// class "voice": match[1].dscp[0]: must be 0 to 63, got 99: multilink: invalid
}

func with(s packetSpec, change func(*packetSpec)) packetSpec {
	change(&s)
	return s
}

func matches(t *testing.T, r settings.Rule, frame []byte) bool {
	t.Helper()
	c, err := ethernet.NewClassifier([]settings.Class{{Name: "a", Match: []settings.Rule{r}}})
	require.NoError(t, err)
	class, _ := c.Classify(frame)
	require.Equal(t, matchesSlowly(r, frame), class == 0, "the reference is of another opinion")
	return class == 0
}

func TestClassifier_Classify_matchesRules(t *testing.T) {
	arp := append(make([]byte, 12), 0x08, 0x06)
	tagged := with(voiceV4, func(s *packetSpec) { s.tags = []uint32{0x8100_a064} })
	twice := with(voiceV6, func(s *packetSpec) { s.tags = []uint32{0x88a8_4065, 0x8100_e007} })
	port := []settings.PortRange{{First: 1, Last: 10}, {First: 5004, Last: 5005}}
	for name, c := range map[string]struct {
		rule  settings.Rule
		frame []byte
		want  bool
	}{
		"all":                    {settings.Rule{}, nil, true},
		"ether type":             {settings.Rule{EtherType: 0x0806}, arp, true},
		"other ether type":       {settings.Rule{EtherType: 0x0806}, voiceV4.frame(), false},
		"ether type behind tags": {settings.Rule{EtherType: 0x86dd}, twice.frame(), true},
		"vlan":                   {settings.Rule{VLAN: 100}, tagged.frame(), true},
		"no vlan":                {settings.Rule{VLAN: 100}, voiceV4.frame(), false},
		"outer vlan":             {settings.Rule{VLAN: 101}, twice.frame(), true},
		"inner vlan":             {settings.Rule{VLAN: 7}, twice.frame(), false},
		"priority":               {settings.Rule{Priority: []int{0, 5}}, tagged.frame(), true},
		"other priority":         {settings.Rule{Priority: []int{4}}, tagged.frame(), false},
		"priority without a tag": {settings.Rule{Priority: []int{0}}, voiceV4.frame(), false},
		"dscp":                   {settings.Rule{DSCP: []int{10, 46}}, voiceV6.frame(), true},
		"other dscp":             {settings.Rule{DSCP: []int{10}}, voiceV4.frame(), false},
		"dscp of no packet":      {settings.Rule{DSCP: []int{0}}, arp, false},
		"source":                 {settings.Rule{Source: netip.MustParsePrefix("10.1.0.0/16")}, voiceV4.frame(), true},
		"other source":           {settings.Rule{Source: netip.MustParsePrefix("10.2.0.0/16")}, voiceV4.frame(), false},
		"any IPv4":               {settings.Rule{Destination: netip.MustParsePrefix("0.0.0.0/0")}, voiceV6.frame(), false},
		"destination":            {settings.Rule{Destination: netip.MustParsePrefix("2001:db8:5::/49")}, voiceV6.frame(), true},
		"host":                   {settings.Rule{Destination: netip.MustParsePrefix("2001:db8:5::3/128")}, voiceV6.frame(), false},
		"protocol":               {settings.Rule{Protocol: 17}, twice.frame(), true},
		"other protocol":         {settings.Rule{Protocol: 6}, twice.frame(), false},
		"port":                   {settings.Rule{DestinationPorts: port}, voiceV4.frame(), true},
		"source port":            {settings.Rule{SourcePorts: port}, voiceV4.frame(), false},
		"port behind options": {settings.Rule{DestinationPorts: port}, with(voiceV4, func(s *packetSpec) {
			s.ipOptions = 40
		}).frame(), true},
		"port behind extensions": {settings.Rule{DestinationPorts: port, Protocol: 17}, with(voiceV6, func(s *packetSpec) {
			s.extensions = []byte{0, 43, 60}
		}).frame(), true},
		"port behind too much": {settings.Rule{DestinationPorts: port}, with(voiceV6, func(s *packetSpec) {
			s.extensions = []byte{60, 60, 60, 60, 60, 60, 60, 60, 60}
		}).frame(), false},
		"port of a first fragment": {settings.Rule{DestinationPorts: port}, with(voiceV4, func(s *packetSpec) {
			s.fragment = 0x2000
		}).frame(), true},
		"port of a later fragment": {settings.Rule{DestinationPorts: port}, with(voiceV4, func(s *packetSpec) {
			s.fragment = 0x2001
		}).frame(), false},
		"port of a first IPv6 fragment": {settings.Rule{DestinationPorts: port}, with(voiceV6, func(s *packetSpec) {
			s.extensions, s.fragment = []byte{44}, 1
		}).frame(), true},
		"port of a later IPv6 fragment": {settings.Rule{DestinationPorts: port}, with(voiceV6, func(s *packetSpec) {
			s.extensions, s.fragment = []byte{44}, 9
		}).frame(), false},
		"protocol of a later IPv6 fragment": {settings.Rule{Protocol: 17}, with(voiceV6, func(s *packetSpec) {
			s.extensions, s.fragment = []byte{44}, 8
		}).frame(), true},
		"port of what has none": {settings.Rule{DestinationPorts: port}, with(voiceV4, func(s *packetSpec) {
			s.protocol = 1
		}).frame(), false},
		"size":      {settings.Rule{MinSize: 14, MaxSize: 14}, arp, true},
		"too long":  {settings.Rule{MaxSize: 13}, arp, false},
		"too short": {settings.Rule{MinSize: 15}, arp, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, matches(t, c.rule, c.frame))
			for n := range c.frame {
				matches(t, c.rule, c.frame[:n]) // agrees with the reference, and does not panic
			}
		})
	}
}

func TestClassifier_Classify_takesTheFirstMatch(t *testing.T) {
	c, err := ethernet.NewClassifier([]settings.Class{
		{Name: "rest"},
		{Name: "bulk", Match: []settings.Rule{{Protocol: 6}, {MinSize: 1000}}},
		{Name: "any", Match: []settings.Rule{{EtherType: 0x0800}}},
		{Name: "never", Match: []settings.Rule{{Protocol: 17}}},
	})
	require.NoError(t, err)
	class := func(frame []byte) int {
		class, _ := c.Classify(frame)
		return class
	}
	require.Equal(t, 0, class(nil))
	require.Equal(t, 1, class(make([]byte, 1000)))
	require.Equal(t, 2, class(voiceV4.frame()))
	require.Equal(t, 3, class(voiceV6.frame()))
	none, err := ethernet.NewClassifier(nil)
	require.NoError(t, err)
	got, _ := none.Classify(voiceV4.frame())
	require.Equal(t, -1, got)
}

func TestClassifier_Classify_hashesTheConversation(t *testing.T) {
	c, err := ethernet.NewClassifier(nil)
	require.NoError(t, err)
	flow := func(s packetSpec) uint32 {
		_, flow := c.Classify(s.frame())
		return flow
	}
	for _, s := range []packetSpec{voiceV4, voiceV6} {
		require.Equal(t, flow(s), flow(with(s, func(s *packetSpec) { s.payload, s.dscp = 900, 0 })))
		require.NotEqual(t, flow(s), flow(with(s, func(s *packetSpec) { s.source++ })))
		require.NotEqual(t, flow(s), flow(with(s, func(s *packetSpec) { s.protocol = 132 })))
		require.NotEqual(t, flow(s), flow(with(s, func(s *packetSpec) { s.to = s.from })))
	}
	first := with(voiceV4, func(s *packetSpec) { s.fragment = 0x2000 })
	later := with(voiceV4, func(s *packetSpec) { s.fragment, s.source = 0x0100, 999 })
	require.Equal(t, flow(first), flow(later), "the pieces of a packet stay together")

	halves := 0
	for port := range uint16(1000) {
		halves += int(flow(with(voiceV4, func(s *packetSpec) { s.source = port })) % 2)
	}
	require.InDelta(t, 500, halves, 60, "flows spread")
}

func TestNewClassifier_namesABadClass(t *testing.T) {
	for want, class := range map[string]settings.Class{
		`class "": name: must be 1 to 32 letters, digits, '.', '-' or '_', got ""`: {},
		`class "a": policy: must be one of`:                                        {Name: "a", Policy: "best"},
		`class "a": copies: must be 0 or more, got -1`:                             {Name: "a", Copies: -1},
		`class "a": max_delay: must be 0 to 1m0s, got -1ns`:                        {Name: "a", MaxDelay: -time.Nanosecond},
		`class "a": weight: must be 0 to 1000, got 1001`:                           {Name: "a", Weight: 1001},
		`class "a": links[1]: must be the name of a link, got "b c"`:               {Name: "a", Links: []string{"b", "b c"}},
		`class "a": match[0].vlan: must be 1 to 4094, got 4095`: {Name: "a",
			Match: []settings.Rule{{VLAN: 4095}}},
		`class "a": match[0].ether_type: must be 1536 or more, got 1500`: {Name: "a",
			Match: []settings.Rule{{EtherType: 1500}}},
		`class "a": match[0].ether_type: must be the one behind VLAN tags, got 0x8100`: {Name: "a", Match: []settings.Rule{{EtherType: 0x8100}}},
		`class "a": match[0].priority[0]: must be 0 to 7, got 8`:                       {Name: "a", Match: []settings.Rule{{Priority: []int{8}}}},
		`class "a": match[1].dscp[2]: must be 0 to 63, got 64`: {Name: "a",
			Match: []settings.Rule{{}, {DSCP: []int{0, 63, 64}}}},
		`class "a": match[0].protocol: must be 0 to 255, got 256`: {Name: "a", Match: []settings.Rule{{Protocol: 256}}},
		`class "a": match[0].source_ports[0]: must not begin above its end, got 2 to 1`: {Name: "a",
			Match: []settings.Rule{{SourcePorts: []settings.PortRange{{First: 2, Last: 1}}}}},
		`class "a": match[0].max_size: must be min_size or more, got 9`: {Name: "a", Match: []settings.Rule{{MinSize: 10, MaxSize: 9}}},
		`class "a": match[0].destination: must be a prefix of the source's family, got ::/0`: {Name: "a",
			Match: []settings.Rule{{Source: netip.MustParsePrefix("0.0.0.0/0"), Destination: netip.MustParsePrefix("::/0")}}},
	} {
		_, err := ethernet.NewClassifier([]settings.Class{class})
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.ErrorContains(t, err, want)
	}
	_, err := ethernet.NewClassifier([]settings.Class{{Name: "a"}, {Name: "b"}})
	require.ErrorIs(t, err, fault.ErrInvalid, "two classes that take the rest")
	_, err = ethernet.NewClassifier([]settings.Class{{Name: "a"}, {Name: "a", Match: []settings.Rule{{}}}})
	require.ErrorIs(t, err, fault.ErrDuplicate)
}

func TestClassifier_Classify_allocatesNothing(t *testing.T) {
	c, frame := manyRules(t), voiceV6.frame()
	require.Zero(t, testing.AllocsPerRun(100, func() { c.Classify(frame) }))
}

func manyRules(t testing.TB) *ethernet.Classifier {
	var classes []settings.Class
	for i := range 16 {
		classes = append(classes, settings.Class{Name: fmt.Sprint("class", i), Match: []settings.Rule{{
			Source:           netip.MustParsePrefix("10.1.0.0/16"),
			Protocol:         17,
			DestinationPorts: []settings.PortRange{{First: uint16(i), Last: uint16(i)}},
		}}})
	}
	c, err := ethernet.NewClassifier(classes)
	require.NoError(t, err)
	return c
}

func BenchmarkClassify(b *testing.B) {
	many := manyRules(b)
	none, err := ethernet.NewClassifier(nil)
	require.NoError(b, err)
	for name, c := range map[string]*ethernet.Classifier{"no rules": none, "16 rules": many} {
		for _, s := range []packetSpec{voiceV4, voiceV6} {
			frame := s.frame()
			b.Run(fmt.Sprintf("%s/%v", name, s.from), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Classify(frame)
				}
			})
		}
	}
}
