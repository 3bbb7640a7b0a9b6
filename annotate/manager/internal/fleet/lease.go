package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// ErrInstanceTaken is returned when another process that uses the same storage
// has the same instance name and is alive.
var ErrInstanceTaken = errors.New("another live instance has this name")

// errLeaseLost is returned when another instance has declared this one dead.
var errLeaseLost = errors.New("annotate: the lease was lost")

// instanceRecord is the document of an instance: it lives as long as the
// instance renews it. A session is never used twice, so that a session whose
// document is gone stays dead.
type instanceRecord struct {
	Session     string `json:"session"`
	Beat        uint64 `json:"beat"`
	LeaseMillis int64  `json:"leaseMillis"`
	// Restoring means that the instance has yet to decide whether its start is the
	// start of the whole service.
	Restoring bool `json:"restoring,omitempty"`
}

// MaxDuration bounds the time of a lease.
const MaxDuration = time.Hour

// patience is how long the document may rest before the lease has run out, for
// an instance whose own leases last for the duration.
func (r instanceRecord) patience(duration time.Duration) time.Duration {
	stated := time.Duration(min(max(r.LeaseMillis, 0), MaxDuration.Milliseconds())) * time.Millisecond
	return max(duration, stated)
}

// lease is the document of this instance, and with it the right to run the
// channels whose leases name its session. One document for all of them makes a
// renewal one write, however many channels there are.
//
// No clock is compared with that of another machine. The holder counts from
// the moment before it began the last renewal that succeeded, the other
// instances from the moment after they first read its result. So the lease
// runs out for the holder first. An instance declares another one dead by
// deleting the document at the revision that it has watched: of that and a
// late renewal only one succeeds.
type lease struct {
	documents storage.Documents
	name, key string
	duration  time.Duration
	renewed   chan struct{} // capacity 1: the lease was taken or renewed

	mu        sync.Mutex
	record    instanceRecord
	revision  storage.Revision // zero while there is no document of ours
	began     time.Time        // when the last renewal that succeeded began
	tried     time.Time        // when the first try began to write the next beat; zero when there was none
	tenure    context.Context  // ends when channels must begin to stop
	endTenure context.CancelFunc
	limit     context.Context // ends when they must be stopped
	endLimit  context.CancelFunc
}

func newLease(documents storage.Documents, name string, duration time.Duration, restoring bool) *lease {
	l := &lease{
		documents: documents, name: name, key: InstancePrefix + name, duration: duration,
		renewed: make(chan struct{}, 1),
		record:  instanceRecord{Session: rand.Text(), LeaseMillis: duration.Milliseconds(), Restoring: restoring},
	}
	l.tenure, l.endTenure = context.WithCancel(context.Background())
	l.limit, l.endLimit = context.WithCancel(context.Background())
	l.endTenure()
	l.endLimit()
	return l
}

// Session returns the name of this life of the instance; empty before it has
// joined the others.
func (l *lease) Session() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return ""
	}
	return l.record.Session
}

// Rights returns the contexts of a channel that runs by this lease.
func (l *lease) Rights() (tenure, limit context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tenure, l.limit
}

// Fresh reports whether the lease is certain at this moment.
func (l *lease) Fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision != 0 && l.tenure.Err() == nil && l.ageLocked() < l.stopAfter()
}

// ageLocked returns the time since the last renewal that succeeded began. The monotonic clock
// stands still while the machine is suspended, so the wall clock counts too.
func (l *lease) ageLocked() time.Duration {
	now := time.Now()
	return max(now.Sub(l.began), now.Round(0).Sub(l.began.Round(0)))
}

// stopAfter and cutAfter are how long after the beginning of the last renewal
// channels begin to stop, and are cut off. What is left until the lease runs
// out is for a clock that runs fast, and for the brokers to notice.
func (l *lease) stopAfter() time.Duration { return l.duration * 2 / 3 }
func (l *lease) cutAfter() time.Duration  { return l.duration * 9 / 10 }

// rhythm is the time between the beginnings of two renewals, and patience how long
// one of them may take. Together they leave time for a second try before stopAfter:
// the lease is kept at a storage that takes up to a third of a lease for its answers,
// or that gives none for a third of a lease.
func (l *lease) rhythm() time.Duration   { return l.duration / 6 }
func (l *lease) patience() time.Duration { return l.duration / 3 }

// adopt records a write that succeeded.
func (l *lease) adopt(record instanceRecord, revision storage.Revision, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = record
	l.revision = revision
	l.began = began
	l.tried = time.Time{}
	if l.tenure.Err() != nil && time.Since(began) < l.stopAfter() {
		l.tenure, l.endTenure = context.WithCancel(context.Background())
		l.limit, l.endLimit = context.WithCancel(context.Background())
	}
	notify.Send(l.renewed)
}

// suspend ends the tenure. The function that it returns ends what the tenure
// leaves unfinished.
func (l *lease) suspend() (cut context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endTenure()
	return l.endLimit
}

// deadlines returns when the current tenure ends if the lease is not renewed,
// and when everything must have stopped; zero when there is no tenure.
func (l *lease) deadlines() (stop, cut time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tenure.Err() != nil {
		return time.Time{}, time.Time{}
	}
	return l.began.Add(l.stopAfter()), l.began.Add(l.cutAfter())
}

// cut ends everything that runs by the lease.
func (l *lease) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endTenure()
	l.endLimit()
}

// renewal returns what a renewal writes.
func (l *lease) renewal() (instanceRecord, storage.Revision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.record
	next.Beat++
	return next, l.revision
}

// try notes that writing the next beat is tried. It returns when that was
// tried first.
func (l *lease) try(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tried.IsZero() {
		l.tried = now
	}
	return l.tried
}

// restoringDecided records that the instance has decided about the restored channels.
func (l *lease) restoringDecided(ctx context.Context) error {
	l.mu.Lock()
	l.record.Restoring = false
	l.mu.Unlock()
	return l.renew(ctx)
}

// renew writes the document once. It gives up early enough for another try
// before the tenure ends.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	next, revision := l.renewal()
	began := time.Now()
	first := l.try(began)
	revision, err := l.write(ctx, next, revision)
	switch {
	case err == nil:
		l.adopt(next, revision, began)
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return errLeaseLost
	case !errors.Is(err, storage.ErrConflict):
		return err
	}
	// Perhaps an earlier try succeeded and its answer was lost. It counts from the
	// first one, because it is unknown which one it was.
	document, err := l.documents.Get(ctx, l.key)
	if errors.Is(err, storage.ErrNotFound) {
		return errLeaseLost
	}
	if err != nil {
		return err
	}
	switch theirs := decodeInstance(document.Data); {
	case theirs.Session != next.Session:
		return errLeaseLost
	case theirs.Beat == next.Beat:
		l.adopt(next, document.Revision, first)
		return nil
	}
	l.mu.Lock()
	l.revision = document.Revision
	l.mu.Unlock()
	return fmt.Errorf("renew lease of instance %q: %w", l.name, storage.ErrConflict)
}

func (l *lease) write(ctx context.Context, record instanceRecord, prev storage.Revision) (storage.Revision, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return 0, err
	}
	if prev == 0 {
		return l.documents.Create(ctx, l.key, data)
	}
	return l.documents.Update(ctx, l.key, prev, data)
}

// hold renews the lease until ctx ends, and then returns nil, or until it is
// lost.
func (l *lease) hold(ctx context.Context) error {
	pause := l.rhythm()
	for Sleep(ctx, pause) {
		began := time.Now()
		switch err := l.renew(ctx); {
		case err == nil:
			pause = max(l.rhythm()-time.Since(began), 0)
		case errors.Is(err, errLeaseLost):
			return err
		case errors.Is(err, storage.ErrConflict):
			pause = 0
		default:
			pause = l.duration / 60
		}
	}
	return nil
}

// watch is a document of this name, or of another instance, as it was last read.
// This session did not write it.
type watch struct {
	revision storage.Revision
	since    time.Time
}

// join creates the document. While there is one of another session it watches
// that: it belongs to an earlier life of this instance, and runs out, or to
// another live process of the same name, and moves. It reports false when there
// is nothing to do except to continue watching.
func (l *lease) join(ctx context.Context, w *watch) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, l.duration)
	defer cancel()
	next, _ := l.renewal()
	document, err := l.documents.Get(ctx, l.key)
	prev := document.Revision
	switch {
	case errors.Is(err, storage.ErrNotFound):
		prev = 0
	case err != nil:
		return false, err
	default:
		theirs := decodeInstance(document.Data)
		patience := theirs.patience(l.duration)
		switch {
		case theirs.Session == next.Session: // ours, written and not answered
		case w.revision == 0:
			w.revision, w.since = prev, time.Now()
			return false, nil
		case w.revision != prev:
			return false, fmt.Errorf("join as instance %q: %w", l.name, ErrInstanceTaken)
		case time.Since(w.since) < patience:
			return false, nil
		}
	}
	began := time.Now()
	revision, err := l.write(ctx, next, prev)
	switch {
	case err == nil:
		l.adopt(next, revision, began)
		return true, nil
	case storage.Overtaken(err):
		return false, nil
	}
	return false, err
}

// rejoin creates a new session of a lease that was lost.
func (l *lease) rejoin() {
	l.cut()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record.Session = rand.Text()
	l.record.Beat = 0
	l.revision = 0
}

// resign removes the document, so that others take over at once. All channels
// are stopped.
func (l *lease) resign(ctx context.Context) error {
	l.cut()
	ours, revision := l.renewal()
	if revision == 0 {
		return nil
	}
	err := storage.Remove(ctx, l.documents, l.key, func(found storage.Document) (remove bool, err error) {
		return decodeInstance(found.Data).Session == ours.Session, nil
	})
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// decodeInstance reads the document of an instance. One that cannot be read is
// one of no instance, and runs out like every other.
func decodeInstance(data []byte) instanceRecord {
	var r instanceRecord
	_ = json.Unmarshal(data, &r)
	return r
}
