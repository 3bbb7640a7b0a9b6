package audit

import (
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Outcome is what became of a client's part in a round.
type Outcome string

// The outcomes.
const (
	// Kept is an update that is part of the result as it was sent.
	Kept Outcome = "kept"
	// Clipped is an update that is part of the result in a shortened form.
	Clipped Outcome = "clipped"
	// Refused is an update that is no part of the result.
	Refused Outcome = "refused"
	// Failed is an update that did not come.
	Failed Outcome = "failed"
)

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

// ClientReport is a client's part in a round.
type ClientReport struct {
	// Client is the identity of the client: "key:" and the SHA-256 of the public key
	// of its certificate, "name:" and the name that the program gives it, or
	// "session:" and the name of its session.
	Client string `json:"client"`
	// Name is the name that the client gives itself, which proves nothing; empty if it
	// gives none.
	Name string `json:"name,omitempty"`
	// Session is the name of its session.
	Session string `json:"session"`
	// Examples is the weight that it claimed.
	Examples int64 `json:"num_examples,omitempty"`
	// Update is the [Digest] of what it sent, empty if no update came or the server
	// keeps no audit log.
	Update string `json:"update,omitempty"`
	// Outcome is what became of the update, Reason why it was not kept, or what is
	// notable of one that was.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Far is whether an update that was kept as it was sent lay beyond the bound.
	Far bool `json:"far,omitempty"`
	// Norm is how far the update lay from the model, Bound how far it was allowed to;
	// nil where it was not measured, or where there was no bound.
	Norm  *float64 `json:"norm,omitempty"`
	Bound *float64 `json:"bound,omitempty"`
	// Counters is how far its layers of whole numbers lay from those of the model,
	// which Norm leaves out; nil if they did not move, or were not measured.
	Counters *float64 `json:"counters,omitempty"`
	// Converted lists the layers that were converted to the types of the model, nil
	// if none was.
	Converted []Conversion `json:"converted,omitempty"`
	// Dropped is how many layers the update had that should have stayed at the client, and
	// were dropped.
	Dropped int `json:"dropped,omitempty"`
	// Compressed is how the client compressed the update, nil if it did not.
	Compressed *Compression `json:"compressed,omitempty"`
	// Staleness is how many versions of an asynchronous job were made while the client
	// trained; nil in a round.
	Staleness *int `json:"staleness,omitempty"`
	// Reputation is the reputation of the client after the round, nil if it is that
	// of a client without fault.
	Reputation *reputation.Reputation `json:"reputation,omitempty"`

	// typed is whether the update was refused only for the type of its numbers.
	typed bool
	// blameless is whether the update failed through no fault of its client, faulted
	// whether something else did with an update that was kept.
	blameless, faulted bool
	// late is whether the strategy refused the update at the end of the round.
	late bool
}

// Label returns the name of a client: that of its token or certificate, or else the
// one that it gives itself. It is empty for a client that has only an address.
func Label(name, session string) string {
	proven, address, cut := strings.Cut(session, "@")
	if !cut {
		proven, address = "", session
	}
	if !strings.HasPrefix(address, "ipv4:") && !strings.HasPrefix(address, "ipv6:") {
		proven = session
	}
	switch {
	case proven == "":
		return name
	case name == "" || name == proven:
		return proven
	}
	return name + " (" + proven + ")"
}

// Late reports whether the strategy refused the update at the end of the round.
func (c ClientReport) Late() bool { return c.late }

// part returns what counts for the client's reputation. The type of its numbers does
// not: a client that computes with another type is no attacker.
func (c ClientReport) part() reputation.Part {
	p := reputation.Part{Client: c.Client, Reason: string(c.Outcome)}
	if c.Reason != "" {
		p.Reason += ": " + c.Reason
	}
	switch {
	case c.Outcome == Failed && !c.blameless, c.faulted:
		p.Fault = reputation.Failed
	case c.Outcome == Refused && !c.typed:
		p.Fault = reputation.Refused
	case c.Outcome == Clipped:
		p.Fault = reputation.Clipped
	}
	if c.Outcome == Kept || c.Outcome == Clipped {
		p.Norm = c.Norm
	}
	return p
}

// Judge applies the rule of reputation to the clients of a round, notes their
// reputations in the reports, and returns how many clients it suspends.
func Judge(table *reputation.Table, round int, clients []ClientReport) (suspended int) {
	parts := make([]reputation.Part, len(clients))
	for i, c := range clients {
		parts[i] = c.part()
	}
	suspended = table.Judge(round, parts)
	for i, c := range clients {
		if r, ok := table.Of(c.Client); ok {
			clients[i].Reputation = &r
		}
	}
	return suspended
}
