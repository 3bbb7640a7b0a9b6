package lease

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// ErrLost is the cause of the end of [Lease.Context] when the lease was not renewed in
// time, or was taken by another process.
var ErrLost = errors.New("lease: lost")

// ErrTaken is matched by the cause, beside [ErrLost], when another process has taken the key
// and still has it.
var ErrTaken = errors.New("lease: another process has the key")

// ErrReleased is the cause of the end of [Lease.Context] after [Lease.Release].
var ErrReleased = errors.New("lease: released")

// Bounds of [Config].Duration.
const (
	MinDuration = 10 * time.Millisecond
	MaxDuration = time.Hour
)

// Config configures [Acquire].
type Config struct {
	// Documents has the document of the lease. Required.
	Documents storage.Documents
	// Key is that of the document, which nothing else uses. Required.
	Key string
	// Duration is how long the lease lasts after a renewal, from [MinDuration] to
	// [MaxDuration]; it is renewed each third of that. Shorter leases are taken over
	// sooner and end at shorter outages of the store. Processes that compete for a key may
	// have different durations. Required.
	Duration time.Duration
	// Value is a JSON value that other processes can read, such as an address. Nil has
	// none.
	Value json.RawMessage
	// Succeed takes the key at once, also where a lease of it has not run out. It is for
	// a process that knows that the holder before it has ended, such as by a lock of the
	// operating system.
	Succeed bool
	// Last is the session of a lease of this process that was lost: the key is taken at once
	// where that is still its holder. Empty is none.
	Last string
	// Failed is called with the error of each try that failed and is repeated. Nil
	// ignores them.
	Failed func(err error)
}

func (c Config) check() error {
	switch {
	case c.Documents == nil:
		return errors.New("acquire lease: Documents is required")
	case c.Duration < MinDuration || c.Duration > MaxDuration:
		return fmt.Errorf("acquire lease: Duration is %v, must be %v to %v", c.Duration, MinDuration, MaxDuration)
	}
	return storage.ValidKey(c.Key)
}

// document is what is stored. A session is never used twice: one whose document is gone
// stays dead.
type document struct {
	Session     string          `json:"session"`
	Beat        uint64          `json:"beat"`
	LeaseMillis int64           `json:"leaseMillis"`
	Value       json.RawMessage `json:"value,omitempty"`
}

// patience is how long the document may rest before the lease has run out, for a process
// whose own leases last for the duration.
func (d document) patience(duration time.Duration) time.Duration {
	stated := time.Duration(min(max(d.LeaseMillis, 0), MaxDuration.Milliseconds())) * time.Millisecond
	return max(duration, stated)
}

// decode reads the document of a lease. One that cannot be read is of no session, and runs
// out like every other.
func decode(data []byte) document {
	var d document
	_ = json.Unmarshal(data, &d)
	return d
}

// Lease is the right to a key. It is safe for concurrent use. Get one from [Acquire], and
// release it.
type Lease struct {
	config   Config
	ctx      context.Context
	end      context.CancelCauseFunc
	renewing context.Context // ends to stop the renewals
	quit     context.CancelFunc
	ended    chan struct{} // closed when no renewal is under way any more

	session string
	expiry  *time.Timer

	// What follows belongs to the goroutine that acquires the lease, and then to hold.
	doc      document
	revision storage.Revision
	renewed  Instant // the beginning of the last renewal that succeeded
	tried    Instant // the beginning of the first try to write the next beat; zero if there was none
}

// Acquire takes a key and renews the lease until it is released or lost. Where another
// process holds the key, Acquire waits until that process releases it or its lease runs
// out. Failures of the store are repeated. The error is that of an invalid configuration,
// or the cause for which the context ended. The context bounds the wait, not the lease.
func Acquire(ctx context.Context, config Config) (*Lease, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if config.Failed == nil {
		config.Failed = func(error) {}
	}
	l := &Lease{
		config: config, ended: make(chan struct{}),
		session: rand.Text(),
	}
	l.renewing, l.quit = context.WithCancel(context.Background())
	l.doc = document{Session: l.session, LeaseMillis: config.Duration.Milliseconds(), Value: config.Value}
	var seen Observation
	for {
		began, err := l.take(ctx, &seen)
		switch {
		case ctx.Err() != nil:
			l.withdraw(ctx)
			return nil, context.Cause(ctx)
		case err != nil:
			config.Failed(err)
		case began != Instant{} && began.Elapsed() < l.cutAfter():
			l.begin(began)
			return l, nil
		case began != Instant{}:
			continue // it took so long that it must be renewed first
		}
		if !sleep(ctx, config.Duration/20) {
			l.withdraw(ctx)
			return nil, context.Cause(ctx)
		}
	}
}

// cutAfter is how long after the beginning of the last renewal the context ends. What is
// left until the lease runs out is for a clock that runs fast.
func (l *Lease) cutAfter() time.Duration { return l.config.Duration * 9 / 10 }

// take tries once to write the document. It returns since when the lease counts; zero when
// another process has the key.
func (l *Lease) take(ctx context.Context, seen *Observation) (Instant, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Duration)
	defer cancel()
	stored, err := l.config.Documents.Get(ctx, l.config.Key)
	prev := stored.Revision
	switch {
	case errors.Is(err, storage.ErrNotFound):
		prev = 0
	case err != nil:
		return Instant{}, err
	default:
		theirs := decode(stored.Data)
		if theirs.Session == l.session { // written by an earlier try whose answer was lost
			l.revision = prev
		} else if !l.config.Succeed && theirs.Session != l.config.Last && seen.Unchanged(prev) < theirs.patience(l.config.Duration) {
			return Instant{}, nil
		}
	}
	next, began := l.doc, Now()
	next.Beat++
	revision, err := l.write(ctx, next, prev)
	switch {
	case err == nil:
		l.doc, l.revision = next, revision
		return began, nil
	case storage.Overtaken(err):
		return Instant{}, nil // another process was first
	}
	return Instant{}, err
}

func (l *Lease) write(ctx context.Context, d document, prev storage.Revision) (storage.Revision, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("acquire lease %q: %w", l.config.Key, err)
	}
	if prev == 0 {
		return l.config.Documents.Create(ctx, l.config.Key, data)
	}
	return l.config.Documents.Update(ctx, l.config.Key, prev, data)
}

// begin starts the lease.
func (l *Lease) begin(began Instant) {
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.renewed = began
	l.expiry = time.AfterFunc(l.cutAfter()-began.Elapsed(), l.expire)
	go l.hold()
}

// expire ends the context of a lease that was not renewed in time.
func (l *Lease) expire() {
	l.end(fmt.Errorf("%w: %q was not renewed within %v", ErrLost, l.config.Key, l.cutAfter()))
}

// Session returns the name of this holding of the key. No other has the same.
func (l *Lease) Session() string { return l.session }

// Context returns a context that ends when the lease is lost or released, and before
// another process can take the key; after the machine was suspended, within a twentieth of
// the duration. Its cause matches [ErrLost] or [ErrReleased].
func (l *Lease) Context() context.Context { return l.ctx }

// hold renews the lease until it is lost or released.
func (l *Lease) hold() {
	defer close(l.ended)
	defer l.expiry.Stop()
	pause := l.config.Duration / 3
	for l.rest(pause) {
		began := Now()
		switch err := l.renew(); {
		case err == nil:
			pause = max(l.config.Duration/3-began.Elapsed(), 0)
		case errors.Is(err, ErrLost):
			l.end(err)
			return
		case l.renewing.Err() != nil:
			return
		case errors.Is(err, storage.ErrConflict):
			pause = 0
		default:
			l.config.Failed(err)
			pause = l.config.Duration / 20
		}
	}
}

// rest waits for a pause. It returns false once the lease has ended. The timers of a machine
// that was suspended come late, so rest looks at both clocks from time to time.
func (l *Lease) rest(pause time.Duration) bool {
	for begun := Now(); ; {
		if l.renewed.Elapsed() >= l.cutAfter() {
			l.expire()
		}
		if l.renewing.Err() != nil || l.ctx.Err() != nil {
			return false
		}
		left := pause - begun.Elapsed()
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, l.config.Duration/20))
		select {
		case <-timer.C:
		case <-l.renewing.Done():
		case <-l.ctx.Done():
		}
		timer.Stop()
	}
}

// renew writes the document once. It gives up early enough for another try before the
// lease ends.
func (l *Lease) renew() error {
	ctx, cancel := context.WithTimeout(l.ctx, l.config.Duration/5)
	defer cancel()
	defer context.AfterFunc(l.renewing, cancel)()
	next, began := l.doc, Now()
	next.Beat++
	if (l.tried == Instant{}) {
		l.tried = began
	}
	revision, err := l.write(ctx, next, l.revision)
	if err == nil {
		l.adopt(next, revision, began)
		return nil
	}
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
		return err
	}
	stored, got := l.config.Documents.Get(ctx, l.config.Key)
	switch theirs := decode(stored.Data); {
	case errors.Is(got, storage.ErrNotFound):
		return fmt.Errorf("%w: %q had run out, and was deleted", ErrLost, l.config.Key)
	case got != nil:
		return got
	case theirs.Session != next.Session:
		return fmt.Errorf("%w: %q: %w", ErrLost, l.config.Key, ErrTaken)
	case theirs.Beat == next.Beat:
		// An earlier try succeeded and its answer was lost. It counts from the first one,
		// because it is not known which it was.
		l.adopt(next, stored.Revision, l.tried)
		return nil
	}
	l.revision = stored.Revision
	return err
}

// adopt records a write that succeeded.
func (l *Lease) adopt(next document, revision storage.Revision, began Instant) {
	l.doc, l.revision, l.renewed, l.tried = next, revision, began, Instant{}
	if l.ctx.Err() == nil {
		l.expiry.Reset(l.cutAfter() - began.Elapsed())
	}
}

// Release ends the lease and frees the key, so that another process can take it at once.
// The work that the lease allowed must have ended. Releasing a lease that was lost, or
// twice, does nothing.
func (l *Lease) Release(ctx context.Context) error {
	l.quit()
	<-l.ended
	l.end(ErrReleased)
	return l.free(ctx)
}

// free deletes the document if it is that of this session.
func (l *Lease) free(ctx context.Context) error {
	err := storage.Remove(ctx, l.config.Documents, l.config.Key, func(found storage.Document) (remove bool, err error) {
		return decode(found.Data).Session == l.session, nil
	})
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("release lease: %w", err)
	}
	return nil
}

// withdraw removes what a take that was given up may have written.
func (l *Lease) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(l.config.Duration, time.Second))
	defer cancel()
	if err := l.free(ctx); err != nil {
		l.config.Failed(err)
	}
}

// sleep waits. It returns false when the context ends.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
