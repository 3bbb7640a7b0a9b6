package group

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Group is what a server has to do with the others on its store. It is safe for concurrent use.
type Group struct {
	*fleet.Fleet
	config  Config
	remotes remotes

	swept   time.Time          // when blobs were swept last; zero for never
	unnamed lease.Observations // blobs that nothing names

	mu     sync.Mutex
	tenure context.Context // of the current lease; nil before the first
	warned map[string]bool // sessions of servers that were logged as out of reach
}

// New returns a group that the server has not joined.
func New(config Config) *Group {
	return &Group{
		config: config, remotes: remotes{jobs: map[string]*Remote{}}, warned: map[string]bool{},
		Fleet: fleet.New(fleet.Config{
			Documents: config.Storage.Documents, Name: config.Name, Address: config.Address, Lease: config.Lease,
			Failed: config.Storage.Trouble, // until the next look
		}),
	}
}

func (g *Group) setTenure(tenure context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tenure = tenure
}

// Under returns a context that ends with another one or with the lease, whichever is
// first. Instructions of clients are then set aside, and do not end their sessions.
func (g *Group) Under(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	g.mu.Lock()
	tenure := g.tenure
	g.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	if tenure == nil {
		cancel(job.ErrNotRunning)
		return ctx, cancel
	}
	stop := context.AfterFunc(tenure, func() { cancel(fmt.Errorf("%w: %w", flower.ErrSetAside, context.Cause(tenure))) })
	context.AfterFunc(ctx, func() { stop() })
	return ctx, cancel
}

// Serve takes part in conducting the jobs of the store until the context ends.
func (g *Group) Serve(ctx context.Context) {
	surveyed := false
	for {
		tenure, err := g.Join(ctx)
		if err != nil {
			return // the context has ended
		}
		g.setTenure(tenure)
		bound, cancel := g.Under(ctx)
		err = g.config.Storage.Insist(bound, func() error {
			if err := g.Secret(bound); err != nil || surveyed {
				return err
			}
			return g.survey(bound)
		})
		if err == nil {
			surveyed = true
			g.conduct(bound)
		}
		cancel(nil)
		if ctx.Err() != nil {
			return
		}
		g.config.Server.Looked(cmp.Or(err, context.Cause(tenure))) // it is not ready until it has looked at the jobs again
		if errors.Is(context.Cause(tenure), lease.ErrTaken) {
			g.config.Log.Error("another process has the name of this server, which waits until that one has ended; "+
				"do they have copies of one folder?", "name", g.config.Name)
		} else {
			g.config.Log.Warn("this server has lost its lease, and joins the others again", "cause", context.Cause(tenure), "error", err)
		}
		g.abandonAll()
	}
}

// abandonAll waits until the jobs of a lease that was lost have ended here.
func (g *Group) abandonAll() {
	g.config.Starting <- struct{}{}
	defer func() { <-g.config.Starting }()
	for _, j := range g.config.Server.Jobs() {
		j.Lose()
		<-j.Done()
	}
}

// conduct looks after the jobs of the store until the context ends.
func (g *Group) conduct(ctx context.Context) {
	unreadable := map[string]bool{}
	for {
		err := g.config.Storage.Insist(ctx, func() error { return g.look(ctx, unreadable) })
		if err == nil {
			g.config.Server.Looked(nil)
			g.sweepInTurn(ctx)
		}
		timer := time.NewTimer(g.Pause())
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// survey creates entries of stored jobs that have something to do and have none, as those of
// a server that was alone.
func (g *Group) survey(ctx context.Context) error {
	var settled []job.Record
	for doc, err := range storage.All(ctx, g.config.Storage.Documents, job.Prefix) {
		if err != nil {
			return err
		}
		r, err := job.ReadRecord(doc.Key[len(job.Prefix):], doc.Data)
		if err != nil {
			g.config.Log.Error("a stored job cannot be read and is left alone", "error", err)
			continue
		}
		if !r.Active() {
			settled = append(settled, r)
			continue
		}
		if _, err := g.Take(ctx, r.ID, r.Token); err != nil && !errors.Is(err, fleet.ErrHeld) {
			return err
		}
	}
	g.config.Server.Settled(settled)
	return nil
}

// look does once what the entries of jobs ask for: it takes the jobs of servers that are
// over, stops jobs on request, and shows the others how the jobs of this server are.
func (g *Group) look(ctx context.Context, unreadable map[string]bool) error {
	entries, err := g.Look(ctx)
	if err != nil {
		return err
	}
	mine := g.Session()
	own := map[string]fleet.Entry{}
	var theirs, orphans []fleet.Entry
	for _, e := range entries {
		j := g.config.Server.Job(e.ID)
		switch {
		case e.Alive && e.Session != mine:
			theirs = append(theirs, e)
		case j != nil && e.Session == mine:
			own[e.ID] = e
			j.Asked(e.Stop, e.Yield)
		case j == nil && !unreadable[e.ID]:
			orphans = append(orphans, e)
		}
	}
	if g.remotes.set(theirs) {
		g.config.Offered()
	}
	slices.SortFunc(orphans, func(a, b fleet.Entry) int { return a.Shown().Created.Compare(b.Shown().Created) })
	for _, e := range orphans {
		err := g.claim(ctx, e)
		if errors.Is(err, persist.ErrDamaged) {
			g.config.Log.Error("a stored job cannot be read and is left alone", "error", err)
			unreadable[e.ID] = true
			err = nil
		}
		if err != nil {
			return err
		}
	}
	for _, j := range g.config.Server.Jobs() {
		live := shown(j)
		if e, listed := own[j.ID()]; listed && e.Shows(live) {
			continue
		}
		if err := g.Show(ctx, j.ID(), live); err != nil {
			return err
		}
	}
	return nil
}
