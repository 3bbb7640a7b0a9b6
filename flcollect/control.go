package flcollect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// beginTimeout bounds how long a job is being stored when it is started.
const beginTimeout = time.Minute

// maxBefore is how many runs of a job may wait for the repository at a time.
const maxBefore = 8

// Start starts the training of a job. It is stored when Start returns nil. For a
// job that is active with the same configuration nothing happens, and with
// another one it is [ErrActive]; a job that has ended begins a new run, and the
// repository still gets the result of the one before. What is wrong with the
// strategy is a *[strategy.FieldError] or matches [ErrNoStrategy], with the
// encryption parameters a *[ckks.FieldError]; with anything else of the
// configuration it matches [ErrInvalid]. Start waits for Run to begin.
func (s *Server) Start(ctx context.Context, id string, config Config) error {
	err := s.start(ctx, id, config)
	if err != nil {
		return fmt.Errorf("start job %q: %w", id, err)
	}
	return nil
}

func (s *Server) start(ctx context.Context, id string, config Config) error {
	if err := checkID(id); err != nil {
		return err
	}
	wanted, data, err := newStoredConfig(config)
	if err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	if repeated, err := s.repeated(id, data); repeated || err != nil {
		return err
	}
	made, err := s.makeGuarded(ctx, wanted.config(), s.guards(wanted.config()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(ErrNotRunning) })()
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if repeated, err := s.repeated(id, data); repeated || err != nil {
		return err
	}
	if err := s.retire(ctx, id); err != nil {
		return err
	}
	if s.ends() {
		return ErrNotRunning
	}
	if err := s.begin(id, wanted, made); err != nil {
		return stoppedOr(ctx, err)
	}
	return nil
}

// repeated reports whether the job is active with that configuration.
func (s *Server) repeated(id string, config []byte) (bool, error) {
	j := s.job(id)
	if j == nil {
		return false, nil
	}
	r := j.record()
	switch {
	case r.State.Ended():
		return false, nil
	case r.Config.same(config):
		return true, nil
	}
	return false, ErrActive
}

// retire ends what the last run of a job still has to do; the next run goes on
// with that.
func (s *Server) retire(ctx context.Context, id string) error {
	j := s.job(id)
	if j == nil {
		return nil
	}
	select {
	case <-j.ended:
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

// begin stores a new run of a job, and launches it. A caller that leaves meanwhile
// does not interrupt that, or there would be a job that nobody trains.
func (s *Server) begin(id string, config storedConfig, made strategy.Strategy) error {
	ctx, cancel := context.WithTimeout(s.life, beginTimeout)
	defer cancel()
	r := record{
		outcome: outcome{Token: uuid.NewString(), Config: config, Round: -1, Guarded: s.guards(config.config())},
		ID:      id, Run: 1, State: Waiting, Created: now(),
	}
	doc, err := s.options.Documents.Get(ctx, jobKey(id))
	fresh := errors.Is(err, storage.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	r.Privacy = privacyOf(made)
	if r.Misfit, err = s.misfit(ctx, id, config.Config); err != nil {
		return err
	}
	var last record
	if !fresh {
		if last, err = readRecord(id, doc.Data); err != nil {
			return err
		}
		if err := r.succeed(last); err != nil {
			return err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var revision storage.Revision
	if fresh {
		revision, err = s.create(ctx, jobKey(id), data)
	} else {
		revision, err = s.update(ctx, jobKey(id), doc.Revision, data)
	}
	if err != nil { // it may have been written
		if revision, err = s.recognise(ctx, jobKey(id), data, err); err != nil {
			return err
		}
	}
	j := s.newJob(r, revision, made)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !fresh {
		s.states[last.State]--
	}
	s.states[Waiting]++
	s.launch(j)
	j.log.Info("job started", "strategy", config.Strategy, "rounds", config.Rounds)
	return nil
}

// succeed makes the record that of the run after another.
func (r *record) succeed(last record) error {
	r.Run = last.Run + 1
	r.Audit = last.Audit
	r.Before = last.Before
	r.Discard = append(slices.Clone(last.Discard), last.Token)
	if last.Delivery == pending {
		r.Before = append(slices.Clone(last.Before), last.outcome)
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
	case s.starting <- struct{}{}: // what is being started is stopped, too
		<-s.starting
	case <-ctx.Done():
		return fmt.Errorf("stop all jobs: %w", context.Cause(ctx))
	}
	s.mu.Lock()
	var stopped []*job
	for _, j := range s.jobs {
		j.stop(errStopped)
		stopped = append(stopped, j)
	}
	s.mu.Unlock()
	for _, j := range stopped {
		select {
		case <-j.ended:
		case <-j.done:
			if !j.record().State.Ended() {
				return fmt.Errorf("stop all jobs: %w", ErrNotRunning)
			}
		case <-ctx.Done():
			return fmt.Errorf("stop job %q: %w", j.id, context.Cause(ctx))
		}
	}
	return nil
}

// job returns a job that has something to do, nil if there is none of that id.
func (s *Server) job(id string) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[id]
}

// moveState counts the jobs by their states.
func (s *Server) moveState(from, to State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[from]--
	s.states[to]++
}
