package flcollect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/checkpoint"
	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// together is what a server has to do with the others on its store.
type together struct {
	*fleet.Fleet
	server *Server

	swept   time.Time          // when blobs were swept last; zero for never
	unnamed lease.Observations // blobs that nothing names

	mu     sync.Mutex
	tenure context.Context // of the lease of now; nil before the first
}

func newTogether(s *Server) *together {
	c := s.config
	return &together{server: s, Fleet: fleet.New(fleet.Config{
		Documents: c.Documents, Name: c.Name, Address: c.Advertise, Lease: c.Lease,
		Failed: s.storage.Trouble, // until the next look
	})}
}

func (g *together) setTenure(tenure context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tenure = tenure
}

// under returns a context that ends with another one or with the lease, whichever is
// first. Instructions of clients are then set aside, and do not end their sessions.
func (g *together) under(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	g.mu.Lock()
	tenure := g.tenure
	g.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	if tenure == nil {
		cancel(ErrNotRunning)
		return ctx, cancel
	}
	stop := context.AfterFunc(tenure, func() { cancel(fmt.Errorf("%w: %w", flower.ErrSetAside, context.Cause(tenure))) })
	context.AfterFunc(ctx, func() { stop() })
	return ctx, cancel
}

// errMoved is the reason of a job that another server has taken.
var errMoved = fmt.Errorf("%w: another server has taken the job", flower.ErrSetAside)

// jobLife returns the context of what a job stores, and what ends it.
func (s *Server) jobLife() (context.Context, context.CancelCauseFunc) {
	if s.together == nil {
		return s.life, func(error) {}
	}
	return s.together.under(s.life)
}

// serve takes part in conducting the jobs of the store until the context ends.
func (g *together) serve(ctx context.Context) {
	surveyed := false
	for {
		tenure, err := g.Join(ctx)
		if err != nil {
			return // the context has ended
		}
		g.setTenure(tenure)
		bound, cancel := g.under(ctx)
		err = g.server.storage.Insist(bound, func() error {
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
		g.server.health.Set("", cmp.Or(err, context.Cause(tenure))) // it is not ready until it has looked at the jobs again
		if errors.Is(context.Cause(tenure), lease.ErrTaken) {
			g.server.log.Error("another process has the name of this server, which waits until that one has ended; "+
				"do they have copies of one folder?", "name", g.server.config.Name)
		} else {
			g.server.log.Warn("this server has lost its lease, and joins the others again", "cause", context.Cause(tenure), "error", err)
		}
		g.abandonAll()
	}
}

// abandonAll waits until the jobs of a lease that was lost have ended here.
func (g *together) abandonAll() {
	g.server.starting <- struct{}{}
	defer func() { <-g.server.starting }()
	for _, j := range g.server.jobs.all() {
		j.lose(errMoved)
		<-j.done
	}
}

// conduct looks after the jobs of the store until the context ends.
func (g *together) conduct(ctx context.Context) {
	unreadable := map[string]bool{}
	for {
		err := g.server.storage.Insist(ctx, func() error { return g.look(ctx, unreadable) })
		if err == nil {
			g.server.health.Set("", nil)
			g.server.open.Do(func() { close(g.server.ready) })
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

// survey makes entries of stored jobs that have something to do and have none, as those of
// a server that was alone.
func (g *together) survey(ctx context.Context) error {
	var ended spentLedger
	for doc, err := range storage.All(ctx, g.server.config.Documents, jobPrefix) {
		if err != nil {
			return err
		}
		r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
		if err != nil {
			g.server.log.Error("a stored job cannot be read and is left alone", "error", err)
			continue
		}
		if r.State.Ended() && r.settled() {
			ended.add(r)
			continue
		}
		if _, err := g.Take(ctx, r.ID, r.Token); err != nil && !errors.Is(err, fleet.ErrHeld) {
			return err
		}
	}
	g.server.jobs.reset(nil, ended)
	return nil
}

// look does once what the entries of jobs ask for: it takes the jobs of servers that are
// over, stops jobs on request, and shows the others how the jobs of this server are.
func (g *together) look(ctx context.Context, unreadable map[string]bool) error {
	entries, err := g.Look(ctx)
	if err != nil {
		return err
	}
	mine := g.Session()
	own := map[string]fleet.Entry{}
	var theirs, orphans []fleet.Entry
	for _, e := range entries {
		j := g.server.jobs.get(e.ID)
		switch {
		case e.Alive && e.Session != mine:
			theirs = append(theirs, e)
		case j != nil && e.Session == mine:
			own[e.ID] = e
			j.handleRequests(e)
		case j == nil && !unreadable[e.ID]:
			orphans = append(orphans, e)
		}
	}
	g.server.jobs.setRemote(theirs)
	slices.SortFunc(orphans, func(a, b fleet.Entry) int { return a.Shown().Created.Compare(b.Shown().Created) })
	for _, e := range orphans {
		err := g.claim(ctx, e)
		if errors.Is(err, persist.ErrDamaged) {
			g.server.log.Error("a stored job cannot be read and is left alone", "error", err)
			unreadable[e.ID] = true
			err = nil
		}
		if err != nil {
			return err
		}
	}
	for _, j := range g.server.jobs.all() {
		live := j.live()
		if e, listed := own[j.id]; listed && e.Shows(live) {
			continue
		}
		if err := g.Show(ctx, j.id, live); err != nil {
			return err
		}
	}
	return nil
}

const (
	// sweepAge is for how long nothing must name a blob for it to be deleted while other
	// servers may be alive: they store a blob before the document that names it.
	sweepAge = 24 * time.Hour
	// sweepInterval is the time between two sweeps of a server.
	sweepInterval = sweepAge / 4
)

// sweepInTurn deletes blobs that nothing names, if it is time. What fails is left to the next
// sweep.
func (g *together) sweepInTurn(ctx context.Context) {
	if !g.swept.IsZero() && time.Since(g.swept) < sweepInterval {
		return
	}
	g.swept = time.Now()
	if err := g.sweep(ctx); err != nil && ctx.Err() == nil {
		g.server.log.Warn("blobs that nothing names cannot be deleted yet", "error", err)
	}
}

// sweep deletes the checkpoints and public contexts that nothing has named for a day.
func (g *together) sweep(ctx context.Context) error {
	named, folders, complete := map[string]bool{}, map[string]bool{}, true
	for doc, err := range storage.All(ctx, g.server.config.Documents, jobPrefix) {
		if err != nil {
			return err
		}
		r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
		if err != nil {
			complete = false // it may name a checkpoint
			break
		}
		for _, o := range append(r.Before, r.outcome) {
			if o.Checkpoint != nil {
				named[o.Checkpoint.Key] = true
			}
		}
		if !r.State.Ended() || !r.settled() {
			folders[checkpoint.Folder(r.Token)] = true
		}
	}
	return g.unnamed.Look(func(unchanged lease.Unchanged) error {
		young := func(blob storage.BlobInfo) bool { return unchanged(blob.Key, 0) < sweepAge }
		if err := g.server.contexts.Sweep(ctx, young); err != nil || !complete {
			return err
		}
		return g.server.storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool {
			return named[blob.Key] || folders[blob.Key[:strings.LastIndex(blob.Key, "/")+1]] || young(blob)
		})
	})
}
