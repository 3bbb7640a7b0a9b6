package settings

import (
	"fmt"
	"strings"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/fault"
)

// Kind is the technology of a link.
type Kind string

// The kinds of links. They differ in how a page shows them.
const (
	WiFi     Kind = "wifi"
	Mesh     Kind = "mesh"
	FiveG    Kind = "5g"
	Ethernet Kind = "ethernet"
)

// Kinds returns all kinds of links.
func Kinds() []Kind { return []Kind{WiFi, Mesh, FiveG, Ethernet} }

// The defaults and bounds of a [Probe].
const (
	DefaultProbeInterval   = 10 * time.Millisecond
	MeteredProbeInterval   = 200 * time.Millisecond // on a metered link while it carries no frames
	MinProbeInterval       = time.Millisecond
	MaxProbeInterval       = 10 * time.Second
	DefaultProbeMultiplier = 3
)

// Probe says how a link is monitored.
type Probe struct {
	// Interval between two probes, from 1 ms to 10 s. Zero is 10 ms, and 200 ms on
	// a metered link while it carries no frames. Such a backup takes over as
	// quickly, because both ends probe it at 10 ms as soon as another link is late,
	// and costs some 100 MB a day instead of 2 GB. The slower of the two ends
	// decides, so that a server can limit its work: with 100 clients or more on
	// three links, 1 ms for every ten clients is a good choice.
	Interval time.Duration
	// Multiplier is how many intervals may pass without a packet of the peer before
	// the link is down: RFC 5880's detection multiplier, from 2 to 255. Zero is 3.
	// On a link whose delay varies more than that, the
	// limit grows to the smoothed round trip and four times its variance.
	Multiplier int
}

// Link is what an administrator sets of a link.
type Link struct {
	// Name pairs the two ends: both use the same name. Up to 32
	// letters, digits, dots, dashes and underscores.
	Name string
	// Interface that carries the link. Empty is the one with the link's name.
	Interface string
	Kind      Kind
	// Priority orders the links: the smallest number is the primary. No two
	// links share one.
	Priority int
	// Cost of a byte relative to other links, for policies that weigh it. Zero is 1.
	Cost int
	// Metered links carry only classes that allow it, unless nothing else is left.
	Metered bool
	// Quota of bytes, both directions, after which a link is the last resort for a
	// peer. The bytes of each peer are counted apart, from when it was added. Zero
	// is no quota.
	Quota uint64
	// Rate caps what is sent, in bits per second. Zero means no cap.
	Rate  uint64
	Probe Probe
	// Listen is the UDP port of the tunnel's own end. Zero takes a free one.
	Listen uint16
	// MaxLoss, as a fraction, and MaxRTT mark a link that is up but poor: beyond
	// them it is used only when no better one is left. Zero means no limit.
	MaxLoss float64
	MaxRTT  time.Duration
	// Disabled links are managed but carry nothing.
	Disabled bool
}

const maxLinkName = 32

// Check reports the first field of c that is not allowed. It wraps ErrInvalid.
func (c Link) Check() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("link %q: %s: %s: %w", c.Name, field, fmt.Sprintf(format, args...), fault.ErrInvalid)
	}
	switch {
	case !ValidName(c.Name):
		return bad("name", "must be 1 to %d letters, digits, '.', '-' or '_', got %q", maxLinkName, c.Name)
	case c.Interface != "" && !ValidName(c.Interface):
		return bad("interface", "must be 1 to %d letters, digits, '.', '-' or '_', got %q", maxLinkName, c.Interface)
	case c.Kind != WiFi && c.Kind != Mesh && c.Kind != FiveG && c.Kind != Ethernet:
		return bad("kind", "must be wifi, mesh, 5g or ethernet, got %q", c.Kind)
	case c.Priority < 0 || c.Priority > 1_000_000:
		return bad("priority", "must be 0 to 1000000, got %d", c.Priority)
	case c.Cost < 0:
		return bad("cost", "must be 0 or more, got %d", c.Cost)
	case c.Probe.Interval != 0 && (c.Probe.Interval < MinProbeInterval || c.Probe.Interval > MaxProbeInterval):
		return bad("probe.interval", "must be %v to %v, got %v", MinProbeInterval, MaxProbeInterval, c.Probe.Interval)
	case c.Probe.Multiplier != 0 && (c.Probe.Multiplier < 2 || c.Probe.Multiplier > 255):
		return bad("probe.multiplier", "must be 2 to 255, got %d", c.Probe.Multiplier)
	case !(c.MaxLoss >= 0 && c.MaxLoss <= 1):
		return bad("max_loss", "must be 0 to 1, got %v", c.MaxLoss)
	case c.MaxRTT < 0:
		return bad("max_rtt", "must be 0 or more, got %v", c.MaxRTT)
	}
	return nil
}

// ValidName reports whether s can name a link.
func ValidName(s string) bool {
	return len(s) > 0 && len(s) <= maxLinkName && s != "." && s != ".." && strings.IndexFunc(s, func(r rune) bool {
		return !((r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '.' || r == '-' || r == '_')
	}) < 0
}

// InterfaceName returns the interface that carries the link.
func (c Link) InterfaceName() string {
	if c.Interface != "" {
		return c.Interface
	}
	return c.Name
}
