package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// MaxReport is how many clients a page of a report has at most.
const MaxReport = 1000

// ReadReport returns the report of a round of a run, with up to limit clients from the
// one after so many; a limit of 0 or less means [MaxReport], which is also the most. Ref
// is the last line of the round in the audit log, nil without one. The error matches
// [report.ErrNoReport] where there is no report.
func ReadReport(ctx context.Context, documents storage.Documents, run Run, round int, ref *report.AuditRef, after, limit int,
) (report.RoundReport, error) {
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
		return report.RoundReport{}, report.ErrNoReport
	}
	if err != nil {
		return report.RoundReport{}, err
	}
	whole := report.RoundReport{
		Job: line.Job, Run: line.Run, Round: line.Round, Time: line.Time, Aggregated: line.Aggregated,
		Model: line.Model, Result: line.Result, Counts: line.Counts, Audit: ref, Clients: []report.Client{},
	}
	for k, parts := after/partSize, line.Parts; k < parts && len(whole.Clients) < limit; k++ {
		if k > 0 {
			if line, err = readLine(ctx, documents, part(k)); err != nil {
				return report.RoundReport{}, err
			}
		}
		from := min(max(0, after-k*partSize), len(line.Clients))
		whole.Clients = append(whole.Clients, line.Clients[from:]...)
	}
	whole.Clients = whole.Clients[:min(limit, len(whole.Clients))]
	return whole, nil
}

// readLine reads a line of the audit log, or one of a report without an audit log.
func readLine(ctx context.Context, documents storage.Documents, key string) (report.AuditLine, error) {
	var line report.AuditLine
	doc, err := documents.Get(ctx, key)
	if err != nil {
		return line, err
	}
	if err := json.Unmarshal(doc.Data, &line); err != nil {
		return line, fmt.Errorf("read %q: %w", key, err)
	}
	return line, nil
}
