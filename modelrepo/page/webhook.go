package page

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// webhookView is the page of webhooks, with the form for another one.
type webhookView struct {
	shell.Frame
	Webhooks []modelrepo.Webhook
	Actions  []modelrepo.ActionInfo
	Form     url.Values
	Fault    string
	// Created is the webhook that this request has created; its secret is shown once. Nil for none.
	Created *modelrepo.NewWebhook
}

// Value returns a field of the form.
func (v *webhookView) Value(name string) string { return v.Form.Get(name) }

func (p *pages) showWebhooks(w http.ResponseWriter, r *http.Request, status int, view *webhookView) (err error) {
	view.Frame = p.part.Frame(r, "Webhooks")
	view.Actions = modelrepo.Actions()
	if view.Webhooks, err = p.store.Webhooks().List(r.Context()); err != nil {
		return err
	}
	return p.part.Show(w, r, status, "webhooks.html", view)
}

func (p *pages) webhooks(w http.ResponseWriter, r *http.Request) error {
	return p.showWebhooks(w, r, http.StatusOK, &webhookView{})
}

// createWebhook answers with the page itself, because the secret must not be kept in a notice.
func (p *pages) createWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	field := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	with := modelrepo.WebhookRequest{
		Action: modelrepo.Action(field("action")), Callback: field("callback"), Secret: field("secret"),
	}
	place := modelrepo.WebhookContext{Namespace: field("namespace"), Model: field("model"), Version: field("version")}
	if place != (modelrepo.WebhookContext{}) {
		with.Context = &place
	}
	created, err := p.store.Webhooks().Create(r.Context(), with)
	if err == nil {
		return p.showWebhooks(w, r, http.StatusOK, &webhookView{Created: &created})
	}
	fault := refusalOf(err)
	if fault == nil {
		return err
	}
	return p.showWebhooks(w, r, fault.Status, &webhookView{Form: r.PostForm, Fault: fault.Text()})
}

func (p *pages) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := p.store.Webhooks().Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../webhooks", "The webhook is deleted.")
}
