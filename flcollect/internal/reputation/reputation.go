package reputation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/report"
)

// The rule of reputation. A score is the recent cost of a client: each round in which
// it takes part leaves 0.8 of the score and adds the cost of the round. Failures alone,
// as connections at the edge have them, come to 2 at most; a client that answers every
// second time comes to 1.1.
const (
	scoreKept   = 0.8
	costFailed  = 0.4
	costClipped = 0.5
	costRefused = 1.0
	// scoreSuspended is the score from which a client is suspended, and
	// scoreProbation the score with which it returns.
	scoreSuspended = 1.5
	scoreProbation = 1.0
	// A suspension lasts shortSuspension rounds, for bad updates twice as many each
	// time, up to longSuspension. goodRounds rounds without fault undo one doubling.
	shortSuspension = 2
	longSuspension  = 64
	goodRounds      = 10
	// farOut is in medians of a round how far beyond its bound an update counts
	// against its client: a bound that cuts most updates is not the clients' fault.
	farOut = 3
	// forgotten is the score below which a client is forgotten.
	forgotten = 0.01
	// maxClients bounds the clients that are remembered: those with the worst scores.
	maxClients = 4096
)

// after returns a reputation after a round.
func after(r report.Reputation, round int, cost float64, p Part) report.Reputation {
	r.Score = r.Score*scoreKept + cost
	if cost == 0 {
		if r.Good++; r.Good >= goodRounds {
			r.Level, r.Good = max(0, r.Level-1), 0
		}
		return r
	}
	r.Good, r.Round, r.Reason = 0, round, excerpt.Client(p.Reason)
	if r.Score < scoreSuspended {
		return r
	}
	length := shortSuspension
	if p.Fault != Failed {
		length = min(shortSuspension<<r.Level, longSuspension)
		if length < longSuspension {
			r.Level++
		}
	}
	r.Until, r.Score = max(r.Until, round+length), scoreProbation
	return r
}

// Compare orders clients by their reputations, the worst first.
func Compare(a, b report.Reputation, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b.Until, a.Until), cmp.Compare(b.Level, a.Level), cmp.Compare(b.Score, a.Score),
		strings.Compare(nameA, nameB))
}

// Fault is what a client's part in a round counts as.
type Fault int

// The faults.
const (
	None    Fault = iota // the update is part of the result, or its client is not to blame
	Failed               // no update came
	Clipped              // the update was cut
	Refused              // the update was refused
)

// Part is a client's part in a round.
type Part struct {
	// Client is the identity of the client.
	Client string
	Fault  Fault
	// Norm is how far an update that is part of the result lay from the model; nil
	// for others, and where it was not measured.
	Norm *float64
	// Reason says what the fault was.
	Reason string
}

// cost returns what a part adds to the score of its client. An update that lies far and
// is kept whole costs nothing.
func (p Part) cost(typical float64) float64 {
	switch {
	case p.Fault == Failed:
		return costFailed
	case p.Fault == Refused:
		return costRefused
	case p.Fault == Clipped && p.Norm != nil && *p.Norm > farOut*typical:
		return costClipped
	}
	return 0
}

// typicalNorm returns the median of the norms of a round, the lower of two.
func typicalNorm(parts []Part) float64 {
	var norms []float64
	for _, p := range parts {
		if p.Norm != nil {
			norms = append(norms, *p.Norm)
		}
	}
	if len(norms) == 0 {
		return 0
	}
	slices.Sort(norms)
	return norms[(len(norms)-1)/2]
}
