package annotate

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// fleet is what an instance knows of those that share its storage: its own
// lease, and the leases of the others as it last saw them.
type fleet struct {
	*lease
	poll  time.Duration
	nudge chan struct{} // capacity 1: look at the storage now

	mu        sync.Mutex
	polls     uint64            // how often the storage was read; own writes are stamped with it
	others    map[string]*other // by name
	since     time.Time         // when the set of living instances last changed
	left      time.Time         // when an instance was last missed that had been there
	adrift    bool              // the lease has run out, and nobody is there to take over
	restoring bool              // it is not yet decided whether channels come back stopped
	fault     error             // why the storage could not be read at the last try
}

// other is the lease of another instance, watched.
type other struct {
	instanceRecord
	watch
	moved bool // it was seen alive
}

func newFleet(config Config) *fleet {
	return &fleet{
		lease: newLease(config.Documents, config.Instance, config.LeaseDuration, config.RestoreStopped),
		poll:  config.PollInterval, nudge: make(chan struct{}, 1),
		others: map[string]*other{}, restoring: config.RestoreStopped,
	}
}

// look makes the next look at the storage happen now. It does nothing for nil.
func (f *fleet) look() {
	if f == nil {
		return
	}
	select {
	case f.nudge <- struct{}{}:
	default:
	}
}

// stamp returns the number of the current look at the storage. What was
// written under a number is newer than what that look finds.
func (f *fleet) stamp() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls
}

// begin begins a look.
func (f *fleet) begin() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls++
	return f.polls
}

// see takes note of the leases that there are. It returns the sessions that
// live.
func (f *fleet) see(documents []storage.Document) map[string]bool {
	own := f.session()
	sessions := map[string]bool{}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	found := map[string]*other{}
	changed := false
	for _, document := range documents {
		r := decodeInstance(document.Data)
		sessions[r.Session] = true
		name := strings.TrimPrefix(document.Key, instancePrefix)
		if r.Session == own {
			continue
		}
		o := f.others[name]
		if o == nil || o.Session != r.Session {
			o = &other{watch: watch{document.Revision, now}}
			changed = true
		}
		if o.revision != document.Revision {
			o.watch, o.moved = watch{document.Revision, now}, true
		}
		o.instanceRecord = r
		found[name] = o
	}
	for name := range f.others {
		if found[name] == nil {
			f.left, changed = now, true
		}
	}
	if changed || f.since.IsZero() {
		f.since = now
	}
	f.others = found
	delete(sessions, "")
	return sessions
}

// overdue returns the leases that have run out, by name, and when the next one
// would.
func (f *fleet) overdue() (names map[string]storage.Revision, next time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, next = map[string]storage.Revision{}, f.poll
	for name, o := range f.others {
		if left := o.patience(f.duration) - time.Since(o.since); left <= 0 {
			names[name] = o.revision
		} else {
			next = min(next, left)
		}
	}
	return names, next
}

// bury removes the leases that have run out. It returns the sessions that are
// dead.
func (f *fleet) bury(ctx context.Context) ([]string, error) {
	names, _ := f.overdue()
	var dead []string
	var errs []error
	for name, revision := range names {
		err := f.documents.Delete(ctx, instancePrefix+name, revision)
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

// lonely is after how many leases an instance that has left, perhaps because
// it could not reach the storage for a while, is no longer expected back.
const lonely = 6

// alone reports whether no other instance was there at the last look, nor for
// some time before.
func (f *fleet) alone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polls > 0 && len(f.others) == 0 && (f.left.IsZero() || time.Since(f.left) > lonely*f.duration)
}

// size returns the number of instances, and how long it has been that.
func (f *fleet) size() (n int, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 1 + len(f.others), time.Since(f.since)
}

// firstOfAll reports whether this start is the start of the service: nobody
// was running it before. It is not known before every lease that is there has
// moved or run out.
func (f *fleet) firstOfAll() (first, known bool) {
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

func (f *fleet) setAdrift(adrift bool) (changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = f.adrift != adrift
	f.adrift = adrift
	return changed
}

func (f *fleet) isAdrift() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adrift
}

func (f *fleet) isRestoring() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.restoring
}

// setFault records whether the storage can be read; it reports whether that
// is news.
func (f *fleet) setFault(err error) (news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news = (f.fault == nil) != (err == nil)
	f.fault = err
	return news
}

// storageFault says why a shared storage cannot be read; empty when it can, or
// is not shared.
func (m *Manager) storageFault() string {
	if m.fleet == nil {
		return ""
	}
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	if m.fleet.fault == nil {
		return ""
	}
	return "storage: " + m.fleet.fault.Error()
}

// instance returns the name of this instance; empty when it shares nothing.
func (m *Manager) instance() string {
	if m.fleet == nil {
		return ""
	}
	return m.fleet.name
}
