package report

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
	// Compressed counts the updates that came compressed.
	Compressed int `json:"compressed,omitempty"`
	// Dropped counts the updates with local layers, which were dropped.
	Dropped int `json:"dropped,omitempty"`
}

// Total returns how many clients were drawn.
func (c Counts) Total() int { return c.Kept + c.Clipped + c.Refused + c.Failed }

// CountOutcomes counts clients by their outcomes.
func CountOutcomes(clients []Client) Counts {
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
		if e.Compressed != nil {
			c.Compressed++
		}
		if e.Dropped > 0 {
			c.Dropped++
		}
	}
	return c
}

// Updates sums up the updates of a round, or of all rounds of a run.
type Updates struct {
	Counts
	// Conversions are in the order of their types, nil if no update was converted.
	Conversions []Conversion `json:"conversions,omitempty"`
	// Compressions are in the order of their kinds, nil if no update came compressed.
	Compressions []Compression `json:"compressions,omitempty"`
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
	u.Compressed += more.Compressed
	u.Dropped += more.Dropped
	u.Conversions = AddConversions(u.Conversions, more.Conversions)
	u.Compressions = addCompressions(u.Compressions, more.Compressions)
	return u
}

// Sum sums up the clients of a round.
func Sum(clients []Client) Updates {
	u := Updates{Counts: CountOutcomes(clients)}
	for _, e := range clients {
		u.Conversions = AddConversions(u.Conversions, e.Converted)
		if e.Compressed != nil {
			u.Compressions = addCompressions(u.Compressions, []Compression{*e.Compressed})
		}
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
	if u.Compressed > 0 {
		text += fmt.Sprintf("; %d compressed: %s", u.Compressed, compressionsText(u.Compressions))
	}
	if u.Dropped > 0 {
		text += fmt.Sprintf("; %d with local layers, which were dropped", u.Dropped)
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
func (u Updates) Notes(clients []Client) []string {
	var notes []string
	say := func(n int, what string, is func(Client) bool) {
		if n == 0 {
			return
		}
		count, of := "1 update", ", that of %q"
		if n > 1 {
			count, of = fmt.Sprintf("%d updates", n), ", the first of %q"
		}
		note := "fit: " + count + " " + what
		if i := slices.IndexFunc(clients, is); i >= 0 {
			note += fmt.Sprintf(of, clients[i].Session)
		}
		notes = append(notes, note)
	}
	say(u.Clipped, "cut to the norm bound", func(c Client) bool { return c.Outcome == Clipped })
	say(u.Far, "beyond the norm bound and kept whole", func(c Client) bool { return c.Far })
	say(u.Converted, "converted: "+ConversionsText(u.Conversions), func(Client) bool { return false })
	say(u.Dropped, "with local layers, which left the client and were dropped", func(c Client) bool { return c.Dropped > 0 })
	kinds, n := notable(u.Compressions)
	say(n, "compressed by the clients: "+compressionsText(kinds), func(Client) bool { return false })
	return notes
}
