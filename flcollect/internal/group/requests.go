package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/storage"
)

// remoteEntry returns the entry of a job that another server conducts.
func (g *Group) remoteEntry(ctx context.Context, id string) (fleet.Entry, bool, error) {
	if g.config.Server.Job(id) != nil {
		return fleet.Entry{}, false, nil
	}
	e, err := g.Get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return fleet.Entry{}, false, nil
	}
	if err != nil {
		return fleet.Entry{}, false, err
	}
	return e, e.Session != g.Session(), nil
}

// Repeated reports whether another server conducts the job with that configuration.
func (g *Group) Repeated(ctx context.Context, id string, config []byte) (bool, error) {
	_, there, err := g.remoteEntry(ctx, id)
	if err != nil || !there {
		return false, err
	}
	r, err := job.Find(ctx, g.config.Storage.Documents, id)
	switch {
	case errors.Is(err, storage.ErrNotFound): // it is being started, or its server has ended before
		return false, nil
	case err != nil:
		return false, err
	}
	return r.Repeats(config)
}

// Vacate has the server of a job that has ended leave to this one what is left to do. It
// returns once no other server has anything to do with the job, or once the job is active
// again.
func (g *Group) Vacate(ctx context.Context, id string) error {
	for {
		e, there, err := g.remoteEntry(ctx, id)
		if err != nil || !there || !e.Alive {
			return err
		}
		r, err := job.Find(ctx, g.config.Storage.Documents, id)
		switch {
		case errors.Is(err, storage.ErrNotFound): // it is being started
		case err != nil:
			return err
		case !r.State.Ended():
			return nil
		case r.Settled(): // its server is about to drop the entry
		default:
			if err := (&job.Record{}).Succeed(r); err != nil {
				return err
			}
			err := g.Change(ctx, id, func(e *fleet.Entry) bool {
				asked := e.Yield == r.Token
				e.Yield = r.Token
				return !asked
			})
			if err != nil {
				return err
			}
		}
		if err := g.AwaitOthers(ctx); err != nil {
			return err
		}
	}
}

// AwaitOthers waits for a moment in which other servers may do something.
func (g *Group) AwaitOthers(ctx context.Context) error {
	timer := time.NewTimer(min(g.Pause(), 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-g.config.Ending.Done():
		return context.Cause(g.config.Ending)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop interrupts a job that another server conducts, and returns once that is
// stored. It reports false where no other server does.
func (g *Group) Stop(ctx context.Context, id string) (bool, error) {
	asked := ""
	for {
		r, err := job.Find(ctx, g.config.Storage.Documents, id)
		if errors.Is(err, storage.ErrNotFound) {
			return asked != "", nil
		}
		if err != nil {
			return false, err
		}
		if r.State.Ended() || asked != "" && asked != r.Token {
			return asked != "", nil
		}
		if asked == "" {
			if j := g.config.Server.Job(id); j != nil {
				return false, nil
			}
		}
		there := false
		err = g.Change(ctx, id, func(e *fleet.Entry) bool {
			there = true
			done := e.Stop == r.Token
			e.Stop = r.Token
			return !done
		})
		if err != nil {
			return false, err
		}
		if !there && asked == "" {
			return false, nil
		}
		asked = r.Token
		if err := g.AwaitOthers(ctx); err != nil {
			return false, err
		}
	}
}

// StopAll interrupts the jobs of other servers.
func (g *Group) StopAll(ctx context.Context) error {
	entries, err := g.Look(ctx)
	for _, e := range entries {
		if err == nil && g.config.Server.Job(e.ID) == nil {
			_, err = g.Stop(ctx, e.ID)
		}
	}
	if err != nil {
		return fmt.Errorf("stop all jobs: %w", err)
	}
	return nil
}
