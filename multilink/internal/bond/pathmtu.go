package bond

import (
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
)

// pathMTU finds how long a packet may be on a link towards the peer, by probes of full
// size, in the manner of RFC 8899. The MTU of the tunnel follows from the interface at
// this end; what is behind it, such as a tunnel of a provider, may swallow packets that
// are shorter.
//
// The peer reports in its probes how long the longest packet was that arrived on the link
// lately. A peer of an earlier release does not: nothing is searched then, and packets
// are as long as the tunnel allows.
type pathMTU struct {
	limit     int // of the tunnel
	reports   bool
	proven    int           // longest packet that is known to arrive; 0 is none
	provenAt  time.Duration // when that was reported last
	refused   int           // shortest packet that is known not to arrive; 0 is none
	refusedAt time.Duration // when that was found out, or tried again

	trial   int // length of the probes that are tried; 0 is none
	tries   int
	triedAt time.Duration

	// The longest packet of frames that was sent and not reported, and since when such
	// packets are sent. Zero is none.
	unseen   int
	unseenAt time.Duration

	arrivals [2]int // longest packet that arrived, in this period and in the one before
	period   time.Duration
	theirs   int // what the peer knows to arrive here; 0 is unknown
}

const (
	maxPathMTU = packet.HeaderSize + packet.MaxFrame
	// basePathMTU is what nearly every path carries (RFC 8899 section 5.1.2), and
	// minPathMTU what every host takes over IPv4, less what a tunnel adds.
	basePathMTU = 1100
	minPathMTU  = 480
	mtuTries    = 3  // RFC 8899: MAX_PROBES
	mtuStep     = 16 // between what is known to arrive and what is known not to

	mtuTimeout  = 100 * time.Millisecond // of one try, at least
	mtuPeriod   = 250 * time.Millisecond // of arrivals, at least
	mtuDoubt    = 300 * time.Millisecond // until frames that are not reported count as swallowed, at least
	mtuConfirm  = 30 * time.Second       // RFC 8899: CONFIRMATION_TIMER
	mtuRaise    = 2 * time.Minute        // RFC 8899: PMTU_RAISE_TIMER
	mtuPatience = 10 * time.Minute       // both of them on a metered link
)

// length is how long a packet of this end may be. As long as nothing speaks against it,
// that is what the tunnel allows.
func (q *pathMTU) length() int {
	switch {
	case !q.reports || q.refused == 0:
		return q.limit
	case q.proven > 0:
		return min(q.proven, q.limit)
	case q.refused > basePathMTU:
		return min(basePathMTU, q.limit)
	}
	return min(minPathMTU, q.limit)
}

// known is the length that both directions carry, as far as it is known; 0 is unknown.
func (q *pathMTU) known() int {
	if q.proven == 0 || q.theirs == 0 {
		return max(q.proven, q.theirs)
	}
	return min(q.proven, q.theirs)
}

// restrict sets the limit of the tunnel.
func (q *pathMTU) restrict(limit int) {
	limit = min(limit, maxPathMTU)
	if limit == q.limit {
		return
	}
	q.limit, q.trial, q.unseen, q.unseenAt = limit, 0, 0, 0
	q.proven = min(q.proven, limit)
	q.refusedAt -= mtuPatience // a search is due
	if q.refused > limit {
		q.refused = 0
	}
}

// doubt has everything tried again: the link may lead elsewhere when it is up again.
func (q *pathMTU) doubt(now time.Duration) {
	q.trial, q.unseen, q.unseenAt = 0, 0, 0
	q.provenAt, q.refusedAt = now-mtuPatience, now-mtuPatience
}

// sent records a packet of frames.
func (q *pathMTU) sent(now time.Duration, n int) {
	if n <= minPathMTU || n <= q.unseen {
		return
	}
	if q.unseen == 0 {
		q.unseenAt = now
	}
	q.unseen = n
}

// arrive records a packet that came from the peer.
func (q *pathMTU) arrive(now, period time.Duration, n int) {
	q.turn(now, period)
	q.arrivals[0] = max(q.arrivals[0], n)
}

func (q *pathMTU) turn(now, period time.Duration) {
	switch passed := now - q.period; {
	case passed >= 2*period:
		q.arrivals, q.period = [2]int{}, now
	case passed >= period:
		q.arrivals, q.period = [2]int{0, q.arrivals[0]}, now
	}
}

// longest is what arrived lately.
func (q *pathMTU) longest(now, period time.Duration) int {
	q.turn(now, period)
	return max(q.arrivals[0], q.arrivals[1])
}

// report takes what the peer says has arrived there.
func (q *pathMTU) report(now time.Duration, longest, theirs int) {
	q.reports, q.theirs = true, theirs
	longest = min(longest, q.limit)
	if longest >= q.unseen {
		q.unseen, q.unseenAt = 0, 0
	}
	if q.trial > 0 && longest >= q.trial {
		q.trial = 0
	}
	if longest < q.proven || longest == 0 {
		return
	}
	q.proven, q.provenAt = longest, now
	if q.refused > 0 && longest >= q.refused {
		q.refused = 0
	}
}

// next is how long the probe that is sent now should be; 0 is as short as may be. A try
// is lost after the timeout, and patience is the time between two searches.
func (q *pathMTU) next(now, timeout, confirm, raise time.Duration) int {
	switch {
	case !q.reports:
		return 0
	case q.trial > 0 && now-q.triedAt < timeout:
		return 0
	case q.trial > 0 && q.tries < mtuTries:
		q.tries++
	default:
		if q.trial > 0 {
			q.refuse(now)
		}
		if q.trial, q.tries = q.choose(now, timeout, confirm, raise), 1; q.trial == 0 {
			return 0
		}
	}
	q.triedAt = now
	return q.trial
}

// refuse records that packets of the trial's length do not arrive.
func (q *pathMTU) refuse(now time.Duration) {
	q.refusedAt = now
	if q.trial <= q.proven {
		q.proven = 0 // no longer
	}
	if q.refused == 0 || q.trial < q.refused {
		q.refused = q.trial
	}
	if q.trial <= minPathMTU { // shorter ones are not tried
		q.proven, q.provenAt = min(minPathMTU, q.limit), now
	}
	q.unseen, q.unseenAt = 0, 0
}

// choose returns the length to try now; 0 is none.
func (q *pathMTU) choose(now, timeout, confirm, raise time.Duration) int {
	switch {
	case q.unseen > 0 && now-q.unseenAt >= max(mtuDoubt, timeout):
		return min(q.unseen, q.length())
	case q.refused == 0 && q.proven < q.limit:
		return q.limit
	case q.refused > 0 && q.proven == 0 && q.refused > basePathMTU:
		return min(basePathMTU, q.limit)
	case q.refused > 0 && q.proven == 0:
		return min(minPathMTU, q.limit)
	case q.refused > 0 && q.refused-q.proven > mtuStep:
		return (q.proven + q.refused) / 2
	case q.refused > 0 && now-q.refusedAt >= raise:
		return q.limit
	case now-q.provenAt >= confirm:
		return q.proven
	}
	return 0
}

// mtuPeriod is over which time what arrives on the link is reported.
func (l *link) mtuPeriod() time.Duration { return max(mtuPeriod, 2*l.applied()) }

// nextTrial is how long the probe that is sent now should be.
func (l *link) nextTrial(now time.Duration) int {
	if !l.alive() {
		l.path.trial = 0 // what is lost says nothing of its length
		return 0
	}
	confirm, raise := mtuConfirm, mtuRaise
	if l.config.Metered {
		confirm, raise = mtuPatience, mtuPatience
	}
	return l.path.next(now, max(mtuTimeout, l.limit+l.applied()+l.theirApplied), confirm, raise)
}
