package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// Webhooks are the webhooks of a repository, see [Client.Webhooks].
type Webhooks struct{ client *Client }

// Webhooks is [modelrepo.Store.Webhooks].
func (c *Client) Webhooks() *Webhooks { return &Webhooks{c} }

// Create is [modelrepo.Webhooks.Create]. The result lacks the time of creation.
func (w *Webhooks) Create(ctx context.Context, with modelrepo.WebhookRequest) (modelrepo.NewWebhook, error) {
	const op = "create webhook"
	data, err := json.Marshal(with)
	if err != nil {
		return modelrepo.NewWebhook{}, failed(op, modelrepo.Path{}, err)
	}
	var created wire.CreatedWebhook
	err = w.client.read(ctx, call{
		op: op, method: http.MethodPost, before: "h",
		header: http.Header{"Content-Type": {"application/json"}}, body: bytes.NewReader(data),
	}, &created)
	if err != nil {
		return modelrepo.NewWebhook{}, err
	}
	hook := modelrepo.Webhook{ID: created.Handle, Action: with.Action, Callback: with.Callback, Context: with.Context}
	return modelrepo.NewWebhook{Webhook: hook, Secret: created.Secret}, nil
}

// List is [modelrepo.Webhooks.List].
func (w *Webhooks) List(ctx context.Context) ([]modelrepo.Webhook, error) {
	var all wire.WebhookSet
	err := w.client.read(ctx, call{op: "list webhooks", method: http.MethodGet, before: "h"}, &all)
	return all.Webhooks.Items, err
}

// Get is [modelrepo.Webhooks.Get].
func (w *Webhooks) Get(ctx context.Context, id string) (modelrepo.Webhook, error) {
	var hook modelrepo.Webhook
	err := w.onHook(ctx, call{op: "get webhook", method: http.MethodGet}, id, &hook)
	return hook, err
}

// Delete is [modelrepo.Webhooks.Delete].
func (w *Webhooks) Delete(ctx context.Context, id string) error {
	return w.onHook(ctx, call{op: "delete webhook", method: http.MethodDelete}, id, new(wire.Success))
}

// ids matches what may be put into a URL as an identifier.
var ids = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// onHook sends a request about a webhook.
func (w *Webhooks) onHook(ctx context.Context, k call, id string, answer any) error {
	if !ids.MatchString(id) {
		return refuse(k.op, modelrepo.Path{}, modelrepo.ErrNotFound, "There is no webhook '%.100s'.", id)
	}
	k.before = "h/" + id
	return w.client.read(ctx, k, answer)
}
