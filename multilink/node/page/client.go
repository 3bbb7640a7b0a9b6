package page

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

func (p *pages) clientForm(r *http.Request) *formView {
	return &formView{Frame: p.part.Frame(r, "New client"), Action: "clients/new", Submit: "Add the client", Back: "clients",
		Fields: form.Fields{
			{Name: "name", Label: "Name", MaxLength: 32, Pattern: namePattern, Placeholder: "gateway-1", Hint: "Empty: client-1 and so on"},
			{Name: "addresses", Label: "Address", Placeholder: "10.9.0.2/24", Hint: "Empty: the next that is free"},
			{Name: "public_key", ID: "key", Label: "Public key", MaxLength: 44,
				Hint: "Of the client, from its page. Empty: a pair is generated here and shown once"},
		}}
}

// addClient answers with what the client needs to attach. It has secrets, and no page has
// them again.
func (p *pages) addClient(w http.ResponseWriter, r *http.Request) error {
	view := p.clientForm(r)
	if err := view.read(w, r); err != nil {
		return err
	}
	client := desired.ClientForm{Name: view.Get("name")}
	if key := view.Get("public_key"); key != "" {
		client.PublicKey = &key
	}
	if address := view.Get("addresses"); address != "" {
		client.Addresses = []string{address}
	}
	admission := desired.Admit(client)
	next, err := p.node.Change(r.Context(), admission.Edit())
	if err != nil {
		return p.show(w, r, view, err)
	}
	made, err := admission.Provision(next)
	if err != nil {
		return err
	}
	made.Server = p.urlAt(r)
	object, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	shown := struct {
		shell.Frame
		Client, Object string
	}{p.part.Frame(r, "What the client needs"), made.Name, string(object)}
	return p.part.Show(w, r, http.StatusOK, "provision.html", &shown)
}

// urlAt returns the address of the instance for others.
func (p *pages) urlAt(r *http.Request) string {
	switch {
	case p.url != "":
		return p.url
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// clientKey returns the public key of the client with the name in a path.
func (p *pages) clientKey(r *http.Request) (name, key string, err error) {
	name = r.PathValue("name")
	clients := p.node.Settings().Clients
	at := slices.IndexFunc(clients, func(c *desired.Client) bool { return c.Name == name })
	if at < 0 {
		return name, "", fault.Absent("name", "no client is called %q", name)
	}
	return name, clients[at].PublicKey, nil
}

func (p *pages) enableClient(enabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, key, err := p.clientKey(r)
		if err != nil {
			return err
		}
		if _, err := p.node.Change(r.Context(), desired.EnableClient(key, enabled)); err != nil {
			return err
		}
		text := "The client " + name + " is enabled."
		if !enabled {
			text = "The client " + name + " is disabled, and cut off."
		}
		return shell.SeeOther(w, toHome(2, "clients"), text)
	}
}

func (p *pages) deleteClient(w http.ResponseWriter, r *http.Request) error {
	name, key, err := p.clientKey(r)
	if err != nil {
		return err
	}
	if _, err := p.node.Change(r.Context(), desired.DeleteClient(key)); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(2, "clients"), "The client "+name+" is deleted, and its keys are forgotten.")
}
