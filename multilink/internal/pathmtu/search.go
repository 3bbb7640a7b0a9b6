// Package pathmtu finds how long packets may be on the path to a peer, by probes of full
// size, in the manner of RFC 8899.
package pathmtu

import "time"

// Search finds how long a packet may be on a link towards the peer. The MTU of the tunnel
// follows from the interface at this end; what is behind it, such as a tunnel of a
// provider, may swallow packets that are shorter.
//
// The peer reports in its probes how long the longest packet was that arrived on the link
// lately. A peer of an earlier release does not: nothing is searched then, and packets
// are as long as the tunnel allows.
//
// It has no clock: the time since any start is an argument. Lengths are in bytes. The zero
// value has no limit yet, see [Search.Restrict]. The owner guards it.
type Search struct {
	limit     int // of the tunnel
	reports   bool
	proven    int           // longest packet that is known to arrive; 0 means none
	provenAt  time.Duration // when that was reported last
	refused   int           // shortest packet that is known not to arrive; 0 means none
	refusedAt time.Duration // when that was found out, or tried again

	trial    int  // length of the probes that are tried; 0 means none
	confirms bool // what is known, without any sign against it
	tries    int
	triedAt  time.Duration

	// The longest packet of frames that was sent and not reported, and since when such
	// packets are sent. Zero means none.
	unseen   int
	unseenAt time.Duration

	arrivals [2]int // longest packet that arrived, in this period and in the one before
	period   time.Duration
	theirs   int // what the peer knows to arrive here; 0 is unknown
}

const (
	// baseMTU is what nearly every path carries (RFC 8899 section 5.1.2), and
	// minMTU what every host takes over IPv4, less what a tunnel adds.
	baseMTU  = 1100
	minMTU   = 480
	maxTries = 3 // RFC 8899: MAX_PROBES
	// maxConfirms is how many probes of a length that is known must be lost, where nothing else
	// speaks against it: a path that loses a fifth of all packets loses ten in a row once in ten million.
	maxConfirms = 10
	step        = 16 // between what is known to arrive and what is known not to

	minTimeout = 100 * time.Millisecond // of one try
	minPeriod  = 250 * time.Millisecond // of arrivals

	// Confirm is how often what is known is tried again (RFC 8899: CONFIRMATION_TIMER).
	Confirm = 30 * time.Second
	// Raise is how often more than is known is tried (RFC 8899: PMTU_RAISE_TIMER).
	Raise = 2 * time.Minute
	// Patience is both of them on a metered link.
	Patience = 10 * time.Minute

	doubtful = 300 * time.Millisecond // until frames that are not reported count as swallowed, at least
)

// Length returns how long a packet of this end may be. As long as nothing speaks against it,
// that is what the tunnel allows.
func (q *Search) Length() int {
	switch {
	case !q.reports || q.refused == 0:
		return q.limit
	case q.proven > 0:
		return min(q.proven, q.limit)
	case q.refused > baseMTU:
		return min(baseMTU, q.limit)
	}
	return min(minMTU, q.limit)
}

// Known returns the length that both directions carry, as far as it is known; 0 is unknown.
func (q *Search) Known() int {
	if q.proven == 0 || q.theirs == 0 {
		return max(q.proven, q.theirs)
	}
	return min(q.proven, q.theirs)
}

// Proven returns the longest packet that is known to arrive at the peer; 0 is unknown.
func (q *Search) Proven() int { return q.proven }

// Restart forgets all but the limit of the tunnel.
func (q *Search) Restart() { *q = Search{limit: q.limit} }

// Restrict sets the limit of the tunnel.
func (q *Search) Restrict(limit int) {
	if limit == q.limit {
		return
	}
	q.limit = limit
	q.trial = 0
	q.unseen = 0
	q.unseenAt = 0
	q.proven = min(q.proven, limit)
	q.refusedAt -= Patience // a search is due
	if q.refused > limit {
		q.refused = 0
	}
}

// Doubt has everything tried again: the link may lead elsewhere when it is up again.
func (q *Search) Doubt(now time.Duration) {
	q.trial = 0
	q.unseen = 0
	q.unseenAt = 0
	q.provenAt, q.refusedAt = now-Patience, now-Patience
}

// Sent records a packet of frames.
func (q *Search) Sent(now time.Duration, n int) {
	if n <= minMTU || n <= q.unseen {
		return
	}
	if q.unseen == 0 {
		q.unseenAt = now
	}
	q.unseen = n
}

// Arrive records a packet that came from the peer. Arrivals are counted over the period, and over 250 ms at least.
func (q *Search) Arrive(now, period time.Duration, n int) {
	q.turn(now, period)
	q.arrivals[0] = max(q.arrivals[0], n)
}

func (q *Search) turn(now, period time.Duration) {
	period = max(period, minPeriod)
	switch passed := now - q.period; {
	case passed >= 2*period:
		q.arrivals, q.period = [2]int{}, now
	case passed >= period:
		q.arrivals, q.period = [2]int{0, q.arrivals[0]}, now
	}
}

// Longest returns the length of the longest packet that arrived in the last one or two periods.
func (q *Search) Longest(now, period time.Duration) int {
	q.turn(now, period)
	return max(q.arrivals[0], q.arrivals[1])
}

// Abandon ends the current try: its loss would say nothing of its length.
func (q *Search) Abandon() { q.trial = 0 }

// Report takes what the peer says has arrived there.
func (q *Search) Report(now time.Duration, longest, theirs int) {
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

// Next returns the length of the probe to send now; 0 is the shortest. A try is lost after the timeout, and after
// 100 ms at the earliest. The known length is tried again after confirm, and a greater one after raise.
func (q *Search) Next(now, timeout, confirm, raise time.Duration) int {
	timeout = max(timeout, minTimeout)
	switch {
	case !q.reports:
		return 0
	case q.trial > 0 && now-q.triedAt < timeout:
		return 0
	case q.trial > 0 && (q.tries < maxTries || (q.confirms && q.tries < maxConfirms)):
		q.tries++
	default:
		if q.trial > 0 {
			q.refuse(now)
		}
		q.trial = q.choose(now, timeout, raise)
		q.tries = 1
		q.confirms = false
		if q.trial == 0 && q.proven > 0 && now-q.provenAt >= confirm {
			q.trial, q.confirms = q.proven, true
		}
		if q.trial == 0 {
			return 0
		}
	}
	q.triedAt = now
	return q.trial
}

// refuse records that packets of the trial's length do not arrive.
func (q *Search) refuse(now time.Duration) {
	q.refusedAt = now
	if q.trial <= q.proven {
		q.proven = 0 // no longer
	}
	if q.refused == 0 || q.trial < q.refused {
		q.refused = q.trial
	}
	if q.trial <= minMTU { // shorter ones are not tried
		q.proven, q.provenAt = min(minMTU, q.limit), now
	}
	q.unseen, q.unseenAt = 0, 0
}

// choose returns the length to search with now; 0 means none.
func (q *Search) choose(now, timeout, raise time.Duration) int {
	switch {
	case q.unseen > 0 && now-q.unseenAt >= max(doubtful, timeout):
		return min(q.unseen, q.Length())
	case q.refused == 0 && q.proven < q.limit:
		return q.limit
	case q.refused > 0 && q.proven == 0 && q.refused > baseMTU:
		return min(baseMTU, q.limit)
	case q.refused > 0 && q.proven == 0:
		return min(minMTU, q.limit)
	case q.refused > 0 && q.refused-q.proven > step:
		return (q.proven + q.refused) / 2
	case q.refused > 0 && now-q.refusedAt >= raise:
		return q.limit
	}
	return 0
}
