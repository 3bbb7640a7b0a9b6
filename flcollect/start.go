package flcollect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// beginTimeout bounds the time to store a job when it is started.
const beginTimeout = time.Minute

// Start starts the training of a job. It is stored when Start returns nil. For a job that
// is active with the same configuration Start does nothing, and with another one it
// returns [ErrActive]. A job that has ended begins a new run, and the repository still
// gets the result of the one before. An error of the strategy is a
// *[strategy.FieldError] or matches [ErrNoStrategy], one of the encryption parameters is
// a *ckks.FieldError, one of an asynchronous job a *[jobconfig.Error], and any other error of the
// configuration matches [jobconfig.ErrInvalid].
// Start waits for Run to begin.
func (s *Server) Start(ctx context.Context, id string, config jobconfig.Config) error {
	err := s.start(ctx, id, config)
	if err != nil {
		return fmt.Errorf("start job %q: %w", id, err)
	}
	return nil
}

func (s *Server) start(ctx context.Context, id string, config jobconfig.Config) error {
	if err := jobconfig.CheckID(id); err != nil {
		return err
	}
	stored, data, err := config.Stored()
	if err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	if repeated, err := s.repeated(ctx, id, data); repeated || err != nil {
		return err
	}
	if err := job.CheckApp(stored.Config, s.config.Fleet); err != nil {
		return err
	}
	selected, err := s.strategies.make(ctx, stored.Copy(), s.strategies.guards(stored.Config))
	if err != nil {
		return err
	}
	if err := job.CheckAsync(stored.Config, selected); err != nil {
		return err
	}
	if s.config.Upstream != nil {
		if err := job.CheckEdge(stored.Config, selected); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrNotRunning) })()
	for {
		repeated, err := s.repeated(ctx, id, data)
		if repeated || err != nil {
			return err
		}
		if s.group != nil {
			if err := s.group.Vacate(ctx, id); err != nil {
				return err
			}
		}
		if err := (&start{Server: s, id: id, config: stored, data: data, strategy: selected}).conduct(ctx); !errors.Is(err, fleet.ErrHeld) {
			return err
		}
		if err := s.group.AwaitOthers(ctx); err != nil {
			return err
		}
	}
}

// start is a job that is being started at this server.
type start struct {
	*Server
	id       string
	config   jobconfig.Stored
	data     []byte // of the configuration
	strategy strategy.Strategy
}

// conduct starts the job. The error matches [fleet.ErrHeld] if another server was first, or the
// lease of this one was lost meanwhile.
func (s *start) conduct(ctx context.Context) error {
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if repeated, err := s.jobs.repeated(s.id, s.data); repeated || err != nil {
		return err
	}
	if err := s.retire(ctx, s.id); err != nil {
		return err
	}
	if err := context.Cause(s.ending); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return persist.StoppedOr(ctx, err)
	}
	return nil
}

// repeated reports whether the job is active with that configuration, at this server or at
// another.
func (s *Server) repeated(ctx context.Context, id string, config []byte) (bool, error) {
	repeated, err := s.jobs.repeated(id, config)
	if repeated || err != nil || s.group == nil {
		return repeated, err
	}
	return s.group.Repeated(ctx, id, config)
}

func (r *registry) repeated(id string, config []byte) (bool, error) {
	if j := r.get(id); j != nil {
		return j.Record().Repeats(config)
	}
	return false, nil
}

// retire ends the work that the last run of a job still has to do; the next run goes on
// with it.
func (s *Server) retire(ctx context.Context, id string) error {
	j := s.jobs.get(id)
	if j == nil {
		return nil
	}
	select {
	case <-j.Ended():
	case <-j.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	j.Retire()
	select {
	case <-j.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin stores a new run of a job, and launches it. The context of the caller does not
// interrupt that, or there would be a stored job that is not being trained.
func (s *start) begin() (err error) {
	id, config, selected := s.id, s.config, s.strategy
	life, lose := member{s.Server}.tenure()
	defer lose(nil)
	defer func() {
		if cause := context.Cause(life); err != nil && errors.Is(cause, flower.ErrSetAside) {
			err = fmt.Errorf("%w, or this one by its next lease: %w", fleet.ErrHeld, cause) // the lease was lost meanwhile
		}
	}()
	ctx, cancel := context.WithTimeout(life, beginTimeout)
	defer cancel()
	r := job.Record{
		Outcome: job.Outcome{Token: uuid.NewString(), Config: config, Round: -1, Guarded: s.strategies.guards(config.Config)},
		ID:      id, Run: 1, State: report.Waiting, Created: job.Now(),
	}
	if config.App != "" {
		r.FleetRun = job.NewFleetRun()
	}
	doc, err := s.Server.config.Documents.Get(ctx, job.Key(id))
	fresh := errors.Is(err, storage.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	if s.Server.config.Upstream != nil {
		r.Upstream = s.Server.config.Upstream.Target
	}
	r.Privacy = round.PrivacyLoss(selected)
	if r.Misfit, err = contextMisfit(ctx, s.contexts, id, config.Config); err != nil {
		return err
	}
	var last job.Record
	if !fresh {
		if last, err = job.ReadRecord(id, doc.Data); err != nil {
			return err
		}
		if s.group != nil && !last.State.Ended() {
			return fleet.ErrHeld // another server has started it since
		}
		if err := r.Succeed(last); err != nil {
			return err
		}
	}
	if s.group != nil {
		entry, err := s.group.Take(ctx, id, r.Token)
		if err != nil {
			return err
		}
		r.Holder = entry.Session
	}
	if !fresh {
		if err := job.KeepRun(ctx, s.storage, last, doc.Data); err != nil {
			return err
		}
	}
	data, err := r.Marshal()
	if err != nil {
		return err
	}
	var revision storage.Revision
	if fresh {
		revision, err = s.storage.Create(ctx, job.Key(id), data)
	} else {
		revision, err = s.storage.Update(ctx, job.Key(id), doc.Revision, data)
	}
	if err != nil { // it may have been written
		if revision, err = s.storage.Recognise(ctx, job.Key(id), data, err); err != nil {
			if s.group != nil && (errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrExists)) {
				err = fmt.Errorf("%w: %w", fleet.ErrHeld, err)
			}
			return err
		}
	}
	j := member{s.Server}.newJob(r, revision, selected)
	s.jobs.start(j, last.State)
	member{s.Server}.launch(j)
	s.log.Info("job started", "job", id, "run", r.Run, "strategy", config.Strategy, "rounds", config.Rounds)
	return nil
}

// Stop interrupts all active jobs, without results, and ends the streams of
// their clients. It returns once that is stored. A job whose rounds are all done
// is finished instead.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.await(ctx); err != nil {
		return fmt.Errorf("stop all jobs: %w", err)
	}
	select {
	case s.starting <- struct{}{}: // a job that is being started is stopped, too
		<-s.starting
	case <-ctx.Done():
		return fmt.Errorf("stop all jobs: %w", context.Cause(ctx))
	}
	err := stopAll(ctx, s.jobs.all())
	if s.group != nil {
		err = errors.Join(err, s.group.StopAll(ctx))
	}
	return err
}

// StopJob interrupts one job, as [Server.Stop] interrupts all. One that has ended stays as
// it is. The error for a job that is not known matches [ErrUnknown].
func (s *Server) StopJob(ctx context.Context, id string) error {
	if err := s.await(ctx); err != nil {
		return fmt.Errorf("stop job %q: %w", id, err)
	}
	select {
	case s.starting <- struct{}{}: // a job that is being started is stopped, too
		<-s.starting
	case <-ctx.Done():
		return fmt.Errorf("stop job %q: %w", id, context.Cause(ctx))
	}
	if j := s.jobs.get(id); j != nil {
		err := stopAll(ctx, []*job.Job{j})
		if s.group == nil || s.ending.Err() != nil || !errors.Is(err, ErrNotRunning) {
			return err
		}
	}
	if s.group != nil && jobconfig.CheckID(id) == nil {
		if stopped, err := s.group.Stop(ctx, id); stopped || err != nil {
			if err != nil {
				err = fmt.Errorf("stop job %q: %w", id, err)
			}
			return err
		}
	}
	status, err := s.Status(ctx, id)
	if err == nil && status.State == report.Inactive {
		err = fmt.Errorf("stop job %q: %w", id, ErrUnknown)
	}
	return err
}

// stopAll stops jobs, and returns once that is stored.
func stopAll(ctx context.Context, jobs []*job.Job) error {
	for _, j := range jobs {
		j.Stop()
	}
	for _, j := range jobs {
		select {
		case <-j.Ended():
		case <-j.Done():
			if !j.Record().State.Ended() {
				return fmt.Errorf("stop job %q: %w", j.ID(), ErrNotRunning)
			}
		case <-ctx.Done():
			return fmt.Errorf("stop job %q: %w", j.ID(), context.Cause(ctx))
		}
	}
	return nil
}
