package group

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
)

// claim goes on with a job whose server is over.
func (g *Group) claim(ctx context.Context, e fleet.Entry) error {
	select {
	case g.config.Starting <- struct{}{}:
		defer func() { <-g.config.Starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if g.config.Server.Job(e.ID) != nil || g.config.Ending.Err() != nil {
		return nil
	}
	return storage.Retry(ctx, func() (again bool, err error) {
		doc, err := g.config.Storage.Documents.Get(ctx, job.Key(e.ID))
		if errors.Is(err, storage.ErrNotFound) {
			return false, g.Drop(ctx, e.ID)
		}
		if err != nil {
			return false, err
		}
		r, err := job.ReadRecord(e.ID, doc.Data)
		if err != nil {
			return false, fmt.Errorf("%w: %w", persist.ErrDamaged, err)
		}
		if !r.Active() {
			return false, g.Drop(ctx, e.ID)
		}
		e, err := g.Take(ctx, e.ID, r.Token)
		if errors.Is(err, fleet.ErrHeld) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		data, err := r.Take(e.Session)
		if err != nil {
			return false, err
		}
		revision, err := g.config.Storage.Update(ctx, job.Key(e.ID), doc.Revision, data)
		if err != nil {
			return storage.Overtaken(err), err
		}
		j := g.config.Server.GoOn(r, revision)
		g.config.Log.Info("this server goes on with the job", "job", r.ID, "run", r.Run, "round", r.Round, "state", r.State)
		j.Asked(e.Stop, e.Yield)
		return false, nil
	})
}

// Yield leaves a job to other servers.
func (g *Group) Yield(ctx context.Context, id string) error {
	return g.Change(ctx, id, func(e *fleet.Entry) bool {
		mine := e.Session == g.Session()
		e.Session = ""
		return mine
	})
}

// shown returns what the other servers show of a job.
func shown(j *job.Job) fleet.Live {
	r, live := j.Live()
	return fleet.Live{
		Round: r.Round, Open: live.Accepts, Clients: live.Clients, Least: live.Least, Needed: live.Needed,
		Evaluating: live.Evaluating, Suspended: live.Suspended, Created: r.Created, Error: live.Trouble(r.Error),
	}
}
