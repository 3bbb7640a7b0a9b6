package flcollect

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
)

// claim goes on with a job whose server is over.
func (g *together) claim(ctx context.Context, e fleet.Entry) error {
	select {
	case g.server.starting <- struct{}{}:
		defer func() { <-g.server.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if g.server.jobs.get(e.ID) != nil || g.server.ending.Err() != nil {
		return nil
	}
	return storage.Retry(ctx, func() (again bool, err error) {
		doc, err := g.server.config.Documents.Get(ctx, jobKey(e.ID))
		if errors.Is(err, storage.ErrNotFound) {
			return false, g.Drop(ctx, e.ID)
		}
		if err != nil {
			return false, err
		}
		r, err := readRecord(e.ID, doc.Data)
		if err != nil {
			return false, fmt.Errorf("%w: %w", persist.ErrDamaged, err)
		}
		if r.State.Ended() && r.settled() {
			return false, g.Drop(ctx, e.ID)
		}
		e, err := g.Take(ctx, e.ID, r.Token)
		if errors.Is(err, fleet.ErrHeld) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r.Holder = e.Session // from here on, writes of the last server conflict
		data, unknown, err := r.unknown.MarshalKept(r)
		if err != nil {
			return false, err
		}
		r.unknown = unknown
		revision, err := g.server.storage.Update(ctx, jobKey(e.ID), doc.Revision, data)
		if err != nil {
			return storage.Overtaken(err), err
		}
		j := g.server.newJob(r, revision, nil)
		g.server.jobs.launch(&g.server.group, j)
		j.log.Info("this server goes on with the job", "round", r.Round, "state", r.State)
		j.handleRequests(e)
		return false, nil
	})
}

// handleRequests does what another server asks of a job that this one has.
func (j *job) handleRequests(e fleet.Entry) {
	r := j.record()
	if e.Stop == r.Token && !r.State.Ended() {
		j.stop(errStopped)
	}
	if e.Yield == r.Token && r.State.Ended() {
		j.yielded.Store(true)
		j.quit()
	}
}

// live returns what the other servers show of the job.
func (j *job) live() fleet.Live {
	status := j.status()
	least, open := j.server.jobs.offer(j)
	stored := j.record().status()
	live := fleet.Live{
		Round: status.Round, Open: open, Clients: status.Clients, Least: least, Needed: status.Needed,
		Evaluating: status.Evaluating, Suspended: status.Suspended, Created: status.Created,
	}
	if status.Error != stored.Error {
		live.Error = status.Error
	}
	return live
}

// leave gives up the entry of a job that has ended here.
func (j *job) leave() {
	g := j.server.together
	if g == nil || j.life.Err() != nil {
		return
	}
	r := j.record()
	err := j.storage.Insist(j.life, func() error {
		switch {
		case r.State.Ended() && r.settled():
			return g.Drop(j.life, j.id)
		case j.yielded.Load():
			return g.Change(j.life, j.id, func(e *fleet.Entry) bool {
				mine := e.Session == g.Session()
				e.Session = ""
				return mine
			})
		}
		return nil // the next run goes on with it
	})
	if err != nil && j.life.Err() == nil {
		j.log.Warn("the entry of a job that has ended cannot be deleted yet", "error", err)
	}
}
