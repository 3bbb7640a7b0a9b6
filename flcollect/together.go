package flcollect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

// sweepAge is how old a blob that nothing names must be to be deleted while other servers
// may be alive: they store a blob before the document that names it.
const sweepAge = 24 * time.Hour

// survey makes entries of stored jobs that have something to do and have none, as those of
// a server that was alone, and deletes old blobs that nothing names.
func (g *together) survey(ctx context.Context) error {
	named, active, complete := map[string]bool{}, []string{}, true
	var ended spentLedger
	for doc, err := range storage.All(ctx, g.server.config.Documents, jobPrefix) {
		if err != nil {
			return err
		}
		r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
		if err != nil {
			g.server.log.Error("a stored job cannot be read and is left alone", "error", err)
			complete = false
			continue
		}
		for _, o := range append(r.Before, r.outcome) {
			if o.Checkpoint != nil {
				named[o.Checkpoint.Key] = true
			}
		}
		if r.State.Ended() && r.settled() {
			ended.add(r)
			continue
		}
		active = append(active, checkpoint.Folder(r.Token))
		if _, err := g.Take(ctx, r.ID, r.Token); err != nil && !errors.Is(err, fleet.ErrHeld) {
			return err
		}
	}
	g.server.jobs.reset(nil, ended)
	old := func(blob storage.BlobInfo) bool { return time.Since(blob.Modified) < sweepAge }
	if err := g.server.contexts.Sweep(ctx, old); err != nil || !complete {
		return err
	}
	return g.server.storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool {
		return named[blob.Key] || old(blob) || slices.ContainsFunc(active, func(folder string) bool {
			return len(blob.Key) >= len(folder) && blob.Key[:len(folder)] == folder
		})
	})
}

// look does once what the entries of jobs ask for: it takes the jobs of servers that are
// over, stops jobs on request, and shows the others how the jobs of this server are.
func (g *together) look(ctx context.Context, unreadable map[string]bool) error {
	entries, err := g.Look(ctx)
	if err != nil {
		return err
	}
	mine := g.Session()
	var theirs, orphans []fleet.Entry
	for _, e := range entries {
		j := g.server.jobs.get(e.ID)
		switch {
		case e.Alive && e.Session != mine:
			theirs = append(theirs, e)
		case j != nil && e.Session == mine:
			j.obey(e)
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
		if err := g.Show(ctx, j.id, j.live()); err != nil {
			return err
		}
	}
	return nil
}

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
	for {
		doc, err := g.server.config.Documents.Get(ctx, jobKey(e.ID))
		if errors.Is(err, storage.ErrNotFound) {
			return g.Drop(ctx, e.ID)
		}
		if err != nil {
			return err
		}
		r, err := readRecord(e.ID, doc.Data)
		if err != nil {
			return fmt.Errorf("%w: %w", persist.ErrDamaged, err)
		}
		if r.State.Ended() && r.settled() {
			return g.Drop(ctx, e.ID)
		}
		e, err := g.Take(ctx, e.ID, r.Token)
		if errors.Is(err, fleet.ErrHeld) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Holder = e.Session // from here on, writes of the last server conflict
		data, unknown, err := r.unknown.MarshalKept(r)
		if err != nil {
			return err
		}
		r.unknown = unknown
		revision, err := g.server.storage.Update(ctx, jobKey(e.ID), doc.Revision, data)
		if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		j := g.server.newJob(r, revision, nil)
		g.server.jobs.launch(&g.server.group, j)
		j.log.Info("this server goes on with the job", "round", r.Round, "state", r.State)
		j.obey(e)
		return nil
	}
}

// obey does what another server asks of a job that this one has.
func (j *job) obey(e fleet.Entry) {
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

// elsewhere returns the entry of a job that another server conducts.
func (g *together) elsewhere(ctx context.Context, id string) (fleet.Entry, bool, error) {
	if g.server.jobs.get(id) != nil {
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

// repeated reports whether another server conducts the job with that configuration.
func (g *together) repeated(ctx context.Context, id string, config []byte) (bool, error) {
	_, there, err := g.elsewhere(ctx, id)
	if err != nil || !there {
		return false, err
	}
	r, err := g.server.stored(ctx, id)
	switch {
	case errors.Is(err, storage.ErrNotFound): // it is being started, or its server has ended before
		return false, nil
	case err != nil:
		return false, err
	case r.State.Ended():
		return false, nil
	case r.Config.Same(config):
		return true, nil
	}
	return false, ErrActive
}

// vacate has the server of a job that has ended leave to this one what is left to do. It
// returns once no other server has anything to do with the job, or once the job is active
// again.
func (g *together) vacate(ctx context.Context, id string) error {
	for {
		e, there, err := g.elsewhere(ctx, id)
		if err != nil || !there || !e.Alive {
			return err
		}
		r, err := g.server.stored(ctx, id)
		switch {
		case errors.Is(err, storage.ErrNotFound): // it is being started
		case err != nil:
			return err
		case !r.State.Ended():
			return nil
		case r.settled(): // its server is about to drop the entry
		default:
			if err := (&record{}).succeed(r); err != nil {
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
		if err := g.glance(ctx); err != nil {
			return err
		}
	}
}

// glance waits for a moment in which other servers may do something.
func (g *together) glance(ctx context.Context) error {
	timer := time.NewTimer(min(g.Pause(), 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-g.server.ending.Done():
		return context.Cause(g.server.ending)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop interrupts a job that another server conducts, and returns once that is
// stored. It reports false where no other server does.
func (g *together) stop(ctx context.Context, id string) (bool, error) {
	asked := ""
	for {
		r, err := g.server.stored(ctx, id)
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
			if j := g.server.jobs.get(id); j != nil {
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
		if err := g.glance(ctx); err != nil {
			return false, err
		}
	}
}

// TrustsRelay returns nil for the token of a server of the same fleet; it is the function
// for flower.ServerConfig.Relay.
func (s *Server) TrustsRelay(token string) error {
	if s.together == nil {
		return errors.New("this server conducts its jobs alone")
	}
	return s.together.Trusts(token)
}

// stopAll interrupts the jobs of other servers.
func (g *together) stopAll(ctx context.Context) error {
	entries, err := g.Look(ctx)
	for _, e := range entries {
		if err == nil && g.server.jobs.get(e.ID) == nil {
			_, err = g.stop(ctx, e.ID)
		}
	}
	if err != nil {
		return fmt.Errorf("stop all jobs: %w", err)
	}
	return nil
}
