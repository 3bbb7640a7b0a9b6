package flcollect

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/storage"
)

// Run is a training of a job.
type Run struct {
	// Status is that of the job during the run, or at its end.
	Status
	// Loss and Metrics are the last aggregated ones; nil if there are none.
	Loss    *float64
	Metrics map[string]float64
	// Result is the result of the run in the repository; nil if none exists, or no
	// repository.
	Result *RunResult
}

// RunResult says where the result of a [Run] is.
type RunResult struct {
	// ModelName, ModelVersion and TrainingID are the names of its record, see
	// [Result.RecordID], and ConfigurationID that of its configuration.
	ModelName       string `json:"model_name"`
	ModelVersion    string `json:"model_version"`
	TrainingID      string `json:"training_id"`
	ConfigurationID string `json:"configuration_id"`
	// State is "stored", "pending" while the repository has not confirmed it, or "refused".
	State string `json:"state"`
}

// Runs returns up to limit runs of a job, the last one first: those before number before, or
// all of them if it is 0. A limit of 0 or less means 1000. Of a job that was trained more
// than 1000 times the first runs are forgotten. A job that is not known has none.
func (s *Server) Runs(ctx context.Context, id string, before int64, limit int) ([]Run, error) {
	if limit <= 0 {
		limit = storage.DefaultPage
	}
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("runs of job %q: %w", id, err)
	}
	var runs []Run
	if before <= 0 || before > r.Run {
		last := newRun(r)
		last.Status = s.status(r)
		runs, before = append(runs, last), r.Run
	}
	if len(runs) == limit {
		return runs, nil
	}
	// A record of the current run is there if the start of another one failed.
	docs, err := s.config.Documents.List(ctx, job.RunFolder(id), job.RunKey(id, before), limit-len(runs))
	if err != nil {
		return nil, fmt.Errorf("runs of job %q: %w", id, err)
	}
	for _, doc := range docs {
		earlier, err := job.ReadRecord(id, doc.Data)
		if err != nil {
			return nil, err
		}
		runs = append(runs, newRun(earlier))
	}
	return runs, nil
}

// newRun returns the run of a record.
func newRun(r job.Record) Run {
	run := Run{Status: newStatus(r), Loss: r.Loss, Metrics: maps.Clone(r.Metrics)}
	if r.Delivery != job.Undue {
		c := r.Config
		run.Result = &RunResult{ModelName: c.ModelName, ModelVersion: c.ModelVersion, TrainingID: recordID(r.ID, r.Run),
			ConfigurationID: c.ConfigurationID, State: string(r.Delivery)}
	}
	return run
}
