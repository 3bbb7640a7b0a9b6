package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/cas"
	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/storage"
)

const leasePrefix = "lease/" // and the webhook's identifier

// lease is the right of one process to call a callback, and the time of the next
// attempt. It is a stored format; members that this version does not have are not kept.
type lease struct {
	Owner    string    `json:"owner,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Failures int       `json:"failures,omitempty"` // in sequence
	Next     time.Time `json:"next,omitzero"`      // the next attempt
}

// heldLease is a lease that this process holds.
type heldLease struct {
	lease
	hooks    *Hooks
	key      string
	revision storage.Revision
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
		if err = json.Unmarshal(doc.Data, &held.lease); err != nil {
			return nil, false, err
		}
	}
	elsewhere := held.Owner != "" && held.Owner != h.work.me && clock.Ahead(held.Until, h.span())
	if elsewhere || clock.Ahead(held.Next, longestRetry) {
		return nil, false, nil
	}
	held.revision = doc.Revision
	held.Owner, held.Until = h.work.me, time.Now().Add(h.span()).UTC()
	data, err := json.Marshal(held.lease)
	if err != nil {
		return nil, false, err
	}
	if missing {
		held.revision, err = h.docs.Create(ctx, held.key, data)
	} else {
		held.revision, err = h.docs.Update(ctx, held.key, held.revision, data)
	}
	if cas.Moved(err) || errors.Is(err, storage.ErrExists) {
		return nil, false, nil // another process was faster
	}
	return held, err == nil, err
}

// renew extends the lease so that it outlasts the next call.
func (l *heldLease) renew(ctx context.Context) error {
	if time.Until(l.Until) > 2*l.hooks.config.Timeout {
		return nil
	}
	l.Until = time.Now().Add(l.hooks.span()).UTC()
	return l.save(ctx)
}

func (l *heldLease) save(ctx context.Context) error {
	data, err := json.Marshal(l.lease)
	if err != nil {
		return err
	}
	l.revision, err = l.hooks.docs.Update(ctx, l.key, l.revision, data)
	return err
}

// failed records a failure and returns the pause until the next attempt.
func (l *heldLease) failed(first time.Duration) time.Duration {
	pause := backoff(first, l.Failures)
	l.Failures++
	l.Next = time.Now().Add(pause).UTC()
	return pause
}

// release ends the lease. If that fails it expires.
func (l *heldLease) release(ctx context.Context) {
	ctx, cancel := cas.Cleanup(ctx)
	defer cancel()
	l.Owner, l.Until = "", time.Time{}
	_ = l.save(ctx)
}
