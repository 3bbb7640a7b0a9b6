package bond

import (
	"math"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// core is the state that all parts of a bond share.
type core struct {
	clock
	members
	config   settings.Bond
	epoch    uint64 // of this end
	peer     peerState
	pool     *packet.Pool
	counters status.Counters

	// Other instances that use the key of this end, or of the peer.
	ownKey, peerKey dispute

	// What the current call has left to do.
	stale  bool // choose the links again
	urgent bool // send the peer a probe at once
}

// peerState is what is known of the other end.
//
// An epoch is one life of a bond. A new epoch of the peer is adopted only when a
// probe of it echoes the epoch of this end: a probe of an earlier life that a
// network delayed cannot do so, because it echoes what its sender heard then.
type peerState struct {
	epoch       uint64     // adopted; 0 means none
	established bool       // the peer has adopted the epoch of this end
	knew        bool       // it had once
	past        [16]uint64 // epochs that are over; the oldest is overwritten
	pasts       int
	probed      bool          // number is that of a probe
	number      uint64        // of the newest probe, on any link
	since       uint64        // stamp of this end when the epoch was adopted
	heard       time.Duration // when its last probe came
}

// clock is the time of a bond: the latest that its owner has passed to a method.
type clock struct {
	start time.Time
	now   time.Duration // since start
	wall  time.Time     // the wall clock at now, which may have been set since start
	next  time.Duration // when Tick is due; never means none
}

// never is later than everything that happens.
const never = time.Duration(math.MaxInt64)

func (c *clock) advance(now time.Time) {
	if elapsed := now.Sub(c.start); elapsed >= c.now {
		c.now, c.wall = elapsed, now
	}
}

// wake requests a Tick at a time, or earlier.
func (c *clock) wake(at time.Duration) { c.next = min(c.next, at) }

// stamp returns the time of a probe of this end. It is never 0.
func (c *clock) stamp() uint64 { return uint64(c.now) + 1 }

func (c *core) replayAge() time.Duration {
	if c.config.ReplayAge == 0 {
		return defaultReplayAge
	}
	return c.config.ReplayAge
}

func (c *core) replayBytes() int {
	if c.config.ReplayBytes == 0 {
		return defaultReplayBytes
	}
	return c.config.ReplayBytes
}

func (c *core) waitToRestore() time.Duration {
	if c.config.WaitToRestore == 0 {
		return settings.DefaultWaitToRestore
	}
	return c.config.WaitToRestore
}

// defaultPolicy returns the policy of frames whose class names none.
func defaultPolicy(c settings.Bond) settings.Policy {
	if c.Policy == "" {
		return settings.ActiveBackup
	}
	return c.Policy
}
