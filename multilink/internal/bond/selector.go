package bond

import (
	"math"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink/internal/packet"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// selector chooses the links of every class, and reports when the bond changes its
// active link.
type selector struct {
	*core
	classes    []settings.Class
	selections []selection // of the defaults, then of the classes

	manual       int // link that the administrator prefers, or -1
	manualUntil  time.Duration
	lastActive   string
	lastPriority int
	reviewed     time.Duration // when links were chosen last
}

// A link's rank, to which these add up. The smaller one is used.
const (
	rankPoor      = 1  // beyond its limits of loss and delay
	rankMetered   = 4  // metered, and the class avoids metered links
	rankOverQuota = 8  // has carried its quota
	rankProbing   = 16 // still waits to be used again
	rankNone      = 1 << 10
)

// configure replaces the classes. A class that stays keeps its present link.
func (s *selector) configure(classes []settings.Class) {
	old, names := s.selections, s.classes
	s.classes = slices.Clone(classes)
	s.selections = make([]selection, 1+len(classes))
	s.selections[0] = selection{policy: defaultPolicy(s.config), copies: s.config.Copies, current: old[0].current}
	for i, c := range classes {
		next := newSelection(c, s.config)
		if was := slices.IndexFunc(names, func(n settings.Class) bool { return n.Name == c.Name }); was >= 0 {
			next.current = old[was+1].current
		}
		s.selections[i+1] = next
	}
}

// permit sets which links the classes may use.
func (s *selector) permit() {
	for i := range s.selections {
		var names []string
		if i > 0 {
			names = s.classes[i-1].Links
		}
		s.selections[i].allowed = s.mask(names)
	}
	s.stale = true
}

// known returns the class, or -1 where there is no such class.
func (s *selector) known(class int) int {
	if class < 0 || class >= len(s.classes) {
		return -1
	}
	return class
}

// of returns the selection of a class, and that of the defaults where there is no
// such class.
func (s *selector) of(class int) *selection {
	if class < -1 || class+1 >= len(s.selections) {
		class = -1
	}
	return &s.selections[class+1]
}

// prefer makes all classes use a link for a time, where they can. -1 ends it.
func (s *selector) prefer(id packet.LinkID, hold time.Duration) {
	s.manual, s.stale = int(id), true
	if id >= 0 {
		s.manualUntil = s.now + min(hold, never-s.now)
		s.wake(s.manualUntil)
	}
}

// review requests a new choice where one is due with time.
func (s *selector) review() {
	if s.manual >= 0 && s.now >= s.manualUntil {
		s.manual, s.stale = -1, true
	}
	if s.config.Reselect == settings.ReselectBetter && s.now-s.reviewed >= time.Second {
		s.stale = true // round trips change without an event
	}
}

// choose chooses links for all classes. It returns how long frames of the classes
// that moved have to wait for those that are under way on slower links.
func (s *selector) choose(out *Output) (skew time.Duration) {
	s.stale, s.reviewed = false, s.now
	was := s.selections[0].current
	var targets uint32
	for i := range s.selections {
		skew = max(skew, s.chooseFor(&s.selections[i]))
		targets |= s.selections[i].targets
	}
	for _, l := range s.slots() {
		if l != nil && l.carries != (targets&l.bit() != 0) {
			l.carries, s.urgent = !l.carries, true
			l.setLimits()
		}
	}
	s.announce(was, s.selections[0].current, out)
	return skew
}

// chooseFor sets the links of a class.
func (s *selector) chooseFor(sel *selection) (skew time.Duration) {
	old := *sel
	sel.current = s.best(sel)
	sel.targets, sel.count = 0, 0
	if sel.current < 0 {
		return 0
	}
	sel.targets, sel.count = s.links[sel.current].bit(), 1
	switch sel.policy {
	case settings.Redundant:
		s.addCopies(sel)
	case settings.Adaptive:
		s.double(sel, &old)
	case settings.BalanceFlow:
		s.balance(sel)
	}
	return s.keepOrder(sel, &old)
}

func (s *selector) rank(l *link, sel *selection) int {
	if l == nil || !l.usable() || sel.allowed&l.bit() == 0 {
		return rankNone
	}
	rank := 0
	if l.poor {
		rank += rankPoor
	}
	if l.config.Metered && !sel.metered {
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

// best returns the link that a class should use, or -1.
func (s *selector) best(sel *selection) int {
	if m := s.manual; m >= 0 && s.now < s.manualUntil {
		l := s.links[m]
		if l != nil && (l.state == status.Up || l.state == status.Suspect) && sel.allowed&l.bit() != 0 {
			return m
		}
	}
	best, rank := -1, rankNone
	for id, l := range s.slots() {
		r := s.rank(l, sel)
		if r < rank || (r == rank && r < rankNone && before(l, s.links[best])) {
			best, rank = id, r
		}
	}
	if sel.current < 0 || best < 0 || best == sel.current {
		return best
	}
	l, now := s.links[best], s.links[sel.current]
	if s.rank(now, sel) != rank {
		return best // the present link is gone, or worse
	}
	// Both would do: the administrator's setting decides.
	switch {
	case l.config.Priority > now.config.Priority, l.anyLate(), l.state == status.Probing,
		s.config.Reselect == settings.ReselectFailure,
		s.config.Reselect == settings.ReselectBetter && l.srtt > now.srtt:
		return sel.current
	}
	return best
}

// before reports whether l is to be preferred to another link of the same rank.
func before(l, other *link) bool {
	if l.anyLate() != other.anyLate() {
		return !l.anyLate()
	}
	return l.config.Priority < other.config.Priority
}

// addCopies adds links for copies.
func (s *selector) addCopies(sel *selection) {
	rank := s.rank(s.links[sel.current], sel)
	for sel.copies == 0 || sel.count < sel.copies {
		next := s.another(sel, rank|rankPoor)
		if next < 0 {
			return
		}
		sel.targets |= s.links[next].bit()
		sel.count++
	}
}

// another returns the best link that is not among the targets yet, and no worse than
// that rank; -1 without one. None is added to a last resort.
func (s *selector) another(sel *selection, worst int) int {
	best, rank := -1, rankMetered
	for id, l := range s.slots() {
		r := s.rank(l, sel)
		if r > worst || r >= rankMetered || sel.targets&(1<<id) != 0 {
			continue
		}
		if best < 0 || r < rank || (r == rank && before(l, s.links[best])) {
			best, rank = id, r
		}
	}
	return best
}

// double adds a second link while the first is suspect. What the first may have
// lost goes over the second as well, ahead of new frames.
func (s *selector) double(sel, old *selection) {
	l := s.links[sel.current]
	if !l.anyLate() && !l.poor {
		return
	}
	next := s.another(sel, rankPoor)
	if next < 0 {
		return
	}
	sel.targets |= s.links[next].bit()
	sel.count++
	if old.count == 1 && old.current == sel.current && l.anyLate() {
		sel.copyOf = l.bit()
	}
}

// balance gives each bucket of flows a link, by weighted rendezvous: when a link
// goes, only its own flows move.
func (s *selector) balance(sel *selection) {
	rank := s.rank(s.links[sel.current], sel)
	for i := range sel.table {
		best := math.Inf(-1)
		for id, l := range s.slots() {
			if s.rank(l, sel) != rank || (rank >= rankMetered && id != sel.current) {
				continue
			}
			h := (uint64(i)<<32 | uint64(l.hash)) * 0x9E3779B97F4A7C15
			h ^= h >> 29
			h *= 0xBF58476D1CE4E5B9
			u := (float64(h>>12) + 0.5) / (1 << 52)
			// The cheaper a link, the closer to zero its score.
			if score := math.Log(u) * float64(max(l.config.Cost, 1)); score > best {
				best = score
				sel.table[i] = uint8(id)
			}
		}
		sel.targets |= 1 << sel.table[i]
	}
}

// keepOrder makes new frames queue where they would overtake those that were sent
// before over other links. It returns how much slower these links are.
func (s *selector) keepOrder(sel, old *selection) (skew time.Duration) {
	if old.current < 0 {
		sel.queue = sel.waiting > 0
		sel.moved = ^uint64(0)
		return 0
	}
	var left uint32 // links that flows were moved away from
	if sel.policy == settings.BalanceFlow && old.policy == settings.BalanceFlow {
		for i := range sel.table {
			if sel.table[i] != old.table[i] {
				sel.moved |= 1 << i
				left |= 1 << old.table[i]
			}
		}
	} else if sel.targets&old.targets == 0 {
		sel.moved, left = ^uint64(0), old.targets
	}
	if left == 0 {
		return 0
	}
	sel.direct = 0
	sel.queue = sel.waiting > 0
	for id, l := range s.slots() {
		if l != nil && left&(1<<id) != 0 && l.usable() {
			skew = max(skew, l.srtt/2+4*l.rttvar-s.links[sel.current].srtt/2)
		}
	}
	if skew <= 0 || old.count == 0 {
		return 0
	}
	sel.queue = true
	return skew
}

// announce reports that the bond uses another link.
func (s *selector) announce(was, is int, out *Output) {
	if was == is {
		return
	}
	s.urgent = true
	if is < 0 {
		out.Events = append(out.Events, status.Event{
			Time: s.wall, Type: "peer", State: status.Down, From: s.lastActive, Reason: "no link is usable",
		})
		return
	}
	l := s.links[is]
	if was < 0 {
		out.Events = append(out.Events, status.Event{
			Time: s.wall, Type: "peer", State: status.Up, Link: l.config.Name, Reason: "a link is usable",
		})
	}
	from := s.lastActive
	s.lastActive = l.config.Name
	if from == "" || from == l.config.Name {
		s.lastPriority = l.config.Priority
		return
	}
	event := status.Event{
		Time: s.wall, Type: "failover", Link: l.config.Name, From: from,
		State: l.state, Reason: s.reasonToLeave(from),
	}
	s.counters.Failovers++
	if l.config.Priority < s.lastPriority {
		s.counters.Returns++
		event.Type = "return"
	}
	s.lastPriority = l.config.Priority
	out.Events = append(out.Events, event)
}

// reasonToLeave returns why the link of that name is not used any longer, for people.
func (s *selector) reasonToLeave(name string) string {
	id, ok := s.LinkID(name)
	switch {
	case !ok:
		return "removed"
	case s.manual >= 0 && s.now < s.manualUntil:
		return "by the administrator"
	case s.links[id].state == status.Up && s.links[id].overQuota:
		return "over its quota"
	case s.links[id].state == status.Up:
		return "a better link is usable"
	default:
		return s.links[id].reason
	}
}
