package desired

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// maxClasses and maxRules bound the traffic classes.
const (
	maxClasses = 64
	maxRules   = 64
)

// Class is a class of traffic, as it is configured by REST and stored.
type Class struct {
	Name     string          `json:"name" keep:"key"`
	Match    []Rule          `json:"match,omitempty"`
	Policy   settings.Policy `json:"policy,omitempty"`
	Links    []string        `json:"links,omitempty"`
	Copies   int             `json:"copies,omitempty"`
	MaxDelay float64         `json:"max_delay_ms,omitempty"`
	Weight   int             `json:"weight,omitempty"`
	Control  bool            `json:"control,omitempty"`
	Metered  bool            `json:"metered,omitempty"`
	Replay   *bool           `json:"replay,omitempty"`
}

// Rule matches frames.
type Rule struct {
	EtherType        number        `json:"ethertype,omitempty"`
	VLAN             int           `json:"vlan,omitempty"`
	Priority         []int         `json:"pcp,omitempty"`
	DSCP             []int         `json:"dscp,omitempty"`
	Source           *netip.Prefix `json:"source,omitempty"`
	Destination      *netip.Prefix `json:"destination,omitempty"`
	Protocol         number        `json:"protocol,omitempty"`
	SourcePorts      []ports       `json:"source_ports,omitempty"`
	DestinationPorts []ports       `json:"destination_ports,omitempty"`
	MinSize          int           `json:"min_size,omitempty"`
	MaxSize          int           `json:"max_size,omitempty"`
}

// number is a number in decimal, in hexadecimal as "0x88cc", or by its name.
type number int

// numbersByName are the names of common EtherTypes and protocols. No name is
// of both.
var numbersByName = map[string]number{
	"ipv4": 0x0800, "arp": 0x0806, "ipv6": 0x86dd, "profinet": 0x8892, "ptp": 0x88f7, "lldp": 0x88cc,
	"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "icmpv6": 58, "sctp": 132,
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	if known, ok := numbersByName[strings.ToLower(text)]; ok {
		*n = known
		return nil
	}
	value, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return fmt.Errorf("must be a number such as 6 or \"0x88cc\", or a name such as \"tcp\", got %.40s", data)
	}
	*n = number(value)
	return nil
}

// ports is a port or a range of ports.
type ports struct{ settings.PortRange }

// UnmarshalJSON implements json.Unmarshaler.
func (p *ports) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		text = string(data)
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, errFrom := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
	to, errTo := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
	if errFrom != nil || errTo != nil || from > to {
		return fmt.Errorf("must be a port such as 80, or a range such as \"1000-2000\", got %.40s", data)
	}
	p.First, p.Last = uint16(from), uint16(to)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (p ports) MarshalJSON() ([]byte, error) {
	if p.First == p.Last {
		return json.Marshal(p.First)
	}
	return json.Marshal(fmt.Sprintf("%d-%d", p.First, p.Last))
}

// classConfigs checks the classes and returns them in the form of the plane.
func classConfigs(forms []Class, links []Link) ([]settings.Class, error) {
	if len(forms) > maxClasses {
		return nil, fault.Wrong("", "must be %d classes at most, got %d", maxClasses, len(forms))
	}
	classes := make([]settings.Class, 0, len(forms))
	rest := -1
	for i, form := range forms {
		at := fmt.Sprintf("[%d]", i)
		class, err := form.config(at)
		if err != nil {
			return nil, err
		}
		for _, before := range classes {
			if before.Name == class.Name {
				return nil, fault.Clash(at+".name", "%q is the name of another class", class.Name)
			}
		}
		for j, link := range class.Links {
			if !slices.ContainsFunc(links, func(l Link) bool { return l.Name == link }) {
				return nil, fault.Wrong(fmt.Sprintf("%s.links[%d]", at, j), "unknown link %q", link)
			}
		}
		if len(class.Match) == 0 {
			if rest >= 0 {
				return nil, fault.Wrong(at+".match", "must not be empty, because class %q has no rules", forms[rest].Name)
			}
			rest = i
		}
		classes = append(classes, class)
	}
	return classes, nil
}

func (f *Class) config(at string) (settings.Class, error) {
	c := settings.Class{
		Name: f.Name, Policy: f.Policy, Links: slices.Clone(f.Links), Copies: f.Copies, Weight: f.Weight,
		Control: f.Control, Metered: f.Metered, NoReplay: f.Replay != nil && !*f.Replay,
	}
	var err error
	if c.MaxDelay, err = milliseconds(at+".max_delay_ms", f.MaxDelay); err != nil {
		return c, err
	}
	switch {
	case !settings.ValidName(f.Name):
		return c, fault.Wrong(at+".name", "must be 1 to 32 letters, digits, '.', '-' or '_', got %q", f.Name)
	case f.Policy != "" && !slices.Contains(settings.Policies(), f.Policy):
		return c, fault.Wrong(at+".policy", "must be one of %v, got %q", settings.Policies(), f.Policy)
	case f.Copies < 0:
		return c, fault.Wrong(at+".copies", "must be 0 or more, got %d", f.Copies)
	case f.Weight < 0 || f.Weight > 1000:
		return c, fault.Wrong(at+".weight", "must be 0 to 1000, got %d", f.Weight)
	case len(f.Match) > maxRules:
		return c, fault.Wrong(at+".match", "must be %d rules at most, got %d", maxRules, len(f.Match))
	}
	for i := range f.Match {
		rule, err := f.Match[i].config(fmt.Sprintf("%s.match[%d]", at, i))
		if err != nil {
			return c, err
		}
		c.Match = append(c.Match, rule)
	}
	return c, nil
}

func (f *Rule) config(at string) (settings.Rule, error) {
	r := settings.Rule{
		EtherType: uint16(f.EtherType), VLAN: uint16(f.VLAN), Priority: slices.Clone(f.Priority), DSCP: slices.Clone(f.DSCP),
		Protocol: int(f.Protocol), MinSize: f.MinSize, MaxSize: f.MaxSize,
	}
	for field, prefix := range map[string]*netip.Prefix{"source": f.Source, "destination": f.Destination} {
		if prefix == nil {
			continue
		}
		if !prefix.IsValid() {
			return r, fault.Wrong(at+"."+field, "must be a prefix such as 10.0.0.0/8")
		}
		if field == "source" {
			r.Source = prefix.Masked()
		} else {
			r.Destination = prefix.Masked()
		}
	}
	for _, p := range f.SourcePorts {
		r.SourcePorts = append(r.SourcePorts, p.PortRange)
	}
	for _, p := range f.DestinationPorts {
		r.DestinationPorts = append(r.DestinationPorts, p.PortRange)
	}
	outside := func(values []int, most int) bool {
		return slices.ContainsFunc(values, func(v int) bool { return v < 0 || v > most })
	}
	switch {
	case f.VLAN < 0 || f.VLAN > 4094:
		return r, fault.Wrong(at+".vlan", "must be 1 to 4094, got %d", f.VLAN)
	case outside(f.Priority, 7):
		return r, fault.Wrong(at+".pcp", "must be 0 to 7, got %v", f.Priority)
	case outside(f.DSCP, 63):
		return r, fault.Wrong(at+".dscp", "must be 0 to 63, got %v", f.DSCP)
	case f.Protocol > 255:
		return r, fault.Wrong(at+".protocol", "must be 0 to 255, got %d", f.Protocol)
	case f.MinSize < 0 || f.MaxSize < 0 || (f.MaxSize != 0 && f.MaxSize < f.MinSize):
		return r, fault.Wrong(at+".max_size", "must be 0 or more, and not below min_size")
	}
	return r, nil
}
