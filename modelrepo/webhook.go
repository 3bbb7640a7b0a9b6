package modelrepo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Action is what a webhook is told about.
type Action string

// The actions of version 1 of the interface, and those of creation.
const (
	ContentUpload      Action = "content_upload"
	ContentDelete      Action = "content_delete"
	ModelDelete        Action = "model_delete"
	ModelVersionDelete Action = "model_version_delete"
	NamespaceDelete    Action = "namespace_delete"
	NamespaceCreate    Action = "namespace_create"
	ModelCreate        Action = "model_create"
	ModelVersionCreate Action = "model_version_create"
)

func actions() []Action {
	return []Action{ContentUpload, ContentDelete, ModelDelete, ModelVersionDelete, NamespaceDelete, NamespaceCreate, ModelCreate, ModelVersionCreate}
}

// WebhookContext says where something happens. Empty fields mean anywhere.
type WebhookContext struct {
	Namespace string `json:"namespace,omitempty"`
	Model     string `json:"model,omitempty"`
	Version   string `json:"version,omitempty"`
}

// Webhook has an address called when something happens. Calls are HTTP POST
// requests with a JSON object: action, hookId, timestamp (RFC 3339, UTC),
// context and body, which has what there is to say about content. The field
// X-Modelrepo-Signature-256 is "sha256=" and the hex form of the HMAC-SHA256
// (RFC 2104) of the body under the webhook's secret, and X-Modelrepo-Delivery
// is the same for every attempt to tell of one event.
type Webhook struct {
	// ID is given at creation.
	ID string `json:"id"`
	// Action is what it is told about.
	Action Action `json:"action"`
	// Callback is an http or https URL, at most 2048 bytes long and without
	// user information.
	Callback string `json:"callback"`
	// Context is where that has to happen; nil means anywhere.
	Context *WebhookContext `json:"context,omitempty"`
	// Created is when it was created, in UTC.
	Created time.Time `json:"created"`
}

// WebhookRequest is what a webhook is created with.
type WebhookRequest struct {
	// Action and Callback are required. Context may be nil.
	Action   Action          `json:"action"`
	Callback string          `json:"callback"`
	Context  *WebhookContext `json:"context,omitempty"`
	// Secret signs the calls, 16 to 256 bytes. Empty has one made.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook is a webhook that was just created. The secret is shown this once.
type NewWebhook struct {
	Webhook
	Secret string `json:"secret"`
}

// MaxWebhooks is how many webhooks a repository has at most.
const MaxWebhooks = 1000

// webhooksKey is the key of the document with all webhooks. Every operation
// reads it, so it is one.
const webhooksKey = "webhooks"

// storedWebhooks is that document. It is a stored format.
type storedWebhooks struct {
	Hooks []NewWebhook `json:"hooks"`
}

// matches reports whether the webhook is told of it.
func (w Webhook) matches(action Action, at Path) bool {
	c := w.Context
	return w.Action == action && (c == nil ||
		(c.Namespace == "" || c.Namespace == at.Namespace) &&
			(c.Model == "" || c.Model == at.Model) &&
			(c.Version == "" || c.Version == at.Version))
}

func (r WebhookRequest) check() string {
	parsed, err := url.Parse(r.Callback)
	switch {
	case !slices.Contains(actions(), r.Action):
		return fmt.Sprintf("The action '%.100s' is not known. Known are %v.", r.Action, actions())
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" || len(r.Callback) > 2048:
		return "The callback must be an http or https URL of at most 2048 bytes."
	case parsed.User != nil:
		return "The callback must not have a user name or a password in it."
	case r.Secret != "" && (len(r.Secret) < 16 || len(r.Secret) > 256):
		return "The secret must have 16 to 256 bytes."
	case r.Context == nil:
		return ""
	}
	c := *r.Context
	if c.Namespace != "" && !namespaceNames.MatchString(c.Namespace) || c.Model != "" && !modelNames.MatchString(c.Model) ||
		c.Version != "" && !versionTags.MatchString(c.Version) {
		return "The context has a name that breaks the rules for names."
	}
	return ""
}

// CreateWebhook adds a webhook. The error matches [ErrInvalid] if the request
// breaks a rule, or there are [MaxWebhooks] already.
func (s *Store) CreateWebhook(ctx context.Context, with WebhookRequest) (NewWebhook, error) {
	const op = "create webhook"
	if text := with.check(); text != "" {
		return NewWebhook{}, refuse(op, Path{}, ErrInvalid, "%s", text)
	}
	hook := NewWebhook{Webhook{newID(), with.Action, with.Callback, with.Context, time.Now().UTC()}, with.Secret}
	if hook.Secret == "" {
		hook.Secret = rand.Text()
	}
	err := s.editWebhooks(ctx, func(stored *storedWebhooks) error {
		if len(stored.Hooks) >= MaxWebhooks {
			return refuse(op, Path{}, ErrInvalid, "There are %d webhooks already, which is the most.", MaxWebhooks)
		}
		stored.Hooks = append(stored.Hooks, hook)
		return nil
	})
	if err != nil {
		return NewWebhook{}, failed(op, Path{}, err)
	}
	return hook, nil
}

// Webhooks returns all webhooks in the order of their creation.
func (s *Store) Webhooks(ctx context.Context) ([]Webhook, error) {
	stored, _, err := s.webhooks(ctx)
	if err != nil {
		return nil, failed("list webhooks", Path{}, err)
	}
	all := make([]Webhook, 0, len(stored.Hooks))
	for _, hook := range stored.Hooks {
		all = append(all, hook.Webhook)
	}
	return all, nil
}

// Webhook returns one. The error matches [ErrNotFound] if there is none.
func (s *Store) Webhook(ctx context.Context, id string) (Webhook, error) {
	const op = "get webhook"
	stored, _, err := s.webhooks(ctx)
	if err != nil {
		return Webhook{}, failed(op, Path{}, err)
	}
	if i := stored.at(id); i >= 0 {
		return stored.Hooks[i].Webhook, nil
	}
	return Webhook{}, noWebhook(op, id)
}

// DeleteWebhook removes a webhook; what it has not been told yet it is not told
// any more. The error matches [ErrNotFound] if there is none.
func (s *Store) DeleteWebhook(ctx context.Context, id string) error {
	const op = "delete webhook"
	err := s.editWebhooks(ctx, func(stored *storedWebhooks) error {
		i := stored.at(id)
		if i < 0 {
			return noWebhook(op, id)
		}
		stored.Hooks = slices.Delete(stored.Hooks, i, i+1)
		return nil
	})
	if err != nil {
		return failed(op, Path{}, err)
	}
	return nil
}

func noWebhook(op, id string) error {
	return refuse(op, Path{}, ErrNotFound, "There is no webhook '%.100s'.", id)
}

func (w storedWebhooks) at(id string) int {
	return slices.IndexFunc(w.Hooks, func(hook NewWebhook) bool { return hook.ID == id })
}

// webhooks reads all webhooks; the revision is zero if there never was one.
func (s *Store) webhooks(ctx context.Context) (storedWebhooks, storage.Revision, error) {
	var stored storedWebhooks
	doc, err := s.docs.Get(ctx, webhooksKey)
	if errors.Is(err, storage.ErrNotFound) {
		return stored, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(doc.Data, &stored)
	}
	return stored, doc.Revision, err
}

// editWebhooks changes them by compare-and-set.
func (s *Store) editWebhooks(ctx context.Context, change func(*storedWebhooks) error) error {
	for attempt := 0; ; attempt++ {
		stored, revision, err := s.webhooks(ctx)
		if err == nil {
			err = change(&stored)
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(stored)
		if err != nil {
			return err
		}
		if revision == 0 {
			_, err = s.docs.Create(ctx, webhooksKey, data)
		} else {
			_, err = s.docs.Update(ctx, webhooksKey, revision, data)
		}
		if err == nil || !moved(err) && !errors.Is(err, storage.ErrExists) {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}
