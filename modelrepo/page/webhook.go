package page

import (
	"net/http"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

// webhookView is the page of webhooks, with the form for another one.
type webhookView struct {
	shell.Frame
	Webhooks []modelrepo.Webhook
	form.Fields
	Fault string
	// Created is the webhook that this request has created; its secret is shown once. Nil for none.
	Created *modelrepo.NewWebhook
}

func webhookFields() form.Fields {
	var actions []form.Option
	for _, one := range modelrepo.Actions() {
		actions = append(actions, form.Option{Value: string(one.Action)})
	}
	return form.Fields{
		{Name: "action", Label: "Action", Kind: form.Choice, Options: actions},
		{Name: "callback", Label: "Callback", Type: "url", Required: true, MaxLength: 2048, Placeholder: "https://example.org/events"},
		{Name: "context", Kind: form.Group, Label: "Context", Hint: "An empty field matches every name.", Fields: form.Fields{
			{Name: "namespace", Label: "Namespace", MaxLength: 100},
			{Name: "model", Label: "Model", MaxLength: 100},
			{Name: "version", Label: "Version", MaxLength: 100},
		}},
		{Name: "secret", ID: "secret-field", Label: "Secret", Kind: form.Secret, MaxLength: 256,
			Hint: "16 to 256 characters. Without one, a secret is generated, and shown once."},
	}
}

func (p *pages) showWebhooks(w http.ResponseWriter, r *http.Request, status int, view *webhookView) (err error) {
	view.Frame = p.part.Frame(r, "Webhooks")
	if view.Webhooks, err = p.store.Webhooks().List(r.Context()); err != nil {
		return err
	}
	return p.part.Show(w, r, status, "webhooks.html", view)
}

func (p *pages) webhooks(w http.ResponseWriter, r *http.Request) error {
	return p.showWebhooks(w, r, http.StatusOK, &webhookView{Fields: webhookFields()})
}

// createWebhook answers with the page itself, because the secret must not be kept in a notice.
func (p *pages) createWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return err
	}
	fields := webhookFields()
	fields.Fill(r.PostForm)
	with := modelrepo.WebhookRequest{
		Action: modelrepo.Action(fields.Get("action")), Callback: fields.Get("callback"), Secret: fields.Get("secret"),
	}
	place := modelrepo.WebhookContext{Namespace: fields.Get("namespace"), Model: fields.Get("model"), Version: fields.Get("version")}
	if place != (modelrepo.WebhookContext{}) {
		with.Context = &place
	}
	created, err := p.store.Webhooks().Create(r.Context(), with)
	if err == nil {
		return p.showWebhooks(w, r, http.StatusOK, &webhookView{Created: &created, Fields: webhookFields()})
	}
	fault := refusalOf(err)
	if fault == nil {
		return err
	}
	fields.Forget()
	return p.showWebhooks(w, r, fault.Status, &webhookView{Fields: fields, Fault: fault.Text()})
}

func (p *pages) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := p.store.Webhooks().Delete(r.Context(), r.PathValue("id")); err != nil {
		return err
	}
	return shell.SeeOther(w, "../../webhooks", "The webhook is deleted.")
}
