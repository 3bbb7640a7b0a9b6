package flcollect

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// The rule of reputation. A score is what a client has cost lately: each round in
// which it takes part leaves 0.8 of it and adds what the round has cost. Failures
// alone, as connections at the edge have them, come to 2 at most; a client that
// answers every second time comes to 1.1.
const (
	scoreKept   = 0.8
	costFailed  = 0.4
	costClipped = 0.5
	costRefused = 1.0
	// scoreSuspended is from which score on a client is suspended, and
	// scoreProbation what it comes back with.
	scoreSuspended = 1.5
	scoreProbation = 1.0
	// A suspension lasts shortSuspension rounds, for bad updates twice as many each
	// time, up to longSuspension. goodRounds without fault take one doubling back.
	shortSuspension = 2
	longSuspension  = 64
	goodRounds      = 10
	// farOut is in medians of a round how far beyond its bound an update counts
	// against its client: a bound that most clients feel is not their fault.
	farOut = 3
	// forgotten is the score of which nobody needs to know.
	forgotten = 0.01
	// maxReputations is how many clients with a score are remembered, the worst.
	maxReputations = 4096
)

// Reputation is what a job thinks of a client. The zero value is that of a client
// without fault.
type Reputation struct {
	// Score is what the client has cost lately; from 1.5 on it is suspended.
	Score float64 `json:"score"`
	// Until is the last round of its suspension, 0 if it has never been suspended.
	Until int `json:"suspended_until,omitempty"`
	// Level is how many times its suspension was doubled, Good how many rounds
	// without fault there were since.
	Level int `json:"level,omitempty"`
	Good  int `json:"good,omitempty"`
	// Round is the last round that cost something, Reason what it was.
	Round  int    `json:"round,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Suspended reports whether the client is drawn for a round only where there are
// too few others.
func (r Reputation) Suspended(round int) bool { return round <= r.Until }

// after returns the reputation after a round.
func (r Reputation) after(round int, cost float64, malice bool, reason string) Reputation {
	r.Score = r.Score*scoreKept + cost
	if cost == 0 {
		if r.Good++; r.Good >= goodRounds {
			r.Level, r.Good = max(0, r.Level-1), 0
		}
		return r
	}
	r.Good, r.Round, r.Reason = 0, round, short(reason, maxClient)
	if r.Score < scoreSuspended {
		return r
	}
	length := shortSuspension
	if malice {
		length = min(shortSuspension<<r.Level, longSuspension)
		if length < longSuspension {
			r.Level++
		}
	}
	r.Until, r.Score = max(r.Until, round+length), scoreProbation
	return r
}

// Suspension is a client that is drawn only where there are too few others.
type Suspension struct {
	// Client is the identity of the client.
	Client string `json:"client"`
	// Until is the last round of the suspension.
	Until int `json:"until"`
	// Reason says what came last.
	Reason string `json:"reason"`
}

// reputations are those of the clients of a job. They may be used by several
// goroutines at once.
type reputations struct {
	mu    sync.Mutex
	known map[string]Reputation
	slot  int // where they were stored last
	dirty bool
}

func newReputations() *reputations { return &reputations{known: map[string]Reputation{}} }

// adopt replaces what is known by what was stored.
func (r *reputations) adopt(stored *reputations) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.slot, r.dirty = stored.known, stored.slot, stored.dirty
}

// any reports whether anybody is suspended in a round.
func (r *reputations) any(round int) bool { return len(r.suspended(round, 1)) > 0 }

// of returns what is known of a client.
func (r *reputations) of(client string) Reputation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[client]
}

// judge takes in a round: a client several times if it had several sessions, of
// which the worst counts. It notes in the entries what became of the reputations,
// and returns how many clients were suspended.
func (r *reputations) judge(round int, entries []ClientReport) (suspended int) {
	typical := typicalNorm(entries)
	worst := map[string]int{}
	for i, e := range entries {
		if other, ok := worst[e.Client]; !ok || cost(e, typical) > cost(entries[other], typical) {
			worst[e.Client] = i
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for client, i := range worst {
		before := r.known[client]
		c := cost(entries[i], typical)
		if c == 0 && before == (Reputation{}) {
			continue
		}
		after := before.after(round, c, entries[i].Outcome != Failed, entries[i].blame())
		if after.Until > before.Until {
			suspended++
		}
		r.known[client], r.dirty = after, true
		if after.Score < forgotten && after.Level == 0 && !after.Suspended(round+1) {
			delete(r.known, client)
		}
	}
	r.trim(round)
	for i := range entries {
		if known, ok := r.known[entries[i].Client]; ok {
			entries[i].Reputation = &known
		}
	}
	return suspended
}

// trim forgets the best where there are too many.
func (r *reputations) trim(round int) {
	if len(r.known) <= maxReputations {
		return
	}
	clients := make([]string, 0, len(r.known))
	for client := range r.known {
		clients = append(clients, client)
	}
	slices.SortFunc(clients, func(a, b string) int { return worse(r.known[a], r.known[b], a, b) })
	for _, client := range clients[maxReputations:] {
		delete(r.known, client)
	}
}

// worse orders reputations, the worst first.
func worse(a, b Reputation, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b.Until, a.Until), cmp.Compare(b.Level, a.Level), cmp.Compare(b.Score, a.Score), strings.Compare(nameA, nameB))
}

// suspended returns up to limit clients that are suspended in a round, the longest
// first; nil if there are none.
func (r *reputations) suspended(round, limit int) []Suspension {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []Suspension
	for client, known := range r.known {
		if known.Suspended(round) {
			list = append(list, Suspension{Client: client, Until: known.Until, Reason: known.Reason})
		}
	}
	slices.SortFunc(list, func(a, b Suspension) int {
		return cmp.Or(cmp.Compare(b.Until, a.Until), strings.Compare(a.Client, b.Client))
	})
	return list[:min(len(list), limit)]
}

// cost is what an outcome adds to the score of its client. That an update lies far
// and was kept costs nothing, and neither does the type of its numbers: a client
// that computes with others is no attacker.
func cost(e ClientReport, typical float64) float64 {
	switch {
	case e.typed:
		return 0
	case e.Outcome == Failed:
		return costFailed
	case e.Outcome == Refused:
		return costRefused
	case e.Outcome == Clipped && e.Norm != nil && *e.Norm > farOut*typical:
		return costClipped
	}
	return 0
}

// typicalNorm is the median of the norms of a round, the lower of two.
func typicalNorm(entries []ClientReport) float64 {
	var norms []float64
	for _, e := range entries {
		if e.Norm != nil && (e.Outcome == Kept || e.Outcome == Clipped) {
			norms = append(norms, *e.Norm)
		}
	}
	if len(norms) == 0 {
		return 0
	}
	slices.Sort(norms)
	return norms[(len(norms)-1)/2]
}

// outcomeOf translates the verdict of a strategy.
func outcomeOf(o strategy.Outcome) Outcome {
	switch o {
	case strategy.Clipped:
		return Clipped
	case strategy.Refused:
		return Refused
	}
	return Kept
}
