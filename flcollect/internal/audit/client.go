package audit

import (
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// newOutcome translates the verdict of a strategy.
func newOutcome(o strategy.Outcome) report.Outcome {
	switch o {
	case strategy.Clipped:
		return report.Clipped
	case strategy.Refused:
		return report.Refused
	}
	return report.Kept
}

// client is a client's part in a round, and what else counts for its reputation.
type client struct {
	report.Client

	// typed is whether the update was refused only for the type of its numbers.
	typed bool
	// blameless is whether the update failed through no fault of its client, faulted
	// whether something else did with an update that was kept.
	blameless, faulted bool
	// late is whether the strategy refused the update at the end of the round.
	late bool
}

// Clients are the parts of the clients of a round.
type Clients []client

// Reports returns the parts as they are stored.
func (c Clients) Reports() []report.Client {
	reports := make([]report.Client, len(c))
	for i, part := range c {
		reports[i] = part.Client
	}
	return reports
}

// Late returns those that the strategy refused at the end of the round.
func (c Clients) Late() []report.Client {
	var late []report.Client
	for _, part := range c {
		if part.late {
			late = append(late, part.Client)
		}
	}
	return late
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

// part returns what counts for the client's reputation. The type of its numbers does
// not: a client that computes with another type is no attacker.
func (c client) part() reputation.Part {
	p := reputation.Part{Client: c.Client.Client, Reason: string(c.Outcome)}
	if c.Reason != "" {
		p.Reason += ": " + c.Reason
	}
	switch {
	case c.Outcome == report.Failed && !c.blameless, c.faulted:
		p.Fault = reputation.Failed
	case c.Outcome == report.Refused && !c.typed:
		p.Fault = reputation.Refused
	case c.Outcome == report.Clipped:
		p.Fault = reputation.Clipped
	}
	if c.Outcome == report.Kept || c.Outcome == report.Clipped {
		p.Norm = c.Norm
	}
	return p
}

// Judge applies the rule of reputation to the clients of a round, notes their
// reputations in the reports, and returns how many clients it suspends.
func Judge(table *reputation.Table, round int, clients Clients) (suspended int) {
	parts := make([]reputation.Part, len(clients))
	for i, c := range clients {
		parts[i] = c.part()
	}
	suspended = table.Judge(round, parts)
	for i, c := range clients {
		if r, ok := table.Reputation(c.Client.Client); ok {
			clients[i].Reputation = &r
		}
	}
	return suspended
}
