package bond

import (
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
	"math"
	"slices"
	"time"
)

// plan is over which links the frames of a class travel. It changes when a
// link does, so that little is left to do for a frame.
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

	waiting int // packets that wait to be sent
	queue   bool
	direct  uint32 // links that new frames need not queue for
	moved   uint64 // the flows that queue, for BalanceFlow
}

const flowBuckets = 64

// A link's rank, to which these add up. The smaller one is used.
const (
	rankPoor      = 1  // beyond its limits of loss and delay
	rankMetered   = 4  // costs money that the class is not to spend
	rankOverQuota = 8  // has carried what it may
	rankProbing   = 16 // has not shown yet that it stays
	rankNone      = 1 << 10
)

func (b *Bond) rank(l *link, p *selection) int {
	if l == nil || !l.usable() || p.allowed&l.bit() == 0 {
		return rankNone
	}
	rank := 0
	if l.poor {
		rank += rankPoor
	}
	if l.config.Metered && !p.metered {
		rank += rankMetered
	}
	if l.overQuota {
		rank += rankOverQuota
	}
	if l.state == status.Probing {
		rank += rankProbing
	}
	return rank
}

// plan returns that of a class; that of the bond's defaults where there is no
// such class.
func (b *Bond) selectionOf(class int) *selection {
	if class < -1 || class+1 >= len(b.selections) {
		class = -1
	}
	return &b.selections[class+1]
}

// linksFor are the links of a flow's frames.
func (p *selection) linksFor(flow uint32) uint32 {
	if p.policy == settings.BalanceFlow && p.count > 0 {
		return 1 << p.table[bucket(flow)]
	}
	return p.targets
}

func bucket(flow uint32) uint32 { return flow * 0x9E3779B1 >> (32 - 6) }

// queues reports whether frames of a flow have to wait behind others.
func (p *selection) queues(flow uint32) bool {
	return p.queue && (p.policy != settings.BalanceFlow || p.moved&(1<<bucket(flow)) != 0)
}

// replan chooses links anew for all classes.
func (b *Bond) reselect(out *Output) {
	b.stale, b.reviewed = false, b.now
	was := b.selections[0].current
	var targets uint32
	for i := range b.selections {
		b.choose(&b.selections[i])
		targets |= b.selections[i].targets
	}
	for _, l := range b.links {
		if l != nil && l.carries != (targets&l.bit() != 0) {
			l.carries, b.urgent = !l.carries, true
			l.limits()
		}
	}
	b.announce(was, b.selections[0].current, out)
}

// choose sets the links of a plan.
func (b *Bond) choose(p *selection) {
	old := *p
	p.current = b.best(p)
	p.targets, p.count = 0, 0
	if p.current < 0 {
		return
	}
	p.targets, p.count = b.links[p.current].bit(), 1
	switch p.policy {
	case settings.Redundant:
		b.copyOver(p)
	case settings.Adaptive:
		b.double(p, &old)
	case settings.BalanceFlow:
		b.balance(p)
	}
	b.order(p, &old)
}

// best is the link that a plan should use, or -1.
func (b *Bond) best(p *selection) int {
	if m := b.manual; m >= 0 && b.now < b.manualUntil {
		if l := b.links[m]; l != nil && (l.state == status.Up || l.state == status.Suspect) && p.allowed&l.bit() != 0 {
			return m
		}
	}
	best, rank := -1, rankNone
	for id, l := range b.links {
		r := b.rank(l, p)
		if r < rank || r == rank && r < rankNone && b.before(l, b.links[best]) {
			best, rank = id, r
		}
	}
	if p.current < 0 || best < 0 || best == p.current {
		return best
	}
	l, now := b.links[best], b.links[p.current]
	if b.rank(now, p) != rank {
		return best // it is gone, or worse
	}
	// Both would do: that is for the administrator to say.
	switch {
	case l.config.Priority > now.config.Priority, l.tardy(), l.state == status.Probing, b.config.Reselect == settings.ReselectFailure,
		b.config.Reselect == settings.ReselectBetter && l.srtt > now.srtt:
		return p.current
	}
	return best
}

// before reports whether l is to be preferred to a link of the same rank.
func (b *Bond) before(l, to *link) bool {
	if l.tardy() != to.tardy() {
		return !l.tardy()
	}
	return l.config.Priority < to.config.Priority
}

// copyOver adds links for copies.
func (b *Bond) copyOver(p *selection) {
	rank := b.rank(b.links[p.current], p)
	for p.copies == 0 || p.count < p.copies {
		next := b.another(p, rank|rankPoor)
		if next < 0 {
			return
		}
		p.targets |= b.links[next].bit()
		p.count++
	}
}

// another is the best link that is not among the targets yet, and no worse
// than that rank; -1 where there is none. None is found beside a last resort.
func (b *Bond) another(p *selection, worst int) int {
	best, rank := -1, rankMetered
	for id, l := range b.links {
		r := b.rank(l, p)
		if r > worst || r >= rankMetered || p.targets&(1<<id) != 0 {
			continue
		}
		if best < 0 || r < rank || r == rank && b.before(l, b.links[best]) {
			best, rank = id, r
		}
	}
	return best
}

// double adds a second link while the first is in doubt. What the first may
// have lost goes over the second as well, ahead of what comes.
func (b *Bond) double(p, old *selection) {
	l := b.links[p.current]
	if !l.tardy() && !l.poor {
		return
	}
	next := b.another(p, rankPoor)
	if next < 0 {
		return
	}
	p.targets |= b.links[next].bit()
	p.count++
	if old.count == 1 && old.current == p.current && l.tardy() {
		b.replay.copy(b, l.bit(), p)
		if p.waiting > 0 {
			p.queue, p.direct = true, l.bit()
		}
	}
}

// balance gives each bucket of flows a link, by weighted rendezvous: when a
// link goes, only its own flows move.
func (b *Bond) balance(p *selection) {
	rank := b.rank(b.links[p.current], p)
	for i := range p.table {
		best := math.Inf(-1)
		for id, l := range b.links {
			if b.rank(l, p) != rank || rank >= rankMetered && id != p.current {
				continue
			}
			h := (uint64(i)<<32 | uint64(l.hash)) * 0x9E3779B97F4A7C15
			h ^= h >> 29
			h *= 0xBF58476D1CE4E5B9
			u := (float64(h>>12) + 0.5) / (1 << 52)
			// The cheaper a link, the closer to zero its score.
			if score := math.Log(u) * float64(max(l.config.Cost, 1)); score > best {
				best = score
				p.table[i] = uint8(id)
			}
		}
		p.targets |= 1 << p.table[i]
	}
}

// order keeps new frames from overtaking those that were sent before over
// other links.
func (b *Bond) order(p, old *selection) {
	if old.current < 0 {
		p.queue = p.waiting > 0
		p.moved = ^uint64(0)
		return
	}
	var left uint32 // links that flows were moved away from
	if p.policy == settings.BalanceFlow && old.policy == settings.BalanceFlow {
		for i := range p.table {
			if p.table[i] != old.table[i] {
				p.moved |= 1 << i
				left |= 1 << old.table[i]
			}
		}
	} else if p.targets&old.targets == 0 {
		p.moved, left = ^uint64(0), old.targets
	}
	if left == 0 {
		return
	}
	p.direct = 0
	p.queue = p.waiting > 0
	var skew time.Duration
	for id, l := range b.links {
		if l != nil && left&(1<<id) != 0 && l.usable() {
			skew = max(skew, l.srtt/2+4*l.rttvar-b.links[p.current].srtt/2)
		}
	}
	if skew > 0 && old.count > 0 {
		p.queue = true
		b.hold = max(b.hold, b.now+min(skew, maxHold, b.replayAge()/2))
		b.holdBelow = b.sequence
		if b.config.NoReplay {
			b.holdBelow = math.MaxUint64 // nobody knows what has arrived
		}
	}
}

// maxHold is how long frames wait at most for those that they would overtake.
const maxHold = 150 * time.Millisecond

// announce tells that the bond uses another link.
func (b *Bond) announce(was, is int, out *Output) {
	if was == is {
		return
	}
	b.urgent = true
	if is < 0 {
		out.Events = append(out.Events, status.Event{Time: b.time(), Type: "peer", State: status.Down, From: b.lastActive, Reason: "no link is usable"})
		return
	}
	l := b.links[is]
	if was < 0 {
		out.Events = append(out.Events, status.Event{Time: b.time(), Type: "peer", State: status.Up, Link: l.config.Name, Reason: "a link is usable"})
	}
	from := b.lastActive
	b.lastActive = l.config.Name
	if from == "" || from == l.config.Name {
		b.lastPriority = l.config.Priority
		return
	}
	event := status.Event{Time: b.time(), Type: "failover", Link: l.config.Name, From: from, State: l.state, Reason: b.reasonToLeave(from)}
	b.counters.Failovers++
	if l.config.Priority < b.lastPriority {
		b.counters.Returns++
		event.Type = "return"
	}
	b.lastPriority = l.config.Priority
	out.Events = append(out.Events, event)
}

// reasonToLeave says why the link of that name is not used any longer.
func (b *Bond) reasonToLeave(name string) string {
	id, ok := b.LinkID(name)
	switch {
	case !ok:
		return "removed"
	case b.manual >= 0 && b.now < b.manualUntil:
		return "by the administrator"
	case b.links[id].state == status.Up && b.links[id].overQuota:
		return "over its quota"
	case b.links[id].state == status.Up:
		return "a better link is usable"
	default:
		return b.links[id].reason
	}
}

// classMask is the set of links of those names; of all where there are none.
func (b *Bond) classMask(names []string) uint32 {
	if len(names) == 0 {
		return math.MaxUint32
	}
	var mask uint32
	for id, l := range b.links {
		if l != nil && slices.Contains(names, l.config.Name) {
			mask |= 1 << id
		}
	}
	return mask
}
