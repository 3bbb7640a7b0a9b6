package webhook

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/storage"
)

// Max is how many webhooks a repository has at most.
const Max = 1000

// Why webhooks are not changed.
var (
	// ErrNotFound is returned when there is no webhook with the identifier.
	ErrNotFound = errors.New("webhook: not found")
	// ErrTooMany is returned when there are [Max] webhooks already.
	ErrTooMany = errors.New("webhook: too many")
)

// Place is where something happens. Empty fields of a webhook's place match any name.
type Place struct{ Namespace, Model, Version string }

// Context is the place of a webhook as it is stored.
type Context struct {
	Namespace string `json:"namespace,omitempty"`
	Model     string `json:"model,omitempty"`
	Version   string `json:"version,omitempty"`
}

// Hook is a webhook. It is a stored format.
type Hook struct {
	ID       string    `json:"id" keep:"key"`
	Action   string    `json:"action"`
	Callback string    `json:"callback"`
	Context  *Context  `json:"context,omitempty"` // nil means anywhere
	Created  time.Time `json:"created"`
	Secret   string    `json:"secret"` // signs the calls
}

// matches reports whether the webhook is registered for the action at the place.
func (h Hook) matches(action string, at Place) bool {
	c := h.Context
	return h.Action == action && (c == nil ||
		(c.Namespace == "" || c.Namespace == at.Namespace) &&
			(c.Model == "" || c.Model == at.Model) &&
			(c.Version == "" || c.Version == at.Version))
}

// storedKey is the key of the document with all webhooks. Every operation reads all
// of them, so one document holds them.
const storedKey = "webhooks"

// stored is that document. It is a stored format.
type stored struct {
	Hooks []Hook `json:"hooks"`

	unknown keep.Members
}

var storedType = keep.TypeFor[stored]()

// at returns the index of a webhook, or -1.
func (s stored) at(id string) int {
	return slices.IndexFunc(s.Hooks, func(hook Hook) bool { return hook.ID == id })
}

// Tree is what events are about.
type Tree interface {
	// Happened reports whether the tree is in the state after the event, and returns
	// the body of the event as it is then.
	Happened(ctx context.Context, e Event) (body any, happened bool, err error)
	// Refused reports whether an operation that returned the error changed nothing.
	Refused(err error) bool
}

// Hooks are the webhooks of a repository, with their queues. Create it with [New]. It
// is safe for concurrent use, also by several processes over one store.
type Hooks struct {
	docs   storage.Documents
	tree   Tree
	config Config
	settle time.Duration
	log    *slog.Logger
	work   work

	// Happened is called after each operation with its events, also those that no webhook is
	// registered for. Nil means not at all. It is set before the first operation.
	Happened func(Event)
	// Tracer records a span of each call. Nil is off. It is set before Run.
	Tracer *tracing.Tracer

	delivered, givenUp atomic.Uint64
}

// New returns the webhooks in a store of documents. An intent that is older than
// settle belongs to an operation that has probably crashed.
func New(docs storage.Documents, tree Tree, config Config, settle time.Duration, log *slog.Logger) *Hooks {
	return &Hooks{docs: docs, tree: tree, config: config.withDefaults(), settle: settle, log: log, work: newWork()}
}

// Delivered returns how many events callbacks accepted, since New.
func (h *Hooks) Delivered() uint64 { return h.delivered.Load() }

// GivenUp returns how many events were dropped, since New.
func (h *Hooks) GivenUp() uint64 { return h.givenUp.Load() }

// Create adds a webhook under a new identifier and returns it. The error matches
// [ErrTooMany].
func (h *Hooks) Create(ctx context.Context, hook Hook) (Hook, error) {
	hook.ID, hook.Created = uuid.NewString(), time.Now().UTC()
	err := h.edit(ctx, func(s *stored) error {
		if len(s.Hooks) >= Max {
			return ErrTooMany
		}
		s.Hooks = append(s.Hooks, hook)
		return nil
	})
	return hook, err
}

// List returns all webhooks in the order of their creation.
func (h *Hooks) List(ctx context.Context) ([]Hook, error) {
	all, err := h.load(ctx)
	return all.Hooks, err
}

// Get returns a webhook. The error matches [ErrNotFound].
func (h *Hooks) Get(ctx context.Context, id string) (Hook, error) {
	all, err := h.load(ctx)
	if err != nil {
		return Hook{}, err
	}
	if i := all.at(id); i >= 0 {
		return all.Hooks[i], nil
	}
	return Hook{}, ErrNotFound
}

// Delete removes a webhook. Events in its queue are dropped. The error matches
// [ErrNotFound].
func (h *Hooks) Delete(ctx context.Context, id string) error {
	return h.edit(ctx, func(s *stored) error {
		i := s.at(id)
		if i < 0 {
			return ErrNotFound
		}
		s.Hooks = slices.Delete(s.Hooks, i, i+1)
		return nil
	})
}

// load reads all webhooks. There are none before the first was created.
func (h *Hooks) load(ctx context.Context) (stored, error) {
	doc, err := h.docs.Get(ctx, storedKey)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return stored{}, err
	}
	return decodeHooks(doc)
}

func decodeHooks(doc storage.Document) (all stored, err error) {
	if doc.Revision != 0 {
		all.unknown, err = storedType.Unmarshal(doc.Data, &all)
	}
	return all, err
}

// edit changes the webhooks by compare-and-set.
func (h *Hooks) edit(ctx context.Context, change func(*stored) error) error {
	_, err := storage.Change(ctx, h.docs, storedKey, func(doc storage.Document) ([]byte, error) {
		all, err := decodeHooks(doc)
		if err == nil {
			err = change(&all)
		}
		if err != nil {
			return nil, err
		}
		return all.unknown.Marshal(all)
	})
	return err
}
