package fleet

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// Config is what a [Fleet] needs. All of it but Restoring and Logger is
// required.
type Config struct {
	// Documents is the storage that the instances share.
	Documents storage.Documents
	// Instance is the name of this instance.
	Instance string
	// LeaseDuration is the time of a lease, Poll that between looks at the
	// storage.
	LeaseDuration, Poll time.Duration
	// Restoring means that it must be decided whether this start is the start of
	// the whole service.
	Restoring bool
	// Logger receives what happens to the lease.
	Logger *slog.Logger
}

// Fleet is the state of the instances that share a storage, as one of them
// last saw it: its own lease, and the leases of the others.
type Fleet struct {
	*lease
	log   *slog.Logger
	poll  time.Duration
	nudge chan struct{} // capacity 1: look at the storage now

	sight chan struct{} // capacity 1: taken while the leases of the others are read

	mu        sync.Mutex
	polls     uint64            // how often the storage was read; own writes are stamped with it
	others    map[string]*other // by name
	since     time.Time         // when the set of living instances last changed
	seen      time.Time         // when the leases of the others were last read
	left      time.Time         // when an instance was last missed that had been there
	adrift    bool              // the lease has run out, and no instance is there to take over
	restoring bool              // it is not yet decided whether channels are restored as stopped
	fault     error             // why the storage could not be read at the last try
}

// other is the lease of another instance, watched.
type other struct {
	instanceRecord
	watch
	moved  bool // it was seen alive
	graced bool // it has got more time since it moved
}

// New returns a Fleet that has not joined the others.
func New(c Config) *Fleet {
	return &Fleet{
		lease: newLease(c.Documents, c.Instance, c.LeaseDuration, c.Restoring),
		log:   c.Logger, poll: c.Poll, nudge: make(chan struct{}, 1), sight: make(chan struct{}, 1),
		others: map[string]*other{}, restoring: c.Restoring,
	}
}

// Look makes the next look at the storage happen now. It does nothing if f is
// nil.
func (f *Fleet) Look() {
	if f == nil {
		return
	}
	notify.Send(f.nudge)
}

// Stamp returns the number of the current look at the storage. What was
// written under a number is newer than what that look finds.
func (f *Fleet) Stamp() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls
}

// Begin begins a look.
func (f *Fleet) Begin() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	return f.polls
}

// Watch reads the leases of the others, much more often than everything else is read, so
// that one that runs out is noticed at once. It returns when ctx ends.
func (f *Fleet) Watch(ctx context.Context) {
	for {
		pause := f.duration / 8
		if left := f.untilOverdue(); left < pause {
			pause = max(left, f.duration/100)
		}
		// A part of it is random, so that instances do not read at the same moment.
		if !Sleep(ctx, pause*9/10+rand.N(pause/10+1)) {
			return
		}
		if _, fewer, err := f.Sessions(ctx); err == nil && fewer {
			f.Look()
		}
	}
}

// readTimeout bounds a read of the leases, and is at most the time of one. An answer that does
// not come, because the connection is dead, must not keep this instance from the next read.
const readTimeout = 5 * time.Second

// Sessions reads the leases and removes those that have run out. It returns the sessions that
// live, and whether they are fewer.
func (f *Fleet) Sessions(ctx context.Context) (sessions map[string]bool, fewer bool, err error) {
	select {
	case f.sight <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	defer func() { <-f.sight }()
	ctx, cancel := context.WithTimeout(ctx, min(f.duration, readTimeout))
	defer cancel()
	var documents []storage.Document
	for document, err := range storage.All(ctx, f.documents, InstancePrefix) {
		if err != nil {
			return nil, false, err
		}
		documents = append(documents, document)
	}
	sessions, fewer = f.see(documents)
	dead, err := f.removeExpired(ctx)
	for _, session := range dead {
		delete(sessions, session)
	}
	return sessions, fewer || len(dead) > 0, err
}

// see records the leases that there are. It returns the sessions that live, and whether one
// is no longer among them. While this instance could not read, because the storage did not
// answer, the others could not write either: they get the time for a renewal, once.
func (f *Fleet) see(documents []storage.Document) (sessions map[string]bool, fewer bool) {
	own := f.Session()
	sessions = map[string]bool{}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	blind := !f.seen.IsZero() && now.Sub(f.seen) > f.duration/2
	f.seen = now
	found := map[string]*other{}
	changed := false
	for _, document := range documents {
		r := decodeInstance(document.Data)
		sessions[r.Session] = true
		name := strings.TrimPrefix(document.Key, InstancePrefix)
		if r.Session == own {
			continue
		}
		o := f.others[name]
		if o == nil || o.Session != r.Session {
			o = &other{watch: watch{document.Revision, now}}
			changed = true
		}
		if o.revision != document.Revision {
			o.watch = watch{document.Revision, now}
			o.moved = true
			o.graced = false
		}
		o.instanceRecord = r
		if latest := now.Add(f.duration/2 - o.patience(f.duration)); blind && !o.graced && o.since.Before(latest) {
			o.since, o.graced = latest, true
		}
		found[name] = o
	}
	for name := range f.others {
		if found[name] == nil || found[name].Session != f.others[name].Session {
			fewer = true
		}
		if found[name] == nil {
			f.left, changed = now, true
		}
	}
	if changed || f.since.IsZero() {
		f.since = now
	}
	f.others = found
	delete(sessions, "")
	return sessions, fewer
}

// overdue returns the leases that have run out, by name.
func (f *Fleet) overdue() map[string]storage.Revision {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := map[string]storage.Revision{}
	for name, o := range f.others {
		if time.Since(o.since) >= o.patience(f.duration) {
			names[name] = o.revision
		}
	}
	return names
}

// untilOverdue returns when the next lease would run out.
func (f *Fleet) untilOverdue() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := MaxDuration
	for _, o := range f.others {
		next = min(next, o.patience(f.duration)-time.Since(o.since))
	}
	return next
}

// removeExpired removes the leases that have run out. It returns their sessions,
// which are dead.
func (f *Fleet) removeExpired(ctx context.Context) ([]string, error) {
	var dead []string
	var errs []error
	for name, revision := range f.overdue() {
		err := f.documents.Delete(ctx, InstancePrefix+name, revision)
		if errors.Is(err, storage.ErrConflict) {
			continue // it lives
		}
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		f.mu.Lock()
		if o := f.others[name]; o != nil && o.revision == revision {
			dead = append(dead, o.Session)
			delete(f.others, name)
			f.since, f.left = time.Now(), time.Now()
		}
		f.mu.Unlock()
	}
	return dead, errors.Join(errs...)
}

// lonely and lonelyTime are after how many leases, and how long at least, an instance that has
// left, perhaps because it could not reach the storage for a while, is no longer expected to
// return.
const (
	lonely     = 6
	lonelyTime = time.Minute
)

// alone reports whether no other instance was there at the last look, nor for
// some time before.
func (f *Fleet) alone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls > 0 && len(f.others) == 0 && (f.left.IsZero() || time.Since(f.left) > max(lonely*f.duration, lonelyTime))
}

// Size returns the number of instances, and how long it has been that.
func (f *Fleet) Size() (n int, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 1 + len(f.others), time.Since(f.since)
}

// firstOfAll reports whether this start is the start of the service: no
// instance was running before. It is not known before every lease that is there has
// moved or run out.
func (f *Fleet) firstOfAll() (first, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first, known = true, true
	for _, o := range f.others {
		switch {
		case o.Restoring: // it has only started, too
		case o.moved:
			return false, true
		default:
			known = false
		}
	}
	return first, known
}

func (f *Fleet) setAdrift(adrift bool) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = f.adrift != adrift
	f.adrift = adrift
	return changed
}

func (f *Fleet) isAdrift() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adrift
}

// IsRestoring reports whether it is not yet decided whether channels are
// restored as stopped.
func (f *Fleet) IsRestoring() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restoring
}

// SetFault records whether the storage can be read; it reports whether that
// has changed.
func (f *Fleet) SetFault(err error) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = (f.fault == nil) != (err == nil)
	f.fault = err
	return changed
}

// Fault returns why the storage could not be read at the last look; nil when
// it could.
func (f *Fleet) Fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Name returns the name of this instance.
func (f *Fleet) Name() string { return f.name }

// Duration returns the time of a lease.
func (f *Fleet) Duration() time.Duration { return f.duration }

// Poll returns the time between looks at the storage.
func (f *Fleet) Poll() time.Duration { return f.poll }

// AwaitLook waits until the next look is due, or until [Fleet.Look] is called.
// However often that is, there are no more than ten looks in the time of one
// poll.
func (f *Fleet) AwaitLook(ctx context.Context, due time.Duration) {
	if !Sleep(ctx, f.poll/10) {
		return
	}
	timer := time.NewTimer(due - f.poll/10)
	defer timer.Stop()
	select {
	case <-f.nudge:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// DecideRestoring decides whether this start is the start of the whole service.
// It does nothing when that is decided, or cannot be known yet. If it is, stop is
// called first, so that the stored channels are restored as stopped.
func (f *Fleet) DecideRestoring(ctx context.Context, stop func() error) error {
	if !f.IsRestoring() {
		return nil
	}
	first, known := f.firstOfAll()
	if !known {
		return nil
	}
	if first {
		if err := stop(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	f.restoring = false
	f.mu.Unlock()
	return f.restoringDecided(ctx)
}

// Sleep reports false when ctx ends before the time is over.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
