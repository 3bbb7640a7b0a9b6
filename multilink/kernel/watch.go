//go:build linux

package kernel

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/pathmtu"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

const (
	window = 100 // probes over which losses are counted

	// confirmEvery is how often a link that is not metered is probed at its full length:
	// frames do not pass this process, so that nothing else shows that it became narrow.
	confirmEvery = 2 * time.Second
)

// watch decides, for one link to one peer, whether it carries frames. It is a
// state machine without a clock: time since the start of the plane is an
// argument. The owner guards it.
type watch struct {
	interval   time.Duration
	multiplier int
	wait       time.Duration // before a link that failed is used again

	state   status.State
	changed time.Duration
	reason  string

	heard     bool          // anything since the last failure
	lastHeard time.Duration // when
	lastTick  time.Duration
	peerHears bool
	peerEvery time.Duration // interval of the peer

	up       bool          // once, ever
	restore  time.Duration // when Probing ends
	failed   time.Duration // the last time
	relapses int

	srtt, rttvar   time.Duration
	lossTx         float64
	newest         uint64    // sequence number of the peer
	got            [2]uint64 // bits of the newest window of numbers, the newest lowest
	known          int       // how many of them count
	sequence       uint64
	echo, echoTime time.Duration

	path pathmtu.Search // of packets of the tunnel
}

// newWatch returns a watch of a link whose tunnel has that MTU.
func newWatch(c settings.Probe, wait time.Duration, mtu int) *watch {
	w := &watch{state: status.Down, reason: "not heard yet"}
	w.path.Restrict(mtu)
	w.configure(c, wait)
	return w
}

func (w *watch) configure(c settings.Probe, wait time.Duration) {
	w.interval = cmp.Or(c.Interval, settings.DefaultProbeInterval)
	w.multiplier = cmp.Or(c.Multiplier, settings.DefaultProbeMultiplier)
	w.wait = cmp.Or(wait, settings.DefaultWaitToRestore)
}

// probe returns what to send now.
func (w *watch) probe(now time.Duration) probe {
	w.sequence++
	p := probe{Sequence: w.sequence, Sent: now, Interval: w.interval, Hears: w.hears(now), LossRx: uint8(100 * w.lossRx()),
		Longest: uint16(max(w.path.Longest(now, w.period()), 1)), PathMTU: uint16(w.path.Proven())}
	if w.echo > 0 {
		p.Echo, p.Held = w.echo, now-w.echoTime
	}
	return p
}

// trial returns the length of a further probe to send now, as a packet of the tunnel; 0 is
// none. It has the number of the probe before it, so that no loss is counted where the
// path swallows it.
func (w *watch) trial(now time.Duration, metered bool) int {
	if w.state == status.Down {
		w.path.Abandon()
		return 0
	}
	confirm, raise := confirmEvery, pathmtu.Raise
	if metered {
		confirm, raise = pathmtu.Confirm, pathmtu.Patience
	}
	return w.path.Next(now, w.limit()+w.interval+w.peerEvery, confirm, raise)
}

// period returns the time over which arrivals are reported.
func (w *watch) period() time.Duration { return 2 * w.interval }

// take takes a probe of the peer, which arrived as a packet of that length. A probe that
// is older than an earlier one changes no state.
func (w *watch) take(now time.Duration, p probe, length int) {
	w.path.Arrive(now, w.period(), length)
	restarted := p.Sequence+window < w.newest || p.Sent+time.Second < w.echo
	if restarted {
		w.newest = 0
		w.known = 0
		w.got = [2]uint64{}
		w.echo = 0
	}
	fresh := p.Sequence > w.newest
	w.count(p.Sequence)
	if !fresh {
		return
	}
	w.heard, w.lastHeard = true, now
	w.peerHears, w.peerEvery = p.Hears, p.Interval
	w.lossTx = float64(p.LossRx) / 100
	if p.Longest == 0 { // the peer is of an earlier release
		w.path.Restart()
	} else {
		w.path.Report(now, int(p.Longest), int(p.PathMTU))
	}
	w.echo, w.echoTime = max(p.Sent, 1), now
	if rtt := now - p.Echo - p.Held; p.Echo > 0 && rtt >= 0 {
		w.measure(rtt)
	}
}

// measure smooths the round trip as RFC 6298 does.
func (w *watch) measure(rtt time.Duration) {
	if w.srtt == 0 {
		w.srtt, w.rttvar = max(rtt, 1), rtt/2
		return
	}
	w.rttvar += ((w.srtt - rtt).Abs() - w.rttvar) / 4
	w.srtt = max(w.srtt+(rtt-w.srtt)/8, 1)
}

// count records that a number arrived.
func (w *watch) count(number uint64) {
	if number > w.newest {
		step := number - w.newest
		for range min(step, 128) {
			w.got[1] = w.got[1]<<1 | w.got[0]>>63
			w.got[0] <<= 1
		}
		if w.newest == 0 {
			step = 1
		}
		w.known = min(w.known+int(min(step, window)), window)
		w.newest = number
	}
	if age := w.newest - number; age < 128 {
		w.got[age/64] |= 1 << (age % 64)
	}
}

// lossRx returns the fraction of the newest probes that did not arrive.
func (w *watch) lossRx() float64 {
	if w.known == 0 {
		return 0
	}
	high := max(w.known-64, 0)
	arrived := bits.OnesCount64(w.got[0]&(1<<min(w.known, 64)-1)) + bits.OnesCount64(w.got[1]&(1<<high-1))
	return 1 - float64(arrived)/float64(w.known)
}

// limit returns how long the peer may be silent.
func (w *watch) limit() time.Duration {
	return max(time.Duration(w.multiplier)*max(w.interval, w.peerEvery), w.srtt+4*w.rttvar)
}

func (w *watch) hears(now time.Duration) bool { return w.heard && now-w.lastHeard <= w.limit() }

// tick updates the state, and reports whether it has changed. It is called at every
// interval. A late call shows that the process stalled, so that the silence until
// then does not count.
func (w *watch) tick(now time.Duration) bool {
	if late := now - w.lastTick - w.interval; w.lastTick > 0 && late > w.interval && w.heard {
		w.lastHeard = min(w.lastHeard+late, now)
	}
	w.lastTick = now
	before := w.state
	switch hears := w.hears(now); {
	case hears && w.peerHears:
		w.alive(now)
	case w.state == status.Down:
	case hears:
		w.fail(now, "the peer does not hear this end")
	default:
		w.heard = false
		w.fail(now, "nothing heard for "+w.limit().Round(time.Millisecond).String())
	}
	return w.state != before
}

func (w *watch) alive(now time.Duration) {
	switch {
	case w.state == status.Down && !w.up:
		w.up = true
		w.set(now, status.Up, "heard for the first time")
	case w.state == status.Down:
		w.restore = now + w.wait<<w.relapses
		w.set(now, status.Probing, "heard again")
	case w.state == status.Probing && now >= w.restore:
		w.set(now, status.Up, "heard for "+(now-w.changed).Round(time.Millisecond).String())
	}
}

// fail takes the link out of use. What this end hears stays as it is: if
// each end reported silence because the other one does, no link would recover.
func (w *watch) fail(now time.Duration, reason string) {
	if w.failed > 0 && now-w.failed < settings.RelapseSpan {
		w.relapses = min(w.relapses+1, settings.MaxRelapses)
	} else {
		w.relapses = 0
	}
	w.failed = now
	w.srtt, w.rttvar = 0, 0
	w.path.Doubt(now)
	w.set(now, status.Down, reason)
}

func (w *watch) set(now time.Duration, state status.State, reason string) {
	w.state = state
	w.changed = now
	w.reason = reason
}
