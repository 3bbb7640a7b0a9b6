package modelrepo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// webhookRoutes are the routes about webhooks, here and where version 1 of the
// interface has them.
func (r *rest) webhookRoutes() []httpapi.Route {
	var all []httpapi.Route
	for _, base := range []string{"/h", "/v1/webhook"} {
		all = append(all,
			httpapi.Route{Pattern: "POST " + base, Func: r.createWebhook},
			httpapi.Route{Pattern: "GET " + base, Func: r.listWebhooks},
			httpapi.Route{Pattern: "GET " + base + "/{id}", Func: r.getWebhook},
			httpapi.Route{Pattern: "DELETE " + base + "/{id}", Func: r.deleteWebhook},
		)
	}
	return all
}

// createdWebhook is the answer to a creation: version 1 calls the identifier a
// handle.
type createdWebhook struct {
	success
	Handle string `json:"handle"`
	Secret string `json:"secret"`
}

// webhookSet is the answer to a listing.
type webhookSet struct {
	Webhooks Set[Webhook] `json:"webhooks"`
}

func (r *rest) createWebhook(w http.ResponseWriter, req *http.Request) error {
	if mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return invalid(http.StatusUnsupportedMediaType, wrongType)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return invalid(http.StatusRequestEntityTooLarge, "The request body is too large.")
	case err != nil:
		return malformed("The request body could not be read.")
	}
	with, err := decodeWebhook(data)
	if err != nil {
		return malformed("Request content was malformed.")
	}
	hook, err := r.store.CreateWebhook(req.Context(), with)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, createdWebhook{success{Message: "Created webhook '" + hook.ID + "'."}, hook.ID, hook.Secret})
}

// decodeWebhook reads the request for a webhook. Fields that are not known are
// refused.
func decodeWebhook(data []byte) (WebhookRequest, error) {
	var with *WebhookRequest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&with); err != nil {
		return WebhookRequest{}, err
	}
	if _, err := decoder.Token(); err != io.EOF || with == nil {
		return WebhookRequest{}, errors.New("expected one JSON object")
	}
	return *with, nil
}

func (r *rest) listWebhooks(w http.ResponseWriter, req *http.Request) error {
	all, err := r.store.Webhooks(req.Context())
	return got(w, webhookSet{Set[Webhook]{Items: all, TotalCount: int64(len(all))}}, err)
}

func (r *rest) getWebhook(w http.ResponseWriter, req *http.Request) error {
	hook, err := r.store.Webhook(req.Context(), req.PathValue("id"))
	return got(w, hook, err)
}

func (r *rest) deleteWebhook(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	return done(w, r.store.DeleteWebhook(req.Context(), id), "Deleted webhook '%s'.", id)
}

// CreateWebhook is [Store.CreateWebhook]. Of the result, the time of creation is
// not known.
func (c *Client) CreateWebhook(ctx context.Context, with WebhookRequest) (NewWebhook, error) {
	const op = "create webhook"
	data, err := json.Marshal(with)
	if err != nil {
		return NewWebhook{}, failed(op, Path{}, err)
	}
	var created createdWebhook
	err = c.read(ctx, call{op: op, method: http.MethodPost, before: "h",
		header: http.Header{"Content-Type": {"application/json"}}, body: bytes.NewReader(data)}, &created)
	if err != nil {
		return NewWebhook{}, err
	}
	return NewWebhook{Webhook{ID: created.Handle, Action: with.Action, Callback: with.Callback, Context: with.Context}, created.Secret}, nil
}

// Webhooks is [Store.Webhooks].
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	var all webhookSet
	err := c.read(ctx, call{op: "list webhooks", method: http.MethodGet, before: "h"}, &all)
	return all.Webhooks.Items, err
}

// Webhook is [Store.Webhook].
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	const op = "get webhook"
	var hook Webhook
	if !safeID(id) {
		return hook, noWebhook(op, id)
	}
	err := c.read(ctx, call{op: op, method: http.MethodGet, before: "h/" + id}, &hook)
	return hook, err
}

// DeleteWebhook is [Store.DeleteWebhook].
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	const op = "delete webhook"
	if !safeID(id) {
		return noWebhook(op, id)
	}
	var answer success
	return c.read(ctx, call{op: op, method: http.MethodDelete, before: "h/" + id}, &answer)
}

// safeID reports whether the text may be an identifier; no other is put into a
// URL.
func safeID(id string) bool { return modelNames.MatchString(id) }
