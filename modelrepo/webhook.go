package modelrepo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
)

// WebhookConfig configures the calls of webhooks. The zero value is the
// default.
type WebhookConfig struct {
	// AllowPrivate permits callbacks at addresses that are not public: loopback,
	// private, link-local and the like. Without it the connection to such an
	// address is refused, whatever name the URL has.
	AllowPrivate bool
	// GiveUp is how long an event is kept for a callback that fails. Zero means
	// 24 hours.
	GiveUp time.Duration
	// Timeout is how long a callback may take to answer. Zero means 10 seconds.
	Timeout time.Duration
	// Retry is the pause after the first failure. It doubles with each further
	// one, up to one hour, less up to a half at random. A process that has just begun
	// waits for at most one minute. Zero means one second.
	Retry time.Duration
	// Poll is how often Run looks for events of other processes. Zero means 5
	// seconds.
	Poll time.Duration
	// MaxQueued is how many events are kept for one webhook; the oldest are dropped
	// first. The bound is enforced once a minute. Zero means 10,000.
	MaxQueued int
}

// WebhookContext is the place that a webhook is registered for. Empty fields mean any.
type WebhookContext struct {
	Namespace string `json:"namespace,omitempty"`
	Model     string `json:"model,omitempty"`
	Version   string `json:"version,omitempty"`
}

// Webhook calls a URL when an action happens. Calls are HTTP POST requests with a JSON
// object: action, hookId, timestamp (RFC 3339, UTC), context, and body, which describes
// content. The field X-Modelrepo-Signature-256 is "sha256=" and the hex form of the
// HMAC-SHA256 (RFC 2104) of the body under the webhook's secret. The field
// X-Modelrepo-Delivery is the same for every attempt to deliver one event.
type Webhook struct {
	// ID is assigned at creation.
	ID string `json:"id"`
	// Action is the action that the webhook is registered for.
	Action Action `json:"action"`
	// Callback is an http or https URL, at most 2048 bytes long and without user
	// information.
	Callback string `json:"callback"`
	// Context is where the action has to happen; nil means anywhere.
	Context *WebhookContext `json:"context,omitempty"`
	// Created is when the webhook was created, in UTC.
	Created time.Time `json:"created"`
}

// WebhookRequest is what a webhook is created with.
type WebhookRequest struct {
	// Action and Callback are required. Context may be nil.
	Action   Action          `json:"action"`
	Callback string          `json:"callback"`
	Context  *WebhookContext `json:"context,omitempty"`
	// Secret signs the calls, 16 to 256 bytes. If it is empty, a random one is generated.
	Secret string `json:"secret,omitempty"`
}

// NewWebhook is a webhook that was just created. The secret is shown this once.
type NewWebhook struct {
	Webhook
	Secret string `json:"secret"`
}

// MaxWebhooks is how many webhooks a repository has at most.
const MaxWebhooks = webhook.Max

// check returns what is wrong with the request, or "".
func (r WebhookRequest) check() string {
	parsed, err := url.Parse(r.Callback)
	isHTTP := err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != ""
	switch {
	case !r.Action.isKnown():
		return fmt.Sprintf("The action '%.100s' is not known. Known are %v.", r.Action, actionNames())
	case !isHTTP || len(r.Callback) > 2048:
		return "The callback must be an http or https URL of at most 2048 bytes."
	case parsed.User != nil:
		return "The callback must not have a user name or a password in it."
	case r.Secret != "" && (len(r.Secret) < 16 || len(r.Secret) > 256):
		return "The secret must have 16 to 256 bytes."
	case r.Context == nil:
		return ""
	}
	c := *r.Context
	if (c.Namespace != "" && !namespaceNames.MatchString(c.Namespace)) ||
		(c.Model != "" && !modelNames.MatchString(c.Model)) ||
		(c.Version != "" && !versionTags.MatchString(c.Version)) {
		return "The context has a name that breaks the rules for names."
	}
	return ""
}

// Webhooks are the webhooks of a repository, see [Store.Webhooks].
type Webhooks struct{ hooks *webhook.Hooks }

// Webhooks returns the webhooks of the repository. [Store.Run] calls them.
func (s *Store) Webhooks() *Webhooks { return &Webhooks{s.hooks} }

// Create adds a webhook. The error matches [ErrInvalid] if the request breaks a rule,
// or there are [MaxWebhooks] already.
func (w *Webhooks) Create(ctx context.Context, with WebhookRequest) (NewWebhook, error) {
	const op = "create webhook"
	if text := with.check(); text != "" {
		return NewWebhook{}, refuse(op, Path{}, ErrInvalid, "%s", text)
	}
	hook := webhook.Hook{
		Action: string(with.Action), Callback: with.Callback,
		Context: (*webhook.Context)(with.Context), Secret: with.Secret,
	}
	if hook.Secret == "" {
		hook.Secret = rand.Text()
	}
	created, err := w.hooks.Create(ctx, hook)
	switch {
	case errors.Is(err, webhook.ErrTooMany):
		return NewWebhook{}, refuse(op, Path{}, ErrInvalid, "There are %d webhooks already, which is the most.",
			MaxWebhooks)
	case err != nil:
		return NewWebhook{}, failed(op, Path{}, err)
	}
	return NewWebhook{publicWebhook(created), created.Secret}, nil
}

// List returns all webhooks in the order of their creation.
func (w *Webhooks) List(ctx context.Context) ([]Webhook, error) {
	hooks, err := w.hooks.List(ctx)
	if err != nil {
		return nil, failed("list webhooks", Path{}, err)
	}
	all := make([]Webhook, 0, len(hooks))
	for _, hook := range hooks {
		all = append(all, publicWebhook(hook))
	}
	return all, nil
}

// Get returns a webhook. The error matches [ErrNotFound] if there is none.
func (w *Webhooks) Get(ctx context.Context, id string) (Webhook, error) {
	hook, err := w.hooks.Get(ctx, id)
	if err != nil {
		return Webhook{}, webhookError("get webhook", id, err)
	}
	return publicWebhook(hook), nil
}

// Delete removes a webhook. Events that were not delivered yet are dropped. The error
// matches [ErrNotFound] if there is none.
func (w *Webhooks) Delete(ctx context.Context, id string) error {
	if err := w.hooks.Delete(ctx, id); err != nil {
		return webhookError("delete webhook", id, err)
	}
	return nil
}

func webhookError(op, id string, err error) error {
	if errors.Is(err, webhook.ErrNotFound) {
		return refuse(op, Path{}, ErrNotFound, "There is no webhook '%.100s'.", id)
	}
	return failed(op, Path{}, err)
}

// publicWebhook returns the webhook without its secret.
func publicWebhook(h webhook.Hook) Webhook {
	return Webhook{
		ID: h.ID, Action: Action(h.Action), Callback: h.Callback,
		Context: (*WebhookContext)(h.Context), Created: h.Created,
	}
}
