package flcollect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/iotenablers/enablers/storage"
)

// maxRuns is how many runs of a job are kept besides its last one.
const maxRuns = 1000

// runPrefix is that of the records of earlier runs.
const runPrefix = "run/"

// runFolder has a hash in place of the id, which may have slashes.
func runFolder(id string) string {
	sum := sha256.Sum256([]byte(id))
	return runPrefix + hex.EncodeToString(sum[:]) + "/"
}

// runKey orders the runs of a job from the last one.
func runKey(id string, run int64) string {
	return fmt.Sprintf("%s%016x", runFolder(id), math.MaxInt64-run)
}

// Run is a training of a job.
type Run struct {
	// Status is that of the job during the run, or at its end.
	Status
	// Loss and Metrics are the last aggregated ones; nil if there are none.
	Loss    *float64
	Metrics map[string]float64
	// Result is the result of the run in the repository; nil if there is none, or no
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

// RecordID returns the id under which a repository whose records have no run keeps the
// result: that of the job for its first run, and ID-run-N for others. A job whose own id has that form
// may meet it, and so may a job of another collector: the repository refuses the later of two
// results of one id whose RunID differ.
func (r Result) RecordID() string { return recordID(r.TrainingID, r.Run) }

func recordID(id string, run int64) string {
	if run <= 1 {
		return id
	}
	return id + "-run-" + strconv.FormatInt(run, 10)
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
		last := r.runOf()
		if j := s.jobs.get(id); j != nil {
			last.Status = j.status()
		} else {
			last.Status = s.jobs.statusElsewhere(r)
		}
		runs, before = append(runs, last), r.Run
	}
	if len(runs) == limit {
		return runs, nil
	}
	// A record of the current run is there if the start of another one failed.
	docs, err := s.config.Documents.List(ctx, runFolder(id), runKey(id, before), limit-len(runs))
	if err != nil {
		return nil, fmt.Errorf("runs of job %q: %w", id, err)
	}
	for _, doc := range docs {
		earlier, err := readRecord(id, doc.Data)
		if err != nil {
			return nil, err
		}
		runs = append(runs, earlier.runOf())
	}
	return runs, nil
}

// runOf returns the run of a record.
func (r record) runOf() Run {
	run := Run{Status: r.status(), Loss: r.Loss, Metrics: maps.Clone(r.Metrics)}
	if r.Delivery != undue {
		c := r.Config
		run.Result = &RunResult{ModelName: c.ModelName, ModelVersion: c.ModelVersion, TrainingID: recordID(r.ID, r.Run),
			ConfigurationID: c.ConfigurationID, State: string(r.Delivery)}
	}
	return run
}

// keepRun keeps the record of a run that another one follows.
func (s *launch) keepRun(ctx context.Context, last record, data []byte) error {
	if err := s.storage.Put(ctx, runKey(last.ID, last.Run), data); err != nil {
		return err
	}
	if last.Run <= maxRuns {
		return nil
	}
	return s.storage.DeleteDocuments(ctx, runKey(last.ID, last.Run-maxRuns))
}

// noteRun notes in the record of an earlier run what became of its result. Runs that began
// before records of runs were kept have none.
func (j *job) noteRun(ctx context.Context, run int64, state resultState, complaint error) error {
	if run == 0 {
		return nil
	}
	err := j.storage.Insist(ctx, func() error {
		doc, err := j.storage.Documents.Get(ctx, runKey(j.id, run))
		if err != nil {
			return err
		}
		r, err := readRecord(j.id, doc.Data)
		if err != nil {
			return err
		}
		r.Delivery = state
		r.complain(complaint, "store the result")
		data, err := r.unknown.Marshal(r)
		if err != nil {
			return err
		}
		return j.storage.Put(ctx, runKey(j.id, run), data)
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}
