package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
)

// selection is the links that the frames of one class use. It changes when a link
// does, so that little is left to do for each frame.
type selection struct {
	policy   settings.Policy
	allowed  uint32 // links, by bit
	copies   int
	metered  bool
	noReplay bool
	control  bool
	maxDelay time.Duration

	current int // the best link, or -1
	targets uint32
	count   int
	table   [flowBuckets]uint8 // link of each flow, for BalanceFlow
	copyOf  uint32             // link whose unacknowledged packets go over the others too

	// The backlog of the class.
	waiting int // packets that wait to be sent
	queue   bool
	direct  uint32 // links that new frames need not queue for
	moved   uint64 // the flows that queue, for BalanceFlow
}

const flowBuckets = 64

// linksFor returns the links of a flow's frames.
func (s *selection) linksFor(flow uint32) uint32 {
	if s.policy == settings.BalanceFlow && s.count > 0 {
		return 1 << s.table[bucket(flow)]
	}
	return s.targets
}

func bucket(flow uint32) uint32 { return flow * 0x9E3779B1 >> (32 - 6) }

// queues reports whether frames of a flow have to wait behind others.
func (s *selection) queues(flow uint32) bool {
	return s.queue && (s.policy != settings.BalanceFlow || s.moved&(1<<bucket(flow)) != 0)
}

// rest ends the queueing of new frames once nothing waits ahead of them.
func (s *selection) rest() {
	if s.waiting == 0 {
		s.queue = false
		s.direct = 0
		s.moved = 0
	}
}

// newSelection returns the selection of a class, with the defaults of the bond.
func newSelection(c settings.Class, defaults settings.Bond) selection {
	s := selection{
		policy: c.Policy, copies: c.Copies, metered: c.Metered, noReplay: c.NoReplay,
		control: c.Control, maxDelay: c.MaxDelay, current: -1,
	}
	if s.policy == "" {
		s.policy = defaultPolicy(defaults)
	}
	if s.copies == 0 {
		s.copies = defaults.Copies
	}
	return s
}
