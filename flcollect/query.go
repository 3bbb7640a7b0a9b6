package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/storage"
)

// Status returns what a job has reached. A job that is not known is [Inactive],
// which is no error.
func (s *Server) Status(ctx context.Context, id string) (Status, error) {
	unknown := Status{Job: id, State: Inactive}
	if checkID(id) != nil {
		return unknown, nil
	}
	if j := s.job(id); j != nil {
		return j.status(), nil
	}
	r, err := s.stored(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return unknown, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of job %q: %w", id, err)
	}
	return r.status(), nil
}

// Jobs returns, in the order of their ids, up to limit jobs whose ids begin with
// prefix and are greater than after; a limit of 0 or less means 1000. One that
// cannot be read is [Inactive], with the error. Next is what
// after is for the following page, and empty after the last.
func (s *Server) Jobs(ctx context.Context, prefix, after string, limit int) (jobs []Status, next string, err error) {
	if limit <= 0 {
		limit = storage.DefaultPage
	}
	if after != "" {
		after = jobKey(after)
	}
	docs, err := s.options.Documents.List(ctx, jobPrefix+prefix, after, limit)
	if errors.Is(err, storage.ErrInvalidKey) {
		err = fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	for _, doc := range docs {
		id := strings.TrimPrefix(doc.Key, jobPrefix)
		if j := s.job(id); j != nil {
			jobs = append(jobs, j.status())
			continue
		}
		r, err := readRecord(id, doc.Data)
		if err != nil { // one job does not hide the others
			jobs = append(jobs, Status{Job: id, State: Inactive, Error: short(err.Error(), maxReason)})
			continue
		}
		jobs = append(jobs, r.status())
	}
	if len(docs) == limit {
		next = jobs[len(jobs)-1].Job
	}
	return jobs, next, nil
}

// Rounds returns up to limit finished rounds of the job's current run, in order,
// from the one after number after; a limit of 0 or less means 1000. A job that is
// not known has none.
func (s *Server) Rounds(ctx context.Context, id string, after, limit int) ([]Round, error) {
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) || err == nil && after >= r.Round {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
	}
	docs, err := s.options.Documents.List(ctx, roundsOf(r.Token), roundKey(r.Token, max(after, 0)), limit)
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
	}
	var rounds []Round
	for _, doc := range docs {
		var round Round
		if err := json.Unmarshal(doc.Data, &round); err != nil {
			return nil, fmt.Errorf("rounds of job %q: read %q: %w: %w", id, doc.Key, errDamaged, err)
		}
		if round.Number > r.Round {
			break // it is being stored, and does not count yet
		}
		rounds = append(rounds, round)
	}
	return rounds, nil
}

// Changed returns a channel that is closed when the job's status may have
// changed. Get the channel first and then the status, and nothing is missed.
func (s *Server) Changed(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil {
		return j.watch()
	}
	return s.changed // nothing but a start can change it
}

// Result returns the last good model of a job, and how it came to be; or an
// error that matches [ErrNoResult]. The model is that of the last finished round,
// so it is not final while the job is active.
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
		result, err := s.result(ctx, id, r.outcome)
		if err == nil || !errors.Is(err, storage.ErrNotFound) || r.Checkpoint.Key == last {
			return result, err
		}
		last = r.Checkpoint.Key // it was replaced by that of the next round
	}
}

// current returns the record of a job.
func (s *Server) current(ctx context.Context, id string) (record, error) {
	if err := checkID(id); err != nil {
		return record{}, storage.ErrNotFound
	}
	if j := s.job(id); j != nil {
		return j.record(), nil
	}
	return s.stored(ctx, id)
}

// stored returns the record of a job that has nothing to do.
func (s *Server) stored(ctx context.Context, id string) (record, error) {
	doc, err := s.options.Documents.Get(ctx, jobKey(id))
	if err != nil {
		return record{}, err
	}
	return readRecord(id, doc.Data)
}

// forget deletes the rounds of a run, its reports and reputations, and its models save those that a result
// waits with.
func (s *Server) forget(ctx context.Context, token string, kept []outcome) error {
	for _, prefix := range []string{roundsOf(token), reportsOf(token), reputationsOf(token)} {
		for doc, err := range storage.All(ctx, s.options.Documents, prefix) {
			if err == nil {
				err = s.options.Documents.Delete(ctx, doc.Key, doc.Revision)
			}
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
		}
	}
	for _, o := range kept {
		if o.Token == token {
			return nil
		}
	}
	for blob, err := range s.options.Blobs.List(ctx, checkpointPrefix+token+"/") {
		if err == nil {
			err = s.options.Blobs.Delete(ctx, blob.Key)
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			return err
		}
	}
	return nil
}
