package flcollect

import (
	"fmt"
	"strings"
)

// Counts are how many clients of a round had which outcome.
type Counts struct {
	Kept    int `json:"kept"`
	Clipped int `json:"clipped"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
	// Far is how many of those that were kept lay beyond the bound, Converted how
	// many of those that came had layers of another type than the model.
	Far       int `json:"far,omitempty"`
	Converted int `json:"converted,omitempty"`
}

// Total is how many clients were drawn.
func (c Counts) Total() int { return c.Kept + c.Clipped + c.Refused + c.Failed }

// countOutcomes counts entries by their outcomes.
func countOutcomes(entries []ClientReport) Counts {
	var c Counts
	for _, e := range entries {
		switch e.Outcome {
		case Kept:
			c.Kept++
		case Clipped:
			c.Clipped++
		case Refused:
			c.Refused++
		case Failed:
			c.Failed++
		}
		if e.Far {
			c.Far++
		}
		if len(e.Converted) > 0 {
			c.Converted++
		}
	}
	return c
}

// Updates are what became of the updates of a round, or of all rounds of a run.
type Updates struct {
	Counts
	// Conversions are by their types, nil if no update was converted.
	Conversions []Conversion `json:"conversions,omitempty"`
}

// IsZero reports whether no client was drawn.
func (u Updates) IsZero() bool { return u.Total() == 0 }

// plus returns the sum of both.
func (u Updates) plus(more Updates) Updates {
	u.Kept += more.Kept
	u.Clipped += more.Clipped
	u.Refused += more.Refused
	u.Failed += more.Failed
	u.Far += more.Far
	u.Converted += more.Converted
	u.Conversions = addConversions(u.Conversions, more.Conversions)
	return u
}

// updatesOf sums up the entries of a round.
func updatesOf(entries []ClientReport) Updates {
	u := Updates{Counts: countOutcomes(entries)}
	for _, e := range entries {
		u.Conversions = addConversions(u.Conversions, e.Converted)
	}
	return u
}

// covered returns what may be shown of a private round. How many updates the server
// has cut is how many clients were beyond the clip norm, which epsilon does not cover.
func (u Updates) covered() Updates {
	u.Kept, u.Clipped = u.Kept+u.Clipped, 0
	return u
}

// String returns a text such as "4 kept (1 of them far), 1 clipped, 0 refused, 0
// failed; 2 converted: float64 to float32 in 4 layers", and nothing for nothing.
func (u Updates) String() string {
	if u.IsZero() {
		return ""
	}
	far := ""
	if u.Far > 0 {
		far = fmt.Sprintf(" (%d of them far)", u.Far)
	}
	text := fmt.Sprintf("%d kept%s, %d clipped, %d refused, %d failed", u.Kept, far, u.Clipped, u.Refused, u.Failed)
	if u.Converted > 0 {
		text += fmt.Sprintf("; %d converted: %s", u.Converted, conversionsText(u.Conversions))
	}
	return text
}

func conversionsText(list []Conversion) string {
	kinds := make([]string, len(list))
	for i, c := range list {
		kinds[i] = c.String()
	}
	return strings.Join(kinds, ", ")
}

// notes are sentences about what a user may not expect of the updates.
func (u Updates) notes() []string {
	var notes []string
	say := func(n int, what string) {
		switch {
		case n == 1:
			notes = append(notes, "fit: 1 update "+what)
		case n > 1:
			notes = append(notes, fmt.Sprintf("fit: %d updates %s", n, what))
		}
	}
	say(u.Clipped, "cut to the norm bound")
	say(u.Far, "beyond the norm bound and kept whole")
	if u.Converted > 0 {
		say(u.Converted, "converted: "+conversionsText(u.Conversions))
	}
	return notes
}
