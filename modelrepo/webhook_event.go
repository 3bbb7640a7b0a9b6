package modelrepo

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/storage"
)

// The first parts of the keys of events. An intent is there while an operation
// is under way; the events of a webhook are what it has to be told, in the
// order of their keys.
const (
	intentPrefix = "intent/" // and the event's identifier
	eventPrefix  = "event/"  // the webhook's identifier, a slash, the event's
)

// event is something that happens, or is about to. It is a stored format.
type event struct {
	ID     string    `json:"id"` // identifiers of later events are greater
	Action Action    `json:"action"`
	At     Path      `json:"at"`
	Format string    `json:"format,omitempty"` // of content
	Time   time.Time `json:"time"`
	Body   any       `json:"body,omitempty"`
	// Hooks are the webhooks to be told, of an intent.
	Hooks []string `json:"hooks,omitempty"`
}

// contentBody is what webhooks are told about content.
type contentBody struct {
	Format string `json:"format"`
	*File
	Overwrote bool `json:"overwrote,omitempty"`
}

// told does something, and has the webhooks told of the events when it
// succeeded. Before it begins the events are stored as intents, so that none is
// lost if the process ends between the deed and the telling: what became of
// such an intent, settleIntents finds out. Without a webhook that wants to know
// it costs one reading.
func (s *Store) told(ctx context.Context, do func() error, events ...*event) error {
	stored, _, err := s.webhooks(ctx)
	if err != nil {
		return err
	}
	var intended []*event
	var revisions []storage.Revision
	for _, e := range events {
		for _, hook := range stored.Hooks {
			if hook.matches(e.Action, e.At) {
				e.Hooks = append(e.Hooks, hook.ID)
			}
		}
		if len(e.Hooks) == 0 {
			continue
		}
		revision, err := s.intend(ctx, e)
		if err != nil {
			s.forget(ctx, intended, revisions)
			return err
		}
		intended, revisions = append(intended, e), append(revisions, revision)
	}
	err = do()
	switch {
	case err == nil && len(intended) > 0:
		s.emitAll(ctx, intended, revisions)
	case refused(err):
		s.forget(ctx, intended, revisions)
	}
	return err // after another one nobody knows whether it happened
}

// refused reports whether the error says that nothing happened.
func refused(err error) bool {
	var known *Error
	return errors.As(err, &known) || errors.Is(err, errAbsent) || errors.Is(err, storage.ErrExists) || errors.Is(err, ErrNotEmpty)
}

func (s *Store) intend(ctx context.Context, e *event) (storage.Revision, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return 0, err
	}
	e.ID, e.Time = id.String(), time.Now().UTC()
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return s.docs.Create(ctx, intentPrefix+e.ID, data)
}

// forget takes the intents of what did not happen away. What fails here is done
// by settleIntents.
func (s *Store) forget(ctx context.Context, intents []*event, revisions []storage.Revision) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	for i, e := range intents {
		_ = s.docs.Delete(ctx, intentPrefix+e.ID, revisions[i])
	}
}

// emitAll makes events of intents. What fails here is done by settleIntents:
// the intents are there.
func (s *Store) emitAll(ctx context.Context, intents []*event, revisions []storage.Revision) {
	ctx, cancel := lastly(ctx)
	defer cancel()
	for i, e := range intents {
		if err := s.emit(ctx, *e, revisions[i]); err != nil {
			s.log.Warn("an event waits to be settled", "event", e.ID, "action", e.Action, "error", err)
		}
	}
	s.deliveries.wakeUp()
}

// emit puts an event into the queues of its webhooks and takes the intent away.
func (s *Store) emit(ctx context.Context, e event, revision storage.Revision) error {
	hooks := e.Hooks
	e.Hooks = nil
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for _, hook := range hooks {
		_, err := s.docs.Create(ctx, eventPrefix+hook+"/"+e.ID, data)
		if err != nil && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
	if err := s.docs.Delete(ctx, intentPrefix+e.ID, revision); err != nil && !moved(err) {
		return err
	}
	return nil
}

// settleIntents looks at what operations left behind that are probably over,
// and has the webhooks told if the thing happened. An operation that is only
// slow loses nothing by it.
func (s *Store) settleIntents(ctx context.Context) error {
	for doc, err := range storage.All(ctx, s.docs, intentPrefix) {
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(doc.Data, &e); err != nil {
			return err
		}
		if time.Since(e.Time) < s.config.Settle {
			continue
		}
		happened, err := s.happened(ctx, &e)
		switch {
		case err != nil:
			return err
		case happened:
			err = s.emit(ctx, e, doc.Revision)
		case time.Since(e.Time) >= s.config.Webhooks.GiveUp:
			err = s.docs.Delete(ctx, doc.Key, doc.Revision)
		}
		if err != nil && !moved(err) {
			return err
		}
	}
	return nil
}

// happened reports whether things are as they are after the event.
func (s *Store) happened(ctx context.Context, e *event) (bool, error) {
	n, err := s.find(ctx, e.At, e.At.depth())
	absent := errors.Is(err, errAbsent)
	if err != nil && !absent {
		return false, err
	}
	switch e.Action {
	case NamespaceDelete, ModelDelete, ModelVersionDelete:
		return absent, nil
	case NamespaceCreate, ModelCreate, ModelVersionCreate:
		return !absent, nil
	}
	i := -1
	if !absent {
		i = n.entryAt(e.Format)
	}
	if e.Action == ContentDelete {
		return i < 0, nil
	}
	if i < 0 || n.Formats[i].Uploaded.Before(e.Time) {
		return false, nil
	}
	file := n.Formats[i].file()
	e.Body = contentBody{Format: e.Format, File: &file}
	return true, nil
}
