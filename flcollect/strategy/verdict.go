package strategy

import (
	"slices"
	"strings"
	"sync"
)

// Outcome is the result of the checks of an update.
type Outcome int

// The outcomes of updates.
const (
	Kept    Outcome = iota + 1 // it is part of the result unchanged
	Clipped                    // it is part of the result, clipped to the bound
	Refused                    // it is not part of the result
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

// Verdict is the outcome of the update of a client, with the reason.
type Verdict struct {
	// Client names the client.
	Client string
	// Outcome is the outcome of its update.
	Outcome Outcome
	// Norm is the distance of the update from the model, or NaN if it is not
	// known.
	Norm float64
	// Bound is the largest allowed norm, infinite if there was no bound.
	Bound float64
	// Counters is the distance of the integer layers from those of the model, if
	// Norm does not include them.
	Counters float64
	// Far is whether the update was kept unchanged although it exceeded a bound.
	Far bool
	// Reason is why the update was not kept, or which bound it exceeded. It is empty
	// for an update within its bounds.
	Reason string
}

// Verdicts are the verdicts on the updates of a round. They are safe for
// concurrent use. The zero value is empty.
type Verdicts struct {
	mu   sync.Mutex
	list []Verdict
}

// Note records a verdict.
func (v *Verdicts) Note(one Verdict) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, one)
}

// revise changes the recorded verdicts.
func (v *Verdicts) revise(change func(*Verdict)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.list {
		change(&v.list[i])
	}
}

// All returns the verdicts in the order of the clients' names.
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
