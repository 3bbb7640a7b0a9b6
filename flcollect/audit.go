package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// Audit yields the audit log of a job, a line at a time as it is stored and without a
// line feed, from the one after a number to the last. A job that is not known has no
// lines.
func (s *Server) Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error] {
	return audit.Lines(ctx, s.config.Documents, id, after)
}

// Report returns what became of the updates of a finished round of the job's current
// run: of up to limit clients, in the order of their identities, from the one after so
// many; a limit of 0 or less means 1000, which is also the most. The error matches
// [report.ErrNoReport] where there is no report.
func (s *Server) Report(ctx context.Context, id string, round, after, limit int) (report.RoundReport, error) {
	found, err := s.report(ctx, id, round, max(after, 0), limit)
	if err != nil {
		return report.RoundReport{}, fmt.Errorf("report of round %d of job %q: %w", round, id, err)
	}
	return found, nil
}

func (s *Server) report(ctx context.Context, id string, number, after, limit int) (report.RoundReport, error) {
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && (number < 1 || number > r.Round) {
		return report.RoundReport{}, report.ErrNoReport
	}
	if err != nil {
		return report.RoundReport{}, err
	}
	doc, err := s.config.Documents.Get(ctx, job.RoundKey(r.Token, number))
	if errors.Is(err, storage.ErrNotFound) {
		return report.RoundReport{}, report.ErrNoReport
	}
	if err != nil {
		return report.RoundReport{}, err
	}
	var round report.Round
	if err := json.Unmarshal(doc.Data, &round); err != nil {
		return report.RoundReport{}, fmt.Errorf("read %q: %w", doc.Key, err)
	}
	run := audit.Run{Job: id, Run: r.Run, Token: r.Token}
	return audit.ReadReport(ctx, s.config.Documents, run, number, round.Audit, after, limit)
}
