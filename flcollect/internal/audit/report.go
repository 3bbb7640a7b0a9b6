package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// ErrNoReport is returned for a round that has no report: it is not finished, or was
// finished before there were reports.
var ErrNoReport = errors.New("flcollect: the round has no report")

// RoundReport is what became of the updates of a finished round. It is meant for the
// operator of the server: no privacy mechanism covers it.
type RoundReport struct {
	// Job, Run and Round name the round.
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
	// Counts counts the outcomes of all clients.
	Counts Counts `json:"outcomes"`
	// Clients are those that were drawn, in the order of their identities.
	Clients []ClientReport `json:"clients"`
	// Audit is the last line of the round in the audit log, nil without one.
	Audit *Ref `json:"audit,omitempty"`
}

// MaxReport is how many clients a page of a report has at most.
const MaxReport = 1000

// ReadReport returns the report of a round of a run, with up to limit clients from the
// one after so many; a limit of 0 or less means [MaxReport], which is also the most. Ref
// is the last line of the round in the audit log, nil without one. The error matches
// [ErrNoReport] where there is no report.
func ReadReport(ctx context.Context, documents storage.Documents, run Run, round int, ref *Ref, after, limit int) (RoundReport, error) {
	if limit <= 0 || limit > MaxReport {
		limit = MaxReport
	}
	part := func(k int) string { return reportKey(run.Token, round, k) }
	if ref != nil {
		first := ref.Line - int64(ref.Lines-1)
		part = func(k int) string { return lineKey(run.Job, first+int64(k)) }
	}
	line, err := readLine(ctx, documents, part(0))
	if errors.Is(err, storage.ErrNotFound) {
		return RoundReport{}, ErrNoReport
	}
	if err != nil {
		return RoundReport{}, err
	}
	report := RoundReport{
		Job: line.Job, Run: line.Run, Round: line.Round, Time: line.Time, Aggregated: line.Aggregated,
		Model: line.Model, Result: line.Result, Counts: line.Counts, Audit: ref, Clients: []ClientReport{},
	}
	for k, parts := after/partSize, line.Parts; k < parts && len(report.Clients) < limit; k++ {
		if k > 0 {
			if line, err = readLine(ctx, documents, part(k)); err != nil {
				return RoundReport{}, err
			}
		}
		from := min(max(0, after-k*partSize), len(line.Clients))
		report.Clients = append(report.Clients, line.Clients[from:]...)
	}
	report.Clients = report.Clients[:min(limit, len(report.Clients))]
	return report, nil
}

// readLine reads a line of the audit log, or one of a report without an audit log.
func readLine(ctx context.Context, documents storage.Documents, key string) (Line, error) {
	var line Line
	doc, err := documents.Get(ctx, key)
	if err != nil {
		return line, err
	}
	if err := json.Unmarshal(doc.Data, &line); err != nil {
		return line, fmt.Errorf("read %q: %w", key, err)
	}
	return line, nil
}
