package audit

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Judging is a strategy that gives a verdict on every update.
type Judging interface {
	// Verdicts returns the verdicts of the last aggregation.
	Verdicts() []strategy.Verdict
}

// Attempt is an attempt at the fit phase of a round. It records the part of each client
// as the answers come.
type Attempt struct {
	// Round is the number of the round.
	Round int

	digests bool          // whether parameters are digested
	begun   bool          // whether clients were sent the model
	sent    func() string // waits for the digest of the model that was sent

	mu    sync.Mutex
	parts []*Part
}

// NewAttempt returns an attempt without clients. Digests has it digest the model and
// the updates.
func NewAttempt(round int, digests bool) *Attempt {
	return &Attempt{Round: round, digests: digests, sent: func() string { return "" }}
}

// Part is a client's part in an [Attempt]. It is safe for concurrent use.
type Part struct {
	attempt *Attempt
	session string
	report  client
}

// Add adds a client that was drawn, by its identity, the name that it gives itself, and
// that of its session.
func (a *Attempt) Add(identity, name, session string) *Part {
	p := &Part{attempt: a, session: session, report: client{Client: report.Client{
		Client: identity, Name: name, Session: excerpt.Client(session), Outcome: report.Failed, Reason: "it was not waited for",
	}}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts = append(a.parts, p)
	return p
}

// Send records that clients are sent a model. It digests the model, unless its digest is
// known, while the clients train.
func (a *Attempt) Send(known string, p flower.Parameters) {
	a.begun = true
	if !a.digests {
		return
	}
	if known != "" {
		a.sent = func() string { return known }
		return
	}
	made := make(chan string, 1)
	go func() { made <- p.Digest() }() // ends by itself
	a.sent = sync.OnceValue(func() string { return <-made })
}

// Follow records that clients are sent the model that another attempt has made, whose
// digest is known by the time at which result returns it.
func (a *Attempt) Follow(result func() string) {
	a.begun = true
	if a.digests {
		a.sent = result
	}
}

// Empty reports whether no client has a part.
func (a *Attempt) Empty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.parts) == 0
}

// Digests reports whether parameters are digested.
func (a *Attempt) Digests() bool { return a.digests }

// Begun reports whether clients were sent the model.
func (a *Attempt) Begun() bool { return a.begun }

// Sent returns the digest of the model that clients were sent; empty without digests.
func (a *Attempt) Sent() string { return a.sent() }

// Stale records how many versions were made while the client trained.
func (p *Part) Stale(versions int) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Staleness = &versions
}

// Received records an update before it is processed.
func (p *Part) Received(res *flower.FitRes) {
	digest := ""
	if p.attempt.digests {
		digest = res.Digest()
	}
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Examples, p.report.Update = res.NumExamples, digest
}

// Converted records what was converted in the update.
func (p *Part) Converted(list []report.Conversion) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Converted = list
}

// Compressed records that the client compressed its update.
func (p *Part) Compressed(how report.Compression) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Compressed = &how
}

// Dropped records how many local layers the update had, which were dropped.
func (p *Part) Dropped(layers int) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Dropped = layers
}

// Answered records the outcome; err is nil if the strategy took the update.
func (p *Part) Answered(err error) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	switch {
	case err == nil:
		p.report.Outcome, p.report.Reason = report.Kept, ""
	case errors.Is(err, strategy.ErrQuarantined):
		p.report.Outcome, p.report.Reason = report.Refused, excerpt.Reason(err)
		p.report.typed = errors.Is(err, tensor.ErrType)
	default:
		p.report.Outcome, p.report.Reason = report.Failed, excerpt.Reason(err)
	}
}

// LeftOut records that the update is no part of the result, though its client did nothing
// wrong.
func (p *Part) LeftOut(reason error) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Outcome, p.report.Reason, p.report.blameless = report.Failed, excerpt.Reason(reason), true
}

// Faulted records what else went wrong with a client whose update is part of the result.
func (p *Part) Faulted(reason error) {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.report.Reason, p.report.faulted = excerpt.Reason(reason), true
}

// Clients returns the parts of all clients, sorted, with the verdicts of a strategy
// that is [Judging].
func (a *Attempt) Clients(made strategy.Strategy) Clients {
	verdicts := map[string]strategy.Verdict{}
	if judging, ok := made.(Judging); ok {
		for _, v := range judging.Verdicts() {
			verdicts[v.Client] = v
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make(Clients, 0, len(a.parts))
	for _, part := range a.parts {
		c := part.report
		if v, ok := verdicts[part.session]; ok {
			c.Norm, c.Bound = finite(v.Norm), finite(v.Bound)
			if v.Counters > 0 {
				c.Counters = finite(v.Counters)
			}
			if c.Outcome == report.Kept {
				c.Outcome, c.Reason, c.Far = newOutcome(v.Outcome), excerpt.Cut(v.Reason, excerpt.MaxReason), v.Far
				c.late = c.Outcome == report.Refused
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b client) int {
		return cmp.Or(strings.Compare(a.Client.Client, b.Client.Client), strings.Compare(a.Session, b.Session),
			strings.Compare(a.Update, b.Update))
	})
	return list
}

// finite returns a number that JSON can hold, nil for others.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
