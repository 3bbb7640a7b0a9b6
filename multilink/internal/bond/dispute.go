package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/status"
)

// Two instances with one private key, such as two gateways from one disk image, take
// each other's place at the peer. The peer notices that an epoch which is over answers
// what it has sent since then. The one that is displaced notices that the peer echoes
// another epoch, and the other one learns it from the peer's probes.

const (
	reasonPeerTwice = "another instance uses the key of this peer; provision each as a client of its own"
	reasonOwnTwice  = "another instance uses the key of this one; provision each as a client of its own"

	// disputeSpan is how long a dispute lasts from its last sign on.
	disputeSpan = 30 * time.Second
	// desertion is how long the current life of the peer must be silent before one
	// that is over is taken for the peer again.
	desertion = 20 * time.Second
)

// dispute is that another instance uses a key. The zero value is that none does.
type dispute struct {
	reason string
	seen   time.Duration // the last sign; 0 means none
}

func (d *dispute) lasts(now time.Duration) bool { return d.seen > 0 && now-d.seen < disputeSpan }

// see records a sign of a dispute, and reports its beginning.
func (d *dispute) see(c *core, out *Output) {
	if !d.lasts(c.now) {
		out.Events = append(out.Events, status.Event{Time: c.wall, Type: "conflict", Reason: d.reason})
	}
	d.seen = max(c.now, 1)
}

// conflict returns the reason of a dispute that lasts; empty means none.
func (c *core) conflict() string {
	for _, d := range []*dispute{&c.ownKey, &c.peerKey} {
		if d.lasts(c.now) {
			return d.reason
		}
	}
	return ""
}
