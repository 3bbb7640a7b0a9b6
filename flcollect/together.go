package flcollect

import (
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
)

// together is what a server has to do with the others on its store.
type together struct {
	*fleet.Fleet

	mu     sync.Mutex
	tenure context.Context // of the lease of now; nil before the first
}

func newTogether(config Config, failed func(error)) *together {
	return &together{Fleet: fleet.New(fleet.Config{
		Documents: config.Documents, Name: config.Name, Address: config.Advertise, Lease: config.Lease, Failed: failed,
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

// serveTogether takes part in conducting the jobs of the store until the context ends.
func (s *Server) serveTogether(ctx context.Context) {
	surveyed := false
	for {
		tenure, err := s.together.Join(ctx)
		if err != nil {
			return // the context has ended
		}
		s.health.Set("", nil)
		s.together.setTenure(tenure)
		bound, cancel := s.together.under(ctx)
		err = s.storage.Insist(bound, func() error {
			if err := s.together.Secret(bound); err != nil || surveyed {
				return err
			}
			return s.survey(bound)
		})
		if err == nil {
			surveyed = true
			s.conductTogether(bound)
		}
		cancel(nil)
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("this server has lost its lease, and joins the others again", "cause", context.Cause(tenure), "error", err)
		s.abandonAll()
	}
}

// abandonAll waits until the jobs of a lease that was lost have ended here.
func (s *Server) abandonAll() {
	s.starting <- struct{}{}
	defer func() { <-s.starting }()
	for _, j := range s.jobs.all() {
		j.lose(errMoved)
		<-j.done
	}
}

// conductTogether looks after the jobs of the store until the context ends.
func (s *Server) conductTogether(ctx context.Context) {
	unreadable := map[string]bool{}
	for {
		err := s.storage.Insist(ctx, func() error { return s.look(ctx, unreadable) })
		if err == nil {
			s.open.Do(func() { close(s.ready) })
		}
		timer := time.NewTimer(s.together.Pause())
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
func (s *Server) survey(ctx context.Context) error {
	named, active, complete := map[string]bool{}, []string{}, true
	var ended spentLedger
	for doc, err := range storage.All(ctx, s.config.Documents, jobPrefix) {
		if err != nil {
			return err
		}
		r, err := readRecord(doc.Key[len(jobPrefix):], doc.Data)
		if err != nil {
			s.log.Error("a stored job cannot be read and is left alone", "error", err)
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
		if _, err := s.together.Take(ctx, r.ID, r.Token); err != nil && !errors.Is(err, fleet.ErrHeld) {
			return err
		}
	}
	s.jobs.reset(nil, ended)
	old := func(blob storage.BlobInfo) bool { return time.Since(blob.Modified) < sweepAge }
	if err := s.contexts.Sweep(ctx, old); err != nil || !complete {
		return err
	}
	return s.storage.DeleteBlobs(ctx, checkpoint.Prefix, func(blob storage.BlobInfo) bool {
		return named[blob.Key] || old(blob) || slices.ContainsFunc(active, func(folder string) bool {
			return len(blob.Key) >= len(folder) && blob.Key[:len(folder)] == folder
		})
	})
}

// look does once what the entries of jobs ask for: it takes the jobs of servers that are
// over, stops jobs on request, and shows the others how the jobs of this server are.
func (s *Server) look(ctx context.Context, unreadable map[string]bool) error {
	entries, err := s.together.Look(ctx)
	if err != nil {
		return err
	}
	mine := s.together.Session()
	var theirs, orphans []fleet.Entry
	for _, e := range entries {
		j := s.jobs.get(e.ID)
		switch {
		case e.Alive && e.Session != mine:
			theirs = append(theirs, e)
		case j != nil && e.Session == mine:
			j.obey(e)
		case j == nil && !unreadable[e.ID]:
			orphans = append(orphans, e)
		}
	}
	s.jobs.setRemote(theirs)
	slices.SortFunc(orphans, func(a, b fleet.Entry) int { return a.Shown().Created.Compare(b.Shown().Created) })
	for _, e := range orphans {
		err := s.claim(ctx, e)
		if errors.Is(err, persist.ErrDamaged) {
			s.log.Error("a stored job cannot be read and is left alone", "error", err)
			unreadable[e.ID] = true
			err = nil
		}
		if err != nil {
			return err
		}
	}
	for _, j := range s.jobs.all() {
		if err := s.together.Show(ctx, j.id, j.live()); err != nil {
			return err
		}
	}
	return nil
}

// claim goes on with a job whose server is over.
func (s *Server) claim(ctx context.Context, e fleet.Entry) error {
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.jobs.get(e.ID) != nil || s.ending.Err() != nil {
		return nil
	}
	for {
		doc, err := s.config.Documents.Get(ctx, jobKey(e.ID))
		if errors.Is(err, storage.ErrNotFound) {
			return s.together.Drop(ctx, e.ID)
		}
		if err != nil {
			return err
		}
		r, err := readRecord(e.ID, doc.Data)
		if err != nil {
			return fmt.Errorf("%w: %w", persist.ErrDamaged, err)
		}
		if r.State.Ended() && r.settled() {
			return s.together.Drop(ctx, e.ID)
		}
		e, err := s.together.Take(ctx, e.ID, r.Token)
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
		revision, err := s.storage.Update(ctx, jobKey(e.ID), doc.Revision, data)
		if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		j := s.newJob(r, revision, nil)
		s.jobs.launch(&s.group, j)
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
func (s *Server) elsewhere(ctx context.Context, id string) (fleet.Entry, bool, error) {
	if s.together == nil || s.jobs.get(id) != nil {
		return fleet.Entry{}, false, nil
	}
	e, err := s.together.Get(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		return fleet.Entry{}, false, nil
	}
	if err != nil {
		return fleet.Entry{}, false, err
	}
	return e, e.Session != s.together.Session(), nil
}

// repeatedElsewhere reports whether another server conducts the job with that
// configuration. It returns once no other server has anything to do with a job that has
// ended.
func (s *Server) repeatedElsewhere(ctx context.Context, id string, config []byte) (bool, error) {
	for {
		e, there, err := s.elsewhere(ctx, id)
		if err != nil || !there {
			return false, err
		}
		r, err := s.stored(ctx, id)
		switch {
		case errors.Is(err, storage.ErrNotFound) && !e.Alive:
			return false, nil // it was about to be started when its server ended
		case errors.Is(err, storage.ErrNotFound): // it is being started
		case err != nil:
			return false, err
		case r.State.Ended() && r.settled(), r.State.Ended() && !e.Alive:
			if !e.Alive {
				return false, nil
			}
		case r.State.Ended():
			err := s.together.Change(ctx, id, func(e *fleet.Entry) bool {
				asked := e.Yield == r.Token
				e.Yield = r.Token
				return !asked
			})
			if err != nil {
				return false, err
			}
		case r.Config.Same(config):
			return true, nil
		default:
			return false, ErrActive
		}
		if err := s.glance(ctx); err != nil {
			return false, err
		}
	}
}

// glance waits for a moment in which other servers may do something.
func (s *Server) glance(ctx context.Context) error {
	timer := time.NewTimer(min(s.together.Pause(), 100*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.ending.Done():
		return context.Cause(s.ending)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stopElsewhere interrupts a job that another server conducts, and returns once that is
// stored. It reports false where no other server does.
func (s *Server) stopElsewhere(ctx context.Context, id string) (bool, error) {
	asked := ""
	for {
		r, err := s.stored(ctx, id)
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
			if j := s.jobs.get(id); j != nil {
				return false, nil
			}
		}
		there := false
		err = s.together.Change(ctx, id, func(e *fleet.Entry) bool {
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
		if err := s.glance(ctx); err != nil {
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
