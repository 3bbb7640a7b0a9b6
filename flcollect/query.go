package flcollect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// Status returns the status of a job. A job that is not known is [report.Inactive], which is no
// error.
func (s *Server) Status(ctx context.Context, id string) (Status, error) {
	unknown := Status{Job: id, State: report.Inactive}
	if jobconfig.CheckID(id) != nil {
		return unknown, nil
	}
	if j := s.jobs.get(id); j != nil {
		return j.status(), nil
	}
	r, err := s.stored(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return unknown, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of job %q: %w", id, err)
	}
	return s.jobs.statusElsewhere(r), nil
}

// statusElsewhere returns the status of a job that this server does not conduct, with what
// the server of the job shows.
func (r *registry) statusElsewhere(rec record) Status {
	status := rec.status()
	live, ok := r.shown(rec.ID, rec.Token)
	if !ok {
		return status
	}
	status.Clients = live.Clients
	if live.Error != "" {
		status.Error = live.Error
	}
	if !status.State.Ended() {
		status.Needed, status.Suspended = live.Needed, live.Suspended
		status.Evaluating = live.Evaluating && live.Round == status.Round
	}
	return status
}

// Jobs returns, in the order of their ids, up to limit jobs whose ids begin with
// prefix and are greater than after; a limit of 0 or less means 1000. One that cannot be
// read is [report.Inactive], with the error. Next is the value of after for the following page,
// empty after the last.
func (s *Server) Jobs(ctx context.Context, prefix, after string, limit int) (jobs []Status, next string, err error) {
	if limit <= 0 {
		limit = storage.DefaultPage
	}
	if after != "" {
		after = jobKey(after)
	}
	docs, err := s.config.Documents.List(ctx, jobPrefix+prefix, after, limit)
	if errors.Is(err, storage.ErrInvalidKey) {
		err = fmt.Errorf("%w: %w", jobconfig.ErrInvalid, err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	for _, doc := range docs {
		id := strings.TrimPrefix(doc.Key, jobPrefix)
		if j := s.jobs.get(id); j != nil {
			jobs = append(jobs, j.status())
			continue
		}
		r, err := readRecord(id, doc.Data)
		if err != nil { // one damaged job does not hide the others
			jobs = append(jobs, Status{Job: id, State: report.Inactive, Error: excerpt.Reason(err)})
			continue
		}
		jobs = append(jobs, s.jobs.statusElsewhere(r))
	}
	if len(docs) == limit {
		next = jobs[len(jobs)-1].Job
	}
	return jobs, next, nil
}

// Rounds returns up to limit finished rounds of the job's current run, in order,
// from the one after number after; a limit of 0 or less means 1000. A job that is
// not known has none.
func (s *Server) Rounds(ctx context.Context, id string, after, limit int) ([]report.Round, error) {
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && after >= r.Round {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
	}
	docs, err := s.config.Documents.List(ctx, roundFolder(r.Token), roundKey(r.Token, max(after, 0)), limit)
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
	}
	var rounds []report.Round
	for _, doc := range docs {
		var round report.Round
		if err := json.Unmarshal(doc.Data, &round); err != nil {
			return nil, fmt.Errorf("rounds of job %q: read %q: %w: %w", id, doc.Key, persist.ErrDamaged, err)
		}
		if round.Number > r.Round {
			break // the round is being stored, and does not count yet
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// Changed returns a channel that is closed when the job's status may have
// changed. Get the channel first and then the status, to miss no change.
func (s *Server) Changed(id string) <-chan struct{} {
	return s.jobs.watch(id)
}

// Result returns the model of the last finished round of a job, with its metrics; or an
// error that matches [ErrNoResult]. It is not final while the job is active.
func (s *Server) Result(ctx context.Context, id string) (Result, error) {
	var last string
	for {
		r, err := s.current(ctx, id)
		if errors.Is(err, storage.ErrNotFound) {
			err = ErrNoResult
		}
		if err != nil {
			return Result{}, fmt.Errorf("result of job %q: %w", id, err)
		}
		result, err := resultOf(ctx, s.config.Blobs, id, r.outcome, r.Run)
		if err == nil || !errors.Is(err, storage.ErrNotFound) || r.Checkpoint.Key == last {
			return result, err
		}
		last = r.Checkpoint.Key // the next round has replaced it
	}
}

// current returns the record of a job.
func (s *Server) current(ctx context.Context, id string) (record, error) {
	if err := jobconfig.CheckID(id); err != nil {
		return record{}, storage.ErrNotFound
	}
	if j := s.jobs.get(id); j != nil {
		return j.record(), nil
	}
	return s.stored(ctx, id)
}

// stored returns the stored record of a job.
func (s *Server) stored(ctx context.Context, id string) (record, error) {
	doc, err := s.config.Documents.Get(ctx, jobKey(id))
	if err != nil {
		return record{}, err
	}
	return readRecord(id, doc.Data)
}

// resultOf returns the result of a run.
func resultOf(ctx context.Context, blobs storage.Blobs, id string, o outcome, run int64) (Result, error) {
	if o.Checkpoint == nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, ErrNoResult)
	}
	model, _, err := checkpoint.Load(ctx, blobs, o.Checkpoint)
	if err != nil {
		return Result{}, fmt.Errorf("result of job %q: %w", id, err)
	}
	config := o.Config.Copy()
	copied := map[string]float64{}
	maps.Copy(copied, o.Metrics)
	result := Result{
		ModelName: config.ModelName, ModelVersion: config.ModelVersion, TrainingID: id, Run: run, ConfigurationID: config.ConfigurationID,
		RunID:  o.Token,
		Rounds: max(o.Round, 0), FinalLoss: o.Loss, Metrics: copied, StrategyConf: config.StrategyConf,
		Privacy: o.Privacy, Aggregated: o.Aggregated, Updates: o.Updates, Weights: model,
		LocalLayers: config.LocalLayers, Encrypted: config.Homomorphic != nil,
	}
	return result, nil
}

// Client is a Flower client that is connected for a job.
type Client struct {
	// Identity is the name under which its reputation is kept, as in a [report.Client].
	Identity string
	// Name is the name that the client gives itself, which proves nothing; empty if it
	// gives none.
	Name string
	// Session is the name of its session, which begins with that of its token or is that of
	// its certificate, if it has one.
	Session string
}

// String returns the name of the client, or its address where it has none.
func (c Client) String() string { return cmp.Or(audit.Label(c.Name, c.Session), c.Session) }

// Clients returns the clients that are connected for a job, in the order of their names.
func (s *Server) Clients(id string) []Client {
	j := s.jobs.get(id)
	if j == nil {
		return nil
	}
	var clients []Client
	for _, c := range j.pool.All() {
		clients = append(clients, Client{Identity: c.Identity, Name: c.Peer.Label(), Session: c.Name()})
	}
	slices.SortFunc(clients, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Session, b.Session))
	})
	return clients
}
