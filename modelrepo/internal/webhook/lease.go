package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/internal/retry"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// longestRetry is the longest pause between calls of a callback that fails.
const longestRetry = time.Hour

const (
	leasePrefix = "lease/" // and the webhook's identifier
	// longestSpan bounds how long a lease holds, whatever its document says.
	longestSpan = time.Hour
	// longestStart is how long a process that has just begun waits, at most, until it calls a
	// callback again that failed before: it does not know how much of the pause has passed.
	longestStart = time.Minute
)

// record is the lease of a webhook: the right of one process to call a callback, and the pause until the next attempt. It
// is a stored format; members that this version does not have are not kept.
//
// No clock is compared with that of another machine. Every process counts from the moment at
// which it first read the document as it is; the holder counts from before it wrote it, by the
// clock that advanced further, so the lease runs out for the holder first. The times are for
// processes of older versions, which compare them with their clock.
type record struct {
	Owner       string    `json:"owner,omitempty"`
	Until       time.Time `json:"until,omitzero"`
	LeaseMillis int64     `json:"leaseMillis,omitempty"` // how long the lease holds
	Failures    int       `json:"failures,omitempty"`    // in sequence
	Next        time.Time `json:"next,omitzero"`
	PauseMillis int64     `json:"pauseMillis,omitempty"` // until the next attempt
}

// millis returns a stored duration that is bounded.
func millis(stored int64, longest time.Duration) time.Duration {
	return time.Duration(min(max(stored, 0), longest.Milliseconds())) * time.Millisecond
}

// sight is the lease of a webhook as this process last read it. It belongs to the goroutine that
// delivers the queue of the webhook.
type sight struct {
	lease.Observation
	first storage.Revision // the first one that this process read
}

// heldLease is a lease that this process holds.
type heldLease struct {
	record
	hooks    *Hooks
	seen     *sight
	key      string
	revision storage.Revision
	renewed  lease.Instant
}

// span returns how long a lease holds: longer than several calls may take.
func (h *Hooks) span() time.Duration { return 3*h.config.Timeout + 10*time.Second }

// acquireLease acquires the lease of a webhook, unless another process holds it or the
// next attempt is not due.
func (h *Hooks) acquireLease(ctx context.Context, hook string) (*heldLease, bool, error) {
	held := &heldLease{hooks: h, key: leasePrefix + hook}
	doc, err := h.docs.Get(ctx, held.key)
	missing := errors.Is(err, storage.ErrNotFound)
	if err != nil && !missing {
		return nil, false, err
	}
	if !missing {
		if err = json.Unmarshal(doc.Data, &held.record); err != nil {
			return nil, false, err
		}
	}
	held.seen, held.revision = h.work.sight(hook, doc.Revision), doc.Revision
	if held.seen.Unchanged(doc.Revision) < h.rest(held) {
		return nil, false, nil
	}
	held.Owner, held.Next, held.PauseMillis = h.work.me, time.Time{}, 0
	err = held.renew(ctx)
	if storage.Overtaken(err) {
		return nil, false, nil // another process was faster
	}
	return held, err == nil, err
}

// rest is how long the document must have been seen as it is before this process may replace it.
func (h *Hooks) rest(l *heldLease) time.Duration {
	pause := millis(l.PauseMillis, longestRetry)
	switch {
	case l.Owner == h.work.me:
		return 0
	case l.Owner != "":
		return max(h.span(), millis(l.LeaseMillis, longestSpan))
	case pause == 0 && !l.Next.IsZero(): // of an older version
		pause = retry.Pause(h.config.Retry, longestRetry, l.Failures-1)
	}
	if l.seen.first == l.revision {
		return min(pause, longestStart)
	}
	return pause
}

// renew extends the lease so that it outlasts the next call. Storage that takes too long for
// that is an error: the lease may have run out for other processes, one of which may be calling.
func (l *heldLease) renew(ctx context.Context) error {
	span := l.hooks.span()
	latest := span - 2*l.hooks.config.Timeout // when a call may begin
	if l.renewed != (lease.Instant{}) && l.renewed.Elapsed() < latest {
		return nil
	}
	began := lease.Now()
	l.Until, l.LeaseMillis = time.Now().Add(span).UTC(), span.Milliseconds()
	if err := l.save(ctx); err != nil {
		return err
	}
	if took := began.Elapsed(); took >= latest {
		return fmt.Errorf("renew the lease %q: the storage took %v, must be less than %v; the next poll tries again", l.key, took, latest)
	}
	l.renewed = began
	return nil
}

func (l *heldLease) save(ctx context.Context) error {
	data, err := json.Marshal(l.record)
	if err != nil {
		return err
	}
	if l.revision == 0 {
		l.revision, err = l.hooks.docs.Create(ctx, l.key, data)
	} else {
		l.revision, err = l.hooks.docs.Update(ctx, l.key, l.revision, data)
	}
	return err
}

// failed records a failure and the pause until the next attempt.
func (l *heldLease) failed() {
	pause := retry.Pause(l.hooks.config.Retry, longestRetry, l.Failures).Round(time.Millisecond)
	l.Failures++
	l.Next, l.PauseMillis = time.Now().Add(pause).UTC(), pause.Milliseconds()
}

// release ends the lease, and wakes the deliveries when the next attempt is due before the next
// poll. If that fails the lease runs out.
func (l *heldLease) release(ctx context.Context) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	l.Owner, l.Until, l.LeaseMillis = "", time.Time{}, 0
	if l.save(ctx) == nil {
		l.seen.Unchanged(l.revision)
	}
	if pause := millis(l.PauseMillis, longestRetry); !l.Next.IsZero() && pause < l.hooks.config.Poll {
		time.AfterFunc(pause, l.hooks.work.wakeUp)
	}
}
