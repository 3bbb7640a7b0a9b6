package webhook

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

const (
	maxDeliveries = 16 // callbacks that are called at one time
	sweepInterval = time.Minute
	batch         = 16 // events that are read from a queue at a time
)

// work is what the deliveries of this process share.
type work struct {
	wake chan struct{} // has one when there may be something to deliver
	me   string        // names this process in leases
	mu   *sync.Mutex
	busy map[string]bool   // webhooks that are being called; guarded by mu
	seen map[string]*sight // the leases of webhooks; guarded by mu

	intents lease.Observations // of the goroutine of Run
}

func newWork() work {
	return work{wake: make(chan struct{}, 1), me: uuid.NewString(), mu: new(sync.Mutex),
		busy: map[string]bool{}, seen: map[string]*sight{}}
}

// wakeUp makes Run look at the queues.
func (w *work) wakeUp() {
	notify.Send(w.wake)
}

// begin marks the webhook as being called, and reports whether it was not.
func (w *work) begin(hook string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[hook] {
		return false
	}
	w.busy[hook] = true
	return true
}

func (w *work) end(hook string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, hook)
}

// sight returns what this process has seen of the lease of a webhook, which it reads at the
// revision.
func (w *work) sight(hook string, at storage.Revision) *sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[hook] == nil {
		w.seen[hook] = &sight{first: at}
	}
	return w.seen[hook]
}

// forget drops what was seen of the webhooks that were deleted.
func (w *work) forget(all stored) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.seen, func(hook string, _ *sight) bool { return all.at(hook) < 0 })
}

// Run delivers events until the context ends. A callback that does not answer delays
// those of other webhooks by no more than [Config].Timeout.
func (h *Hooks) Run(ctx context.Context) {
	caller := newCaller(h.config, h.Tracer)
	defer caller.close()
	var workers sync.WaitGroup
	defer workers.Wait()
	slots := make(chan struct{}, maxDeliveries)
	swept := time.Time{}
	ticker := time.NewTicker(h.config.Poll)
	defer ticker.Stop()
	for {
		all, err := h.load(ctx)
		if err == nil && time.Since(swept) >= min(sweepInterval, h.settle) {
			swept = time.Now()
			err = h.sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			h.log.Error("looking for events failed", "error", err)
		}
		for _, hook := range all.Hooks {
			if h.work.begin(hook.ID) {
				workers.Go(func() { h.deliverInTurn(ctx, caller, hook, slots) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-h.work.wake:
		case <-ticker.C:
		}
	}
}

// deliverInTurn waits for a slot and delivers the queue of a webhook.
func (h *Hooks) deliverInTurn(ctx context.Context, caller *caller, hook Hook, slots chan struct{}) {
	empty := false
	defer func() {
		h.work.end(hook.ID)
		if empty {
			h.work.wakeUp() // for events that arrived after the last read
		}
	}()
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return
	}
	var err error
	if empty, err = h.deliverQueue(ctx, caller, hook); err != nil && ctx.Err() == nil {
		h.log.Error("delivering events failed", "webhook", hook.ID, "error", err)
	}
}

// deliverQueue delivers the events of a webhook until the queue is empty or a call
// fails. It reports whether it emptied the queue.
func (h *Hooks) deliverQueue(ctx context.Context, caller *caller, hook Hook) (empty bool, err error) {
	prefix := eventPrefix + hook.ID + "/"
	queue, err := h.docs.List(ctx, prefix, "", batch)
	if err != nil || len(queue) == 0 {
		return false, err
	}
	held, mine, err := h.acquireLease(ctx, hook.ID)
	if err != nil || !mine {
		return false, err
	}
	defer held.release(ctx)
	// Another process may have delivered what was read without the lease.
	if queue, err = h.docs.List(ctx, prefix, "", batch); err != nil {
		return false, err
	}
	for len(queue) > 0 {
		for _, doc := range queue {
			if err := held.renew(ctx); err != nil {
				return false, err
			}
			delivered, err := h.deliverEvent(ctx, caller, hook, doc)
			if err != nil || ctx.Err() != nil {
				return false, err
			}
			if !delivered {
				held.failed()
				return false, nil
			}
			held.Failures = 0
		}
		if queue, err = h.docs.List(ctx, prefix, "", batch); err != nil {
			return false, err
		}
	}
	return true, nil
}

// deliverEvent calls the callback, and removes the event from the queue if the
// callback accepted it or the event is too old.
func (h *Hooks) deliverEvent(
	ctx context.Context, caller *caller, hook Hook, doc storage.Document,
) (delivered bool, err error) {
	var e Event
	if err := json.Unmarshal(doc.Data, &e); err != nil {
		return false, err
	}
	switch failure := caller.call(ctx, hook, e); {
	case failure == nil:
		h.delivered.Add(1)
	case ctx.Err() != nil:
		return false, nil
	case clock.Passed(e.Time, h.config.GiveUp):
		h.givenUp.Add(1)
		h.log.Warn("an event was dropped, its callback kept failing",
			"webhook", hook.ID, "event", e.ID, "action", e.Action, "error", failure)
	default:
		h.log.Info("a callback failed, it is called again", "webhook", hook.ID, "event", e.ID, "error", failure)
		return false, nil
	}
	return true, h.drop(ctx, doc)
}

// drop deletes a document that may have been deleted or changed already.
func (h *Hooks) drop(ctx context.Context, doc storage.Document) error {
	if err := h.docs.Delete(ctx, doc.Key, doc.Revision); err != nil && !storage.Overtaken(err) {
		return err
	}
	return nil
}

// sweep settles intents, and deletes the events and leases of webhooks that were
// deleted and the oldest events of queues that are too long.
func (h *Hooks) sweep(ctx context.Context) error {
	if err := h.settleIntents(ctx); err != nil {
		return err
	}
	queued := map[string]int{}
	for doc, err := range storage.All(ctx, h.docs, eventPrefix) {
		if err != nil {
			return err
		}
		hook, _, _ := strings.Cut(doc.Key[len(eventPrefix):], "/")
		queued[hook]++
	}
	var leases []storage.Document
	for doc, err := range storage.All(ctx, h.docs, leasePrefix) {
		if err != nil {
			return err
		}
		leases = append(leases, doc)
	}
	// What was listed belongs to webhooks that other processes have registered before: those that
	// are absent now were deleted.
	all, err := h.load(ctx)
	if err != nil {
		return err
	}
	h.work.forget(all)
	for hook, count := range queued {
		excess := count - h.config.MaxQueued
		if all.at(hook) < 0 {
			excess = count
		}
		if err := h.dropOldest(ctx, hook, excess); err != nil {
			return err
		}
	}
	for _, doc := range leases {
		if all.at(doc.Key[len(leasePrefix):]) >= 0 {
			continue
		}
		if err := h.drop(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// dropOldest deletes the first events of a queue.
func (h *Hooks) dropOldest(ctx context.Context, hook string, count int) error {
	if count <= 0 {
		return nil
	}
	for doc, err := range storage.All(ctx, h.docs, eventPrefix+hook+"/") {
		if err != nil {
			return err
		}
		if count--; count < 0 {
			break
		}
		h.givenUp.Add(1)
		if err := h.drop(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}
