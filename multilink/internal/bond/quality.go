package bond

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/iotenablers/enablers/multilink/settings"
)

// quality is the measured delay and loss of a link.
type quality struct {
	srtt, rttvar time.Duration // as in RFC 6298 section 2; zero is unknown
	lastEcho     uint64        // the newest stamp of this end that the peer sent back

	arrived [2]uint64 // bit n of it: the probe n before the newest
	probes  int       // how many bits are valid
	young   int       // how many of the newest do not count yet
	lossTx  uint16    // by the peer's report

	poor       bool
	poorReason string
	better     time.Duration // since when it is within its limits; 0 is not
}

const (
	lossProbes = 100 // over which loss is measured
	lossEnough = 20  // below which loss is not measured
	maxRTT     = time.Minute
)

func (q *quality) reset() {
	*q = quality{srtt: q.srtt, rttvar: q.rttvar, lastEcho: q.lastEcho, poor: q.poor, poorReason: q.poorReason}
}

// roundTrip takes a measurement. There are many in one round trip, so that
// the variation decays more slowly than in RFC 6298 (see RFC 7323 appendix G).
func (q *quality) roundTrip(rtt time.Duration) {
	if q.srtt == 0 {
		q.srtt, q.rttvar = max(rtt, 1), rtt/2
		return
	}
	off := rtt - q.srtt
	if off < 0 {
		off = -off
	}
	if off > q.rttvar {
		q.rttvar += (off - q.rttvar) / 4
	} else {
		q.rttvar -= (q.rttvar - off) / 32
	}
	q.srtt = max(q.srtt+(rtt-q.srtt)/8, 1)
}

// spread returns the round trip that is hardly ever exceeded.
func (q *quality) spread() time.Duration { return q.srtt + 4*q.rttvar }

// arrive records the arrival of a probe that was sent ahead of the newest so far
// by so much.
func (q *quality) arrive(ahead int32) {
	switch {
	case q.probes == 0 || ahead >= 128:
		q.arrived, q.probes = [2]uint64{1}, 1
	case ahead > 0:
		for range ahead { // few, and seldom more than one
			q.arrived[1] = q.arrived[1]<<1 | q.arrived[0]>>63
			q.arrived[0] <<= 1
		}
		q.arrived[0] |= 1
		q.probes = min(q.probes+int(ahead), 128)
	case ahead > -128:
		q.arrived[-ahead/64] |= 1 << (-ahead % 64)
	}
}

// lossRx returns the fraction of probes that did not arrive. The newest do not
// count: those that they overtook may still come.
func (q *quality) lossRx() float64 {
	n := min(q.probes-q.young, lossProbes)
	if n <= 0 {
		return 0
	}
	low := q.arrived[0]>>q.young | q.arrived[1]<<(64-q.young)
	high := q.arrived[1] >> q.young
	if n < 64 {
		low, high = low&(1<<n-1), 0
	} else {
		high &= 1<<(n-64) - 1
	}
	return 1 - float64(bits.OnesCount64(low)+bits.OnesCount64(high))/float64(n)
}

// rate compares the link with its limits. To be good again it must stay well
// within them for a while.
func (q *quality) rate(c settings.Link, now, wait time.Duration) (changed bool) {
	loss := max(q.lossRx(), float64(q.lossTx)/65535)
	measured := q.probes >= lossEnough
	lossy := c.MaxLoss > 0 && measured && loss > c.MaxLoss
	slow := c.MaxRTT > 0 && q.srtt > c.MaxRTT
	within := (c.MaxLoss == 0 || (measured && loss <= c.MaxLoss/2)) && (c.MaxRTT == 0 || q.srtt <= c.MaxRTT*4/5)
	switch {
	case !q.poor && (lossy || slow):
		q.poor, q.better = true, 0
		q.poorReason = fmt.Sprintf("round trip of %v", q.srtt.Round(time.Millisecond))
		if lossy {
			q.poorReason = fmt.Sprintf("%.0f %% lost", loss*100)
		}
		return true
	case q.poor && !within:
		q.better = 0
	case q.poor && q.better == 0:
		q.better = now
	case q.poor && now-q.better >= wait:
		q.poor = false
		return true
	}
	return false
}
