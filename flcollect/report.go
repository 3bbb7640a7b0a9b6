package flcollect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// ErrNoReport is returned for a round that has no report: it is not finished, or
// was finished before there were reports.
var ErrNoReport = errors.New("flcollect: the round has no report")

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

// ClientReport is a client's part in a round.
type ClientReport struct {
	// Client is who it is, as far as it can be known: "key:" and the SHA-256 of
	// the public key of its certificate, "name:" and what [Options].Identify
	// says, or "session:" and the name of its session.
	Client string `json:"client"`
	// Session is the name of its session.
	Session string `json:"session"`
	// Examples is the weight that it claimed.
	Examples int64 `json:"num_examples,omitempty"`
	// Update is the [Digest] of what it sent, empty if nothing came or the server
	// keeps no audit log.
	Update string `json:"update,omitempty"`
	// Outcome is what became of it, Reason why it was not kept, or what is
	// notable of one that was.
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
	// Far is whether an update that was kept as it was sent lay beyond the bound.
	Far bool `json:"far,omitempty"`
	// Norm is how far the update lay from the model, Bound how far it might; nil
	// where it was not measured, or where there was no bound.
	Norm  *float64 `json:"norm,omitempty"`
	Bound *float64 `json:"bound,omitempty"`
	// Counters is how far its layers of whole numbers lay from those of the model,
	// which Norm leaves out; nil if they did not move, or were not measured.
	Counters *float64 `json:"counters,omitempty"`
	// Converted says which layers were converted to the types of the model, nil if
	// none was.
	Converted []Conversion `json:"converted,omitempty"`
	// Reputation is what the job thinks of the client after the round, nil if it
	// has nothing against it.
	Reputation *Reputation `json:"reputation,omitempty"`

	// typed is whether the update was refused only for the type of its numbers.
	typed bool
	// late is whether the strategy refused the update at the end of the round.
	late bool
}

// blame is what a reputation remembers of the entry.
func (c ClientReport) blame() string {
	if c.Reason == "" {
		return string(c.Outcome)
	}
	return string(c.Outcome) + ": " + c.Reason
}

// RoundReport is what became of the updates of a finished round. It is for who
// runs the server: no privacy mechanism covers it.
type RoundReport struct {
	// Job, Run and Round say of which round.
	Job   string `json:"job"`
	Run   int64  `json:"run"`
	Round int    `json:"round"`
	// Time is when the updates had been aggregated.
	Time time.Time `json:"time"`
	// Aggregated is whether the round changed the model.
	Aggregated bool `json:"aggregated"`
	// Model is the [Digest] of the parameters that clients were sent, Result that
	// of those after the round; empty where the server keeps no audit log.
	Model  string `json:"model,omitempty"`
	Result string `json:"result,omitempty"`
	// Counts are the outcomes of all clients.
	Counts Counts `json:"outcomes"`
	// Clients are those that were asked for, in the order of their identities.
	Clients []ClientReport `json:"clients"`
	// Audit is the last line of the round in the audit log, nil without one.
	Audit *AuditRef `json:"audit,omitempty"`
}

// maxReport is how many clients a page of a report has at most.
const maxReport = 1000

// Report returns what became of the updates of a finished round of the job's
// current run: of up to limit clients, in the order of their identities, from the
// one after so many; a limit of 0 or less means 1000, which is also the most. The
// error matches [ErrNoReport] where there is none.
func (s *Server) Report(ctx context.Context, id string, round, after, limit int) (RoundReport, error) {
	report, err := s.report(ctx, id, round, max(after, 0), limit)
	if err != nil {
		return RoundReport{}, fmt.Errorf("report of round %d of job %q: %w", round, id, err)
	}
	return report, nil
}

func (s *Server) report(ctx context.Context, id string, number, after, limit int) (RoundReport, error) {
	if limit <= 0 || limit > maxReport {
		limit = maxReport
	}
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && (number < 1 || number > r.Round) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	doc, err := s.options.Documents.Get(ctx, roundKey(r.Token, number))
	if errors.Is(err, storage.ErrNotFound) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	var round Round
	if err := json.Unmarshal(doc.Data, &round); err != nil {
		return RoundReport{}, fmt.Errorf("read %q: %w", doc.Key, err)
	}
	part := func(k int) string { return reportKey(r.Token, number, k) }
	if round.Audit != nil {
		first := round.Audit.Line - int64(round.Audit.Lines-1)
		part = func(k int) string { return auditKey(id, first+int64(k)) }
	}
	line, err := s.auditLine(ctx, part(0))
	if errors.Is(err, storage.ErrNotFound) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	report := RoundReport{
		Job: line.Job, Run: line.Run, Round: line.Round, Time: line.Time, Aggregated: line.Aggregated,
		Model: line.Model, Result: line.Result, Counts: line.Counts, Audit: round.Audit, Clients: []ClientReport{},
	}
	for k, parts := after/auditPart, line.Parts; k < parts && len(report.Clients) < limit; k++ {
		if k > 0 {
			if line, err = s.auditLine(ctx, part(k)); err != nil {
				return RoundReport{}, err
			}
		}
		from := min(max(0, after-k*auditPart), len(line.Clients))
		report.Clients = append(report.Clients, line.Clients[from:]...)
	}
	report.Clients = report.Clients[:min(limit, len(report.Clients))]
	return report, nil
}

// auditLine reads a line of the audit log, or of a report that stands for itself.
func (s *Server) auditLine(ctx context.Context, key string) (AuditLine, error) {
	var line AuditLine
	doc, err := s.options.Documents.Get(ctx, key)
	if err != nil {
		return line, err
	}
	if err := json.Unmarshal(doc.Data, &line); err != nil {
		return line, fmt.Errorf("read %q: %w", key, err)
	}
	return line, nil
}

// attempt is a fit phase of which the parts are noted as they come.
type attempt struct {
	round  int
	digest bool          // whether updates are digested
	sent   func() string // digest of the model that was sent, once it is there
	mu     sync.Mutex
	parts  map[*client]*ClientReport
}

// newAttempt notes who was drawn. None of them has answered yet.
func newAttempt(round int, digest bool, clients []*client) *attempt {
	a := &attempt{round: round, digest: digest, sent: func() string { return "" }, parts: make(map[*client]*ClientReport, len(clients))}
	for _, c := range clients {
		a.parts[c] = &ClientReport{Client: c.identity, Session: short(c.session.ID(), maxClient), Outcome: Failed, Reason: "it was not waited for"}
	}
	return a
}

// sends begins to digest what clients are sent, while they train.
func (a *attempt) sends(known string, p flower.Parameters) {
	if !a.digest {
		return
	}
	if known != "" {
		a.sent = func() string { return known }
		return
	}
	made := make(chan string, 1)
	go func() { made <- Digest(p) }() // ends by itself
	a.sent = sync.OnceValue(func() string { return <-made })
}

// received notes an update before anything is done with it.
func (a *attempt) received(c *client, res *flower.FitRes) {
	digest := ""
	if a.digest {
		digest = Digest(res.Parameters)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts[c].Examples, a.parts[c].Update = res.NumExamples, digest
}

// converted notes what was converted in an update.
func (a *attempt) converted(c *client, list []Conversion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.parts[c].Converted = list
}

// answered notes what became of a client.
func (a *attempt) answered(c *client, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	part := a.parts[c]
	switch {
	case err == nil:
		part.Outcome, part.Reason = Kept, ""
	case errors.Is(err, strategy.ErrQuarantined):
		part.Outcome, part.Reason = Refused, short(err.Error(), maxReason)
		part.typed = errors.Is(err, tensor.ErrType)
	default:
		part.Outcome, part.Reason = Failed, short(err.Error(), maxReason)
	}
}

// entries returns what became of all clients, sorted, with the verdicts of a
// strategy that has some.
func (a *attempt) entries(made strategy.Strategy) []ClientReport {
	verdicts := map[string]strategy.Verdict{}
	if judge, ok := made.(judge); ok {
		for _, v := range judge.Verdicts() {
			verdicts[v.Client] = v
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]ClientReport, 0, len(a.parts))
	for c, part := range a.parts {
		entry := *part
		if v, ok := verdicts[c.session.ID()]; ok {
			entry.Norm, entry.Bound = measured(v.Norm), measured(v.Bound)
			if v.Counters > 0 {
				entry.Counters = measured(v.Counters)
			}
			if entry.Outcome == Kept {
				entry.Outcome, entry.Reason, entry.Far = outcomeOf(v.Outcome), short(v.Reason, maxReason), v.Far
				entry.late = entry.Outcome == Refused
			}
		}
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b ClientReport) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), strings.Compare(a.Session, b.Session), strings.Compare(a.Update, b.Update))
	})
	return list
}

// measured returns a number that JSON has, nil for others.
func measured(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
