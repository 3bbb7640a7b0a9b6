package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// webhookRoutes returns the routes about webhooks, under the paths of this interface
// and of version 1. They are for admins: a webhook has the repository send data to the
// address of its creator, and an address of a callback is often a secret in itself.
func (r *rest) webhookRoutes() []httpapi.Route {
	var all []httpapi.Route
	for _, base := range []string{"/h", "/v1/webhook"} {
		all = append(all,
			httpapi.Route{Pattern: "POST " + base, Func: r.createWebhook, Role: httpapi.Admin},
			httpapi.Route{Pattern: "GET " + base, Func: r.listWebhooks, Role: httpapi.Admin},
			httpapi.Route{Pattern: "GET " + base + "/{id}", Func: r.getWebhook, Role: httpapi.Admin},
			httpapi.Route{Pattern: "DELETE " + base + "/{id}", Func: r.deleteWebhook, Role: httpapi.Admin},
		)
	}
	return all
}

func (r *rest) createWebhook(w http.ResponseWriter, req *http.Request) error {
	if !isJSON(req) {
		return web.Invalid(http.StatusUnsupportedMediaType, web.WrongType)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return tooLargeBody()
	case err != nil:
		return web.Malformed("The request body could not be read.")
	}
	with, err := decodeWebhook(data)
	if err != nil {
		return web.Malformed("Request content was malformed.")
	}
	hook, err := r.store.Webhooks().Create(req.Context(), with)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	message := "Created webhook '" + hook.ID + "'."
	return httpapi.WriteJSON(w, wire.CreatedWebhook{
		Success: wire.Success{Message: message}, Handle: hook.ID, Secret: hook.Secret,
	})
}

// decodeWebhook reads the request for a webhook. It refuses unknown members.
func decodeWebhook(data []byte) (modelrepo.WebhookRequest, error) {
	var with *modelrepo.WebhookRequest
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&with); err != nil {
		return modelrepo.WebhookRequest{}, err
	}
	if _, err := decoder.Token(); err != io.EOF || with == nil {
		return modelrepo.WebhookRequest{}, errors.New("expected one JSON object")
	}
	return *with, nil
}

func (r *rest) listWebhooks(w http.ResponseWriter, req *http.Request) error {
	all, err := r.store.Webhooks().List(req.Context())
	set := modelrepo.Set[modelrepo.Webhook]{Items: all, TotalCount: int64(len(all))}
	return got(w, wire.WebhookSet{Webhooks: set}, err)
}

func (r *rest) getWebhook(w http.ResponseWriter, req *http.Request) error {
	hook, err := r.store.Webhooks().Get(req.Context(), req.PathValue("id"))
	return got(w, hook, err)
}

func (r *rest) deleteWebhook(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	return done(w, r.store.Webhooks().Delete(req.Context(), id), "Deleted webhook '%s'.", id)
}
