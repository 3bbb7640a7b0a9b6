package modelrepo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// WebhookConfig says how webhooks are called. The zero value is the default.
type WebhookConfig struct {
	// AllowPrivate permits callbacks at addresses that are not public:
	// loopback, private, link-local and the like. Without it they are refused
	// when the connection is made, whatever the name resolves to.
	AllowPrivate bool
	// GiveUp is how long an event is kept for a callback that does not take
	// it. Zero means 24 hours.
	GiveUp time.Duration
	// Timeout is how long a callback may take to answer. Zero means 10 seconds.
	Timeout time.Duration
	// Retry is the pause after the first failure. It doubles with each, up to
	// one hour, less up to a half at random. Zero means one second.
	Retry time.Duration
	// Poll is how often Run looks for events of other processes. Zero means 5
	// seconds.
	Poll time.Duration
	// MaxQueued is how many events wait for one webhook; the oldest go first.
	// The bound is enforced once a minute. Zero means 10,000.
	MaxQueued int
}

// normal returns the configuration with its defaults.
func (c WebhookConfig) normal() WebhookConfig {
	c.GiveUp = cmp.Or(c.GiveUp, 24*time.Hour)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Retry = cmp.Or(c.Retry, time.Second)
	c.Poll = cmp.Or(c.Poll, 5*time.Second)
	c.MaxQueued = cmp.Or(c.MaxQueued, 10_000)
	return c
}

const (
	leasePrefix   = "lease/" // and the webhook's identifier
	longestRetry  = time.Hour
	maxDeliveries = 16 // callbacks that are called at one time
	sweepInterval = time.Minute
)

// lease is who calls a callback, and when. It is a stored format.
type lease struct {
	Owner    string    `json:"owner,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Failures int       `json:"failures,omitempty"` // in a row
	Next     time.Time `json:"next,omitzero"`      // the next attempt
}

// deliveries is what the deliveries of this process share.
type deliveries struct {
	wake chan struct{} // has one if there may be something to deliver
	me   string
	mu   sync.Mutex
	busy map[string]bool // webhooks that are being called
}

func newDeliveries() *deliveries {
	return &deliveries{wake: make(chan struct{}, 1), me: newID(), busy: map[string]bool{}}
}

func (d *deliveries) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// begin reports whether nobody here calls the webhook, and takes it.
func (d *deliveries) begin(hook string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy[hook] {
		return false
	}
	d.busy[hook] = true
	return true
}

func (d *deliveries) end(hook string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.busy, hook)
}

// deliver calls callbacks until the context ends. Each webhook has at most one
// call under way, so that its events come in order; a callback that does not
// answer delays nobody else for longer than the timeout.
func (s *Store) deliver(ctx context.Context) {
	caller := newCaller(s.config.Webhooks)
	defer caller.close()
	var workers sync.WaitGroup
	defer workers.Wait()
	slots := make(chan struct{}, maxDeliveries)
	swept := time.Time{}
	ticker := time.NewTicker(s.config.Webhooks.Poll)
	defer ticker.Stop()
	for {
		stored, _, err := s.webhooks(ctx)
		if err == nil && time.Since(swept) >= min(sweepInterval, s.config.Settle) {
			swept = time.Now()
			err = s.sweepEvents(ctx, stored)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("looking for events failed", "error", err)
		}
		for _, hook := range stored.Hooks {
			if !s.deliveries.begin(hook.ID) {
				continue
			}
			workers.Go(func() {
				more := false
				defer func() {
					s.deliveries.end(hook.ID)
					if more {
						s.deliveries.wakeUp() // what came after the last look
					}
				}()
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
				case <-ctx.Done():
					return
				}
				var err error
				if more, err = s.work(ctx, caller, hook); err != nil && ctx.Err() == nil {
					s.log.Error("delivering events failed", "webhook", hook.ID, "error", err)
				}
			})
		}
		select {
		case <-ctx.Done():
			return
		case <-s.deliveries.wake:
		case <-ticker.C:
		}
	}
}

// work delivers the events of a webhook until there are none, or one fails. It
// returns true if it delivered them all: more may have come.
func (s *Store) work(ctx context.Context, caller *caller, hook NewWebhook) (all bool, err error) {
	prefix := eventPrefix + hook.ID + "/"
	queue, err := s.docs.List(ctx, prefix, "", 16)
	if err != nil || len(queue) == 0 {
		return false, err
	}
	held, mine, err := s.claimLease(ctx, hook.ID)
	if err != nil || !mine {
		return false, err
	}
	defer held.release(ctx)
	// What was read without the lease, another process may have delivered.
	if queue, err = s.docs.List(ctx, prefix, "", 16); err != nil {
		return false, err
	}
	for len(queue) > 0 {
		for _, doc := range queue {
			if err := held.renew(ctx); err != nil {
				return false, err
			}
			delivered, err := s.deliverOne(ctx, caller, hook, doc)
			if err != nil || ctx.Err() != nil {
				return false, err
			}
			if !delivered {
				pause := held.failed(s.config.Webhooks.Retry)
				if pause < s.config.Webhooks.Poll {
					time.AfterFunc(pause, s.deliveries.wakeUp)
				}
				return false, nil
			}
			held.Failures = 0
		}
		if queue, err = s.docs.List(ctx, prefix, "", 16); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deliverOne calls the callback, and takes the event away if it was taken or is
// too old.
func (s *Store) deliverOne(ctx context.Context, caller *caller, hook NewWebhook, doc storage.Document) (delivered bool, err error) {
	var e event
	if err := json.Unmarshal(doc.Data, &e); err != nil {
		return false, err
	}
	switch failure := caller.call(ctx, hook, e); {
	case failure == nil:
		s.stats.delivered.Add(1)
	case ctx.Err() != nil:
		return false, nil
	case time.Since(e.Time) >= s.config.Webhooks.GiveUp:
		s.stats.givenUp.Add(1)
		s.log.Warn("a webhook was not told of an event", "webhook", hook.ID, "event", e.ID, "action", e.Action, "error", failure)
	default:
		s.log.Info("a callback failed, and will be called again", "webhook", hook.ID, "event", e.ID, "error", failure)
		return false, nil
	}
	if err := s.docs.Delete(ctx, doc.Key, doc.Revision); err != nil && !moved(err) {
		return false, err
	}
	return true, nil
}

// sweepEvents settles intents, and drops what nobody waits for and what is too
// much.
func (s *Store) sweepEvents(ctx context.Context, stored storedWebhooks) error {
	if err := s.settleIntents(ctx); err != nil {
		return err
	}
	drop := func(doc storage.Document) error {
		if err := s.docs.Delete(ctx, doc.Key, doc.Revision); err != nil && !moved(err) {
			return err
		}
		return nil
	}
	queued := map[string]int{}
	for doc, err := range storage.All(ctx, s.docs, eventPrefix) {
		if err != nil {
			return err
		}
		hook, _, _ := strings.Cut(doc.Key[len(eventPrefix):], "/")
		queued[hook]++
	}
	for hook, count := range queued {
		excess := count - s.config.Webhooks.MaxQueued
		if stored.at(hook) < 0 {
			excess = count
		}
		for doc, err := range storage.All(ctx, s.docs, eventPrefix+hook+"/") {
			if err != nil {
				return err
			}
			if excess--; excess < 0 {
				break
			}
			s.stats.givenUp.Add(1)
			if err := drop(doc); err != nil {
				return err
			}
		}
	}
	for doc, err := range storage.All(ctx, s.docs, leasePrefix) {
		if err != nil {
			return err
		}
		if stored.at(doc.Key[len(leasePrefix):]) < 0 {
			if err := drop(doc); err != nil {
				return err
			}
		}
	}
	return nil
}

// heldLease is a lease of this process.
type heldLease struct {
	lease
	store    *Store
	key      string
	revision storage.Revision
}

// span is how long a lease holds: some calls longer than one may take.
func (s *Store) span() time.Duration { return 3*s.config.Webhooks.Timeout + 10*time.Second }

// claimLease takes the lease of a webhook, unless another process has it or
// the next attempt is not due.
func (s *Store) claimLease(ctx context.Context, hook string) (*heldLease, bool, error) {
	held := &heldLease{store: s, key: leasePrefix + hook}
	doc, err := s.docs.Get(ctx, held.key)
	missing := errors.Is(err, storage.ErrNotFound)
	if err != nil && !missing {
		return nil, false, err
	}
	if !missing {
		if err := json.Unmarshal(doc.Data, &held.lease); err != nil {
			return nil, false, err
		}
	}
	now := time.Now()
	if held.Next.After(now) || held.Owner != "" && held.Owner != s.deliveries.me && held.Until.After(now) {
		return nil, false, nil
	}
	held.revision = doc.Revision
	held.Owner, held.Until = s.deliveries.me, now.Add(s.span()).UTC()
	data, err := json.Marshal(held.lease)
	if err != nil {
		return nil, false, err
	}
	if missing {
		held.revision, err = s.docs.Create(ctx, held.key, data)
	} else {
		held.revision, err = s.docs.Update(ctx, held.key, held.revision, data)
	}
	if moved(err) || errors.Is(err, storage.ErrExists) {
		return nil, false, nil // another process was faster
	}
	return held, err == nil, err
}

// renew makes sure that the lease outlasts the next call.
func (l *heldLease) renew(ctx context.Context) error {
	if time.Until(l.Until) > 2*l.store.config.Webhooks.Timeout {
		return nil
	}
	l.Until = time.Now().Add(l.store.span()).UTC()
	return l.save(ctx)
}

func (l *heldLease) save(ctx context.Context) error {
	data, err := json.Marshal(l.lease)
	if err != nil {
		return err
	}
	l.revision, err = l.store.docs.Update(ctx, l.key, l.revision, data)
	return err
}

// failed notes a failure and returns the pause until the next attempt.
func (l *heldLease) failed(first time.Duration) time.Duration {
	pause := longestRetry
	if l.Failures < 30 && first<<l.Failures > 0 {
		pause = min(pause, first<<l.Failures)
	}
	l.Failures++
	pause -= rand.N(pause/2 + 1)
	l.Next = time.Now().Add(pause).UTC()
	return pause
}

// release gives the lease back. If that fails it runs out.
func (l *heldLease) release(ctx context.Context) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	l.Owner, l.Until = "", time.Time{}
	_ = l.save(ctx)
}
