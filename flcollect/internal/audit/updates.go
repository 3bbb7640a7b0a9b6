package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Counts counts the clients of a round by outcome.
type Counts struct {
	Kept    int `json:"kept"`
	Clipped int `json:"clipped"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
	// Far counts the updates that were kept beyond the bound, Converted those with
	// layers of another type than the model.
	Far       int `json:"far,omitempty"`
	Converted int `json:"converted,omitempty"`
}

// Total returns how many clients were drawn.
func (c Counts) Total() int { return c.Kept + c.Clipped + c.Refused + c.Failed }

// CountOutcomes counts clients by their outcomes.
func CountOutcomes(clients []ClientReport) Counts {
	var c Counts
	for _, e := range clients {
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

// Updates sums up the updates of a round, or of all rounds of a run.
type Updates struct {
	Counts
	// Conversions are in the order of their types, nil if no update was converted.
	Conversions []Conversion `json:"conversions,omitempty"`
}

// IsZero reports whether no client was drawn.
func (u Updates) IsZero() bool { return u.Total() == 0 }

// Plus returns the sum of both.
func (u Updates) Plus(more Updates) Updates {
	u.Kept += more.Kept
	u.Clipped += more.Clipped
	u.Refused += more.Refused
	u.Failed += more.Failed
	u.Far += more.Far
	u.Converted += more.Converted
	u.Conversions = AddConversions(u.Conversions, more.Conversions)
	return u
}

// Sum sums up the clients of a round.
func Sum(clients []ClientReport) Updates {
	u := Updates{Counts: CountOutcomes(clients)}
	for _, e := range clients {
		u.Conversions = AddConversions(u.Conversions, e.Converted)
	}
	return u
}

// Covered returns what may be shown of a private round, in which updates that the server
// has cut count as kept: the number of clients beyond the clip norm is not covered by
// epsilon.
func (u Updates) Covered() Updates {
	u.Kept, u.Clipped = u.Kept+u.Clipped, 0
	return u
}

// String returns a text such as "4 kept (1 of them far), 1 clipped, 0 refused, 0
// failed; 2 converted: float64 to float32 in 4 layers", and no text for the zero value.
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
		text += fmt.Sprintf("; %d converted: %s", u.Converted, ConversionsText(u.Conversions))
	}
	return text
}

// ConversionsText returns conversions as one text.
func ConversionsText(list []Conversion) string {
	kinds := make([]string, len(list))
	for i, c := range list {
		kinds[i] = c.String()
	}
	return strings.Join(kinds, ", ")
}

// Notes returns sentences about what a user may not expect of the updates. Clients are
// those that were drawn; the first of each kind is named.
func (u Updates) Notes(clients []ClientReport) []string {
	var notes []string
	say := func(n int, what string, is func(ClientReport) bool) {
		switch {
		case n == 1:
			what = "fit: 1 update " + what
		case n > 1:
			what = fmt.Sprintf("fit: %d updates %s", n, what)
		default:
			return
		}
		if i := slices.IndexFunc(clients, is); i >= 0 {
			what += fmt.Sprintf(", the first that of %q", clients[i].Session)
		}
		notes = append(notes, what)
	}
	say(u.Clipped, "cut to the norm bound", func(c ClientReport) bool { return c.Outcome == Clipped })
	say(u.Far, "beyond the norm bound and kept whole", func(c ClientReport) bool { return c.Far })
	say(u.Converted, "converted: "+ConversionsText(u.Conversions), func(ClientReport) bool { return false })
	return notes
}
