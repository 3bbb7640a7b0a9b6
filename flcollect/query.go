package flcollect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/excerpt"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// Status returns the status of a job. A job that is not known is [report.Inactive], which is not an
// error.
func (s *Server) Status(ctx context.Context, id string) (Status, error) {
	unknown := Status{Job: id, State: report.Inactive}
	if jobconfig.CheckID(id) != nil {
		return unknown, nil
	}
	r, err := s.current(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return unknown, nil
	}
	if err != nil {
		return Status{}, fmt.Errorf("status of job %q: %w", id, err)
	}
	return s.status(r), nil
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
		after = job.Key(after)
	}
	docs, err := s.config.Documents.List(ctx, job.Prefix+prefix, after, limit)
	if errors.Is(err, storage.ErrInvalidKey) {
		err = fmt.Errorf("%w: %w", jobconfig.ErrInvalid, err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list jobs: %w", err)
	}
	for _, doc := range docs {
		id := strings.TrimPrefix(doc.Key, job.Prefix)
		if j := s.jobs.get(id); j != nil {
			jobs = append(jobs, currentStatus(j))
			continue
		}
		r, err := job.ReadRecord(id, doc.Data)
		if err != nil { // one damaged job does not hide the others
			jobs = append(jobs, Status{Job: id, State: report.Inactive, Error: excerpt.Reason(err)})
			continue
		}
		jobs = append(jobs, s.status(r))
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
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
	}
	rounds, err := job.Rounds(ctx, s.config.Documents, r, after, limit)
	if err != nil {
		return nil, fmt.Errorf("rounds of job %q: %w", id, err)
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
		result, err := loadResult(ctx, s.config.Blobs, id, r.Outcome, r.Run)
		if err == nil || !errors.Is(err, storage.ErrNotFound) || r.Checkpoint.Key == last {
			return result, err
		}
		last = r.Checkpoint.Key // the next round has replaced it
	}
}

// current returns the record of a job.
func (s *Server) current(ctx context.Context, id string) (job.Record, error) {
	if err := jobconfig.CheckID(id); err != nil {
		return job.Record{}, storage.ErrNotFound
	}
	if j := s.jobs.get(id); j != nil {
		return j.Record(), nil
	}
	return job.Find(ctx, s.config.Documents, id)
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
	for _, c := range j.Clients() {
		clients = append(clients, Client{Identity: c.Identity, Name: c.Peer.Label(), Session: c.Name()})
	}
	slices.SortFunc(clients, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Session, b.Session))
	})
	return clients
}

// Totals returns the numbers for metrics.
func (s *Server) Totals() Totals {
	t := s.counters.read()
	t.Clients, t.Lobby = s.lobby.count()
	s.jobs.total(&t)
	for _, epsilon := range t.Epsilons {
		t.Epsilon = max(t.Epsilon, epsilon)
	}
	return t
}
