package strategy

import (
	"slices"
	"strings"
	"sync"
)

// Outcome is what became of an update.
type Outcome int

// The outcomes of updates.
const (
	Kept    Outcome = iota + 1 // it is part of the result as it was sent
	Clipped                    // it is part of the result in a shortened form
	Refused                    // it is no part of the result
)

// String returns "kept", "clipped" or "refused".
func (o Outcome) String() string {
	switch o {
	case Kept:
		return "kept"
	case Clipped:
		return "clipped"
	case Refused:
		return "refused"
	}
	return "undecided"
}

// Verdict is what became of the update of a client, and why.
type Verdict struct {
	// Client names the client.
	Client string
	// Outcome is what became of its update.
	Outcome Outcome
	// Norm is how far the update lay from the model, not a number where it could
	// not be told.
	Norm float64
	// Bound is how far it might lie, infinite where there was no bound.
	Bound float64
	// Counters is how far layers of whole numbers lay from those of the model, where
	// Norm leaves them out.
	Counters float64
	// Far is whether the update was kept as it was sent although it lay beyond a
	// bound.
	Far bool
	// Reason says why the update was not kept, or in what it was far; empty if there
	// is nothing to say.
	Reason string
}

// Verdicts are what became of the updates of a round, for strategies that report
// it. They may be used by several goroutines at once. The zero value is empty.
type Verdicts struct {
	mu   sync.Mutex
	list []Verdict
}

// Note adds a verdict.
func (v *Verdicts) Note(one Verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, one)
}

// revise changes the verdicts that there are.
func (v *Verdicts) revise(change func(*Verdict)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.list {
		change(&v.list[i])
	}
}

// All returns the verdicts in the order of the clients' names, whatever the order
// they came in.
func (v *Verdicts) All() []Verdict {
	v.mu.Lock()
	defer v.mu.Unlock()
	sorted := slices.Clone(v.list)
	slices.SortFunc(sorted, func(a, b Verdict) int {
		if order := strings.Compare(a.Client, b.Client); order != 0 {
			return order
		}
		if a.Outcome != b.Outcome {
			return int(a.Outcome) - int(b.Outcome)
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return sorted
}
