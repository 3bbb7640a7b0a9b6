package desired

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Link is a link as it is configured by REST and stored.
type Link struct {
	Name      string        `json:"name" keep:"key"`
	Interface string        `json:"interface,omitempty"`
	Kind      settings.Kind `json:"kind,omitempty"`
	Priority  *int          `json:"priority,omitempty"`
	Endpoint  string        `json:"endpoint,omitempty"`
	Listen    *int          `json:"listen,omitempty"`
	Metered   bool          `json:"metered"`
	Quota     uint64        `json:"quota_bytes"`
	Cost      int           `json:"cost"`
	Rate      uint64        `json:"rate_bps,omitempty"`
	MaxLoss   float64       `json:"max_loss,omitempty"`
	MaxRTT    float64       `json:"max_rtt_ms,omitempty"`
	Disabled  bool          `json:"disabled,omitempty"`
	Probe     Probe         `json:"probe"`
}

// Probe is how a link is probed.
type Probe struct {
	Interval   float64 `json:"interval_ms"`
	Multiplier int     `json:"multiplier"`
}

// defaultInterval is the default of Probe.Interval in milliseconds. An interval of 0 is stored as it
// is, because the default depends on whether the link is metered and carries frames.
const defaultInterval = float64(settings.DefaultProbeInterval) / float64(time.Millisecond)

// Shown returns the probe as records have it.
func (p Probe) Shown(metered bool) Probe {
	if p.Interval == 0 && !metered { // the interval of a metered link depends on its frames
		p.Interval = defaultInterval
	}
	return p
}

// milliseconds reads a time that a field gives in milliseconds.
func milliseconds(field string, ms float64) (time.Duration, error) {
	const most = 24 * time.Hour
	if !(ms >= 0 && ms <= float64(most.Milliseconds())) {
		return 0, fault.Wrong(field, "must be 0 to %d, got %v", most.Milliseconds(), ms)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// complete fills in what a new link has by default.
func (l *Link) complete(others []Link) {
	if l.Kind == "" {
		if l.Kind = guessKind(l.Name); l.Kind == settings.Ethernet {
			l.Kind = guessKind(l.Carrier())
		}
	}
	if l.Priority == nil {
		next := 1
		for _, other := range others {
			next = max(next, *other.Priority+1)
		}
		l.Priority = &next
	}
	if l.Cost == 0 {
		l.Cost = 1
	}
	if l.Probe.Multiplier == 0 {
		l.Probe.Multiplier = settings.DefaultProbeMultiplier
	}
}

// Carrier returns the interface that carries the link.
func (l *Link) Carrier() string {
	if l.Interface != "" {
		return l.Interface
	}
	return l.Name
}

// guessKind guesses a link's technology from how Linux names such interfaces.
func guessKind(name string) settings.Kind {
	for _, guess := range []struct {
		prefix string
		kind   settings.Kind
	}{{"wl", settings.WiFi}, {"wifi", settings.WiFi}, {"mesh", settings.Mesh}, {"bat", settings.Mesh},
		{"ww", settings.FiveG}, {"5g", settings.FiveG}, {"rmnet", settings.FiveG}} {
		if strings.HasPrefix(name, guess.prefix) {
			return guess.kind
		}
	}
	return settings.Ethernet
}

// config returns the link in the form of the plane. It checks the form as well.
func (l *Link) config(role Role) (settings.Link, error) {
	c := settings.Link{
		Name: l.Name, Interface: l.Carrier(), Kind: l.Kind, Cost: l.Cost, Metered: l.Metered, Quota: l.Quota,
		Rate: l.Rate, MaxLoss: l.MaxLoss, Disabled: l.Disabled, Probe: settings.Probe{Multiplier: l.Probe.Multiplier},
	}
	if l.Priority != nil {
		c.Priority = *l.Priority
	}
	var err error
	if c.Probe.Interval, err = milliseconds("probe.interval_ms", l.Probe.Interval); err != nil {
		return c, err
	}
	if c.MaxRTT, err = milliseconds("max_rtt_ms", l.MaxRTT); err != nil {
		return c, err
	}
	if !settings.ValidName(l.Name) {
		return c, fault.Wrong("name", "must be 1 to 32 letters, digits, '.', '-' or '_', got %q", l.Name)
	}
	if err := c.Check(); err != nil {
		return c, &fault.Fault{Kind: fault.Malformed, Field: faultyField(err, l.Name), Detail: err.Error(), Err: err}
	}
	switch {
	case l.Endpoint != "" && role == RoleClient:
		return c, fault.Wrong("endpoint", "it is given on the server, which tells its clients")
	case l.Endpoint == "" && role == RoleServer:
		return c, fault.Wrong("endpoint", "a server needs the HOST:PORT at which clients reach it over this link")
	case l.Endpoint != "":
		_, port, err := splitEndpoint(l.Endpoint)
		if err != nil {
			return c, fault.Wrong("endpoint", "%v", err)
		}
		c.Listen = port
	}
	if l.Listen != nil {
		if *l.Listen < 0 || *l.Listen > 65535 {
			return c, fault.Wrong("listen", "must be a port, 0 to 65535, got %d", *l.Listen)
		}
		c.Listen = uint16(*l.Listen)
	}
	return c, nil
}

// faultyField returns the field that an error of LinkConfig.Check is about.
func faultyField(err error, name string) string {
	rest, ok := strings.CutPrefix(err.Error(), fmt.Sprintf("link %q: ", name))
	field, _, found := strings.Cut(rest, ":")
	if !ok || !found {
		return ""
	}
	if field == "probe.interval" {
		return "probe.interval_ms"
	}
	return field
}

// splitEndpoint reads "HOST:PORT", where a host is an address or a name.
func splitEndpoint(endpoint string) (host string, port uint16, err error) {
	host, number, err := net.SplitHostPort(endpoint)
	if err != nil {
		return "", 0, fmt.Errorf("must be HOST:PORT, got %q", endpoint)
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("must be a port of 1 to 65535, got %q", number)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.IsUnspecified() || address.IsMulticast() {
			return "", 0, fmt.Errorf("%v is not the address of a host", address)
		}
		if zone := address.Zone(); zone != "" && !settings.ValidName(zone) {
			return "", 0, fmt.Errorf("%.60q is not the name of an interface", zone)
		}
		return host, uint16(n), nil
	}
	if !validHost(host) {
		return "", 0, fmt.Errorf("must be an address or a host's name, got %q", host)
	}
	return host, uint16(n), nil
}

// validHost reports whether s is a host name by RFC 1123 section 2.1. What looks like
// an address in IPv4 is none.
func validHost(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if !((r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' || r == '_') {
				return false
			}
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != ""
}
