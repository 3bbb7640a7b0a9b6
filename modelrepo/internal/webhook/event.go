package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/modelrepo/internal/cleanup"
	"github.com/iotenablers/enablers/modelrepo/internal/clock"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// The first parts of the keys of events. An intent exists while an operation is in
// progress. The events below a webhook are its queue, in the order of their keys.
const (
	intentPrefix = "intent/" // and the event's identifier
	eventPrefix  = "event/"  // the webhook's identifier, a slash, the event's
)

// Event is an operation that has happened, or that is in progress while the event is
// an intent. It is a stored format.
type Event struct {
	ID     string    `json:"id"` // identifiers of later events are greater
	Action string    `json:"action"`
	At     Place     `json:"at"`
	Format string    `json:"format,omitempty"` // of content
	Time   time.Time `json:"time"`
	Body   any       `json:"body,omitempty"`
	// Hooks are the webhooks in whose queues the event goes; only of an intent.
	Hooks []string `json:"hooks,omitempty"`
	// TraceParent and TraceState are the place of the operation in its trace, which the calls
	// continue; empty without one.
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

// Record runs an operation and, when it succeeds, puts its events into the queues of
// the webhooks that are registered for them. The events are stored as intents before
// the operation begins, so that none is lost if the process ends in between. With no
// webhook for the events Record costs one read.
func (h *Hooks) Record(ctx context.Context, operation func() error, events ...*Event) error {
	all, err := h.load(ctx)
	if err != nil {
		return err
	}
	var intents []*Event
	var revisions []storage.Revision
	for _, e := range events {
		for _, hook := range all.Hooks {
			if hook.matches(e.Action, e.At) {
				e.Hooks = append(e.Hooks, hook.ID)
			}
		}
		if len(e.Hooks) == 0 {
			continue
		}
		revision, err := h.intend(ctx, e)
		if err != nil {
			h.withdraw(ctx, intents, revisions)
			return err
		}
		intents, revisions = append(intents, e), append(revisions, revision)
	}
	err = operation()
	if err == nil && h.Happened != nil {
		for _, e := range events {
			h.Happened(*e)
		}
	}
	switch {
	case err == nil && len(intents) > 0:
		h.emitAll(ctx, intents, revisions)
	case h.tree.Refused(err):
		h.withdraw(ctx, intents, revisions)
	}
	return err // after any other error it is not known whether the operation happened
}

// intend stores an event as an intent.
func (h *Hooks) intend(ctx context.Context, e *Event) (storage.Revision, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return 0, err
	}
	e.ID, e.Time = id.String(), time.Now().UTC()
	at := tracing.ContextOf(ctx)
	e.TraceParent, e.TraceState = at.Parent, at.State
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return h.docs.Create(ctx, intentPrefix+e.ID, data)
}

// withdraw deletes the intents of an operation that did not happen. Those that
// remain are deleted by settleIntents.
func (h *Hooks) withdraw(ctx context.Context, intents []*Event, revisions []storage.Revision) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for i, e := range intents {
		_ = h.docs.Delete(ctx, intentPrefix+e.ID, revisions[i])
	}
}

// emitAll replaces intents by events. Intents that remain are handled by
// settleIntents.
func (h *Hooks) emitAll(ctx context.Context, intents []*Event, revisions []storage.Revision) {
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	for i, e := range intents {
		if err := h.emit(ctx, *e, revisions[i]); err != nil {
			h.log.Warn("storing an event failed, the next sweep stores it",
				"event", e.ID, "action", e.Action, "error", err)
		}
	}
	h.work.wakeUp()
}

// emit puts an event into the queues of its webhooks and deletes the intent.
func (h *Hooks) emit(ctx context.Context, e Event, revision storage.Revision) error {
	hooks := e.Hooks
	e.Hooks = nil
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for _, hook := range hooks {
		_, err := h.docs.Create(ctx, eventPrefix+hook+"/"+e.ID, data)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
	if err := h.docs.Delete(ctx, intentPrefix+e.ID, revision); err != nil && !storage.Overtaken(err) {
		return err
	}
	return nil
}

// settleIntents handles the intents of operations that have probably crashed, because this
// process has seen them for long enough: those that happened become events, the others are
// deleted after [Config].GiveUp. An operation that is only slow loses nothing by it.
func (h *Hooks) settleIntents(ctx context.Context) error {
	return h.work.intents.Look(func(unchanged lease.Unchanged) error {
		for doc, err := range storage.All(ctx, h.docs, intentPrefix) {
			if err == nil && unchanged(doc.Key, doc.Revision) >= h.settle {
				err = h.settleIntent(ctx, doc)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *Hooks) settleIntent(ctx context.Context, doc storage.Document) error {
	var e Event
	if err := json.Unmarshal(doc.Data, &e); err != nil {
		return err
	}
	body, happened, err := h.tree.Happened(ctx, e)
	switch {
	case err != nil:
		return err
	case happened:
		e.Body = body
		err = h.emit(ctx, e, doc.Revision)
	case clock.Passed(e.Time, h.config.GiveUp):
		err = h.docs.Delete(ctx, doc.Key, doc.Revision)
	}
	if storage.Overtaken(err) {
		return nil
	}
	return err
}
