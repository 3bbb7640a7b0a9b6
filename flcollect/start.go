package flcollect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// beginTimeout bounds the time to store a job when it is started.
const beginTimeout = time.Minute

// maxBefore bounds the runs of a job whose results wait for the repository.
const maxBefore = 8

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
	if err := checkApp(stored.Config, s.config.Fleet); err != nil {
		return err
	}
	made, err := s.strategies.make(ctx, stored.Copy(), s.strategies.guards(stored.Config))
	if err != nil {
		return err
	}
	if err := checkAsync(stored.Config, made); err != nil {
		return err
	}
	if s.config.Upstream != nil {
		if err := refuseEdge(stored.Config, made); err != nil {
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
		if s.together != nil {
			if err := s.together.vacate(ctx, id); err != nil {
				return err
			}
		}
		if err := (&launch{s, id, stored, data, made}).start(ctx); !errors.Is(err, fleet.ErrHeld) {
			return err
		}
		if err := s.together.awaitOthers(ctx); err != nil {
			return err
		}
	}
}

// launch is a job that is being started at this server.
type launch struct {
	*Server
	id     string
	config jobconfig.Stored
	data   []byte // of the configuration
	made   strategy.Strategy
}

// start starts the job. The error matches [fleet.ErrHeld] if another server was first, or the
// lease of this one was lost meanwhile.
func (s *launch) start(ctx context.Context) error {
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
	if repeated || err != nil || s.together == nil {
		return repeated, err
	}
	return s.together.repeated(ctx, id, config)
}

func (r *registry) repeated(id string, config []byte) (bool, error) {
	j := r.get(id)
	if j == nil {
		return false, nil
	}
	rec := j.record()
	switch {
	case rec.State.Ended():
		return false, nil
	case rec.Config.Same(config):
		return true, nil
	}
	return false, ErrActive
}

// retire ends the work that the last run of a job still has to do; the next run goes on
// with it.
func (s *Server) retire(ctx context.Context, id string) error {
	j := s.jobs.get(id)
	if j == nil {
		return nil
	}
	select {
	case <-j.ended:
	case <-j.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	j.quit()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin stores a new run of a job, and launches it. The context of the caller does not
// interrupt that, or there would be a stored job that is not being trained.
func (s *launch) begin() (err error) {
	id, config, made := s.id, s.config, s.made
	life, lose := s.jobLife()
	defer lose(nil)
	defer func() {
		if cause := context.Cause(life); err != nil && errors.Is(cause, flower.ErrSetAside) {
			err = fmt.Errorf("%w, or this one by its next lease: %w", fleet.ErrHeld, cause) // the lease was lost meanwhile
		}
	}()
	ctx, cancel := context.WithTimeout(life, beginTimeout)
	defer cancel()
	r := record{
		outcome: outcome{Token: uuid.NewString(), Config: config, Round: -1, Guarded: s.strategies.guards(config.Config)},
		ID:      id, Run: 1, State: report.Waiting, Created: now(),
	}
	if config.App != "" {
		r.FleetRun = newFleetRun()
	}
	doc, err := s.Server.config.Documents.Get(ctx, jobKey(id))
	fresh := errors.Is(err, storage.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	if s.Server.config.Upstream != nil {
		r.Upstream = s.Server.config.Upstream.Target
	}
	r.Privacy = round.PrivacyOf(made)
	if r.Misfit, err = contextMisfit(ctx, s.contexts, id, config.Config); err != nil {
		return err
	}
	var last record
	if !fresh {
		if last, err = readRecord(id, doc.Data); err != nil {
			return err
		}
		if s.together != nil && !last.State.Ended() {
			return fleet.ErrHeld // another server has started it since
		}
		if err := r.succeed(last); err != nil {
			return err
		}
	}
	if s.together != nil {
		entry, err := s.together.Take(ctx, id, r.Token)
		if err != nil {
			return err
		}
		r.Holder = entry.Session
	}
	if !fresh {
		if err := s.keepRun(ctx, last, doc.Data); err != nil {
			return err
		}
	}
	data, err := r.unknown.Marshal(r)
	if err != nil {
		return err
	}
	var revision storage.Revision
	if fresh {
		revision, err = s.storage.Create(ctx, jobKey(id), data)
	} else {
		revision, err = s.storage.Update(ctx, jobKey(id), doc.Revision, data)
	}
	if err != nil { // it may have been written
		if revision, err = s.storage.Recognise(ctx, jobKey(id), data, err); err != nil {
			if s.together != nil && (errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrExists)) {
				err = fmt.Errorf("%w: %w", fleet.ErrHeld, err)
			}
			return err
		}
	}
	j := s.newJob(r, revision, made)
	s.jobs.start(&s.group, j, last.State)
	j.log.Info("job started", "strategy", config.Strategy, "rounds", config.Rounds)
	return nil
}

// succeed makes the record that of the run after another. Members of the job that this
// version does not have stay; those of its configuration go with it.
func (r *record) succeed(last record) error {
	r.unknown = last.unknown.Top()
	r.Run = last.Run + 1
	r.Audit = last.Audit
	r.Before = last.Before
	r.Discard = append(slices.Clone(last.Discard), last.Token)
	if last.Delivery == pending {
		waits := last.outcome
		waits.OfRun = last.Run
		r.Before = append(slices.Clone(last.Before), waits)
	}
	if len(r.Before) > maxBefore {
		return fmt.Errorf("%w: the repository has not taken the results of %d runs", ErrUndelivered, len(r.Before))
	}
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
	if s.together != nil {
		err = errors.Join(err, s.together.stopAll(ctx))
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
		err := stopAll(ctx, []*job{j})
		if s.together == nil || s.ending.Err() != nil || !errors.Is(err, ErrNotRunning) {
			return err
		}
	}
	if s.together != nil && jobconfig.CheckID(id) == nil {
		if stopped, err := s.together.stop(ctx, id); stopped || err != nil {
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
func stopAll(ctx context.Context, jobs []*job) error {
	for _, j := range jobs {
		j.stop(errStopped)
	}
	for _, j := range jobs {
		select {
		case <-j.ended:
		case <-j.done:
			if !j.record().State.Ended() {
				return fmt.Errorf("stop job %q: %w", j.id, ErrNotRunning)
			}
		case <-ctx.Done():
			return fmt.Errorf("stop job %q: %w", j.id, context.Cause(ctx))
		}
	}
	return nil
}

// errStopped is the reason of a job that was stopped.
var errStopped error = stopped{}

// stopped sets the instructions of clients aside, so that a client can be sent away once it
// has answered.
type stopped struct{}

// Error implements error.
func (stopped) Error() string { return "stopped on request" }

// Is reports whether the error matches another one.
func (stopped) Is(other error) bool { return other == flower.ErrSetAside }
