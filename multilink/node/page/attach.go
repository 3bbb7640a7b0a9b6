package page

import (
	"cmp"
	"net/http"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
)

func (p *pages) attachForm(r *http.Request) *formView {
	return &formView{Frame: p.part.Frame(r, "Attach"), Action: "attach", Submit: "Attach", Back: "clients", Fields: form.Fields{
		{Name: "server", Label: "URL of the server", Type: "url", Placeholder: "https://203.0.113.9:3333", Hint: "Empty: the one in the object"},
		{Name: "object", Label: "Response of the server when it added this client", Kind: form.JSON, Required: true},
	}}
}

// attach takes what a server has answered, and its URL. The page that says what is wrong
// does not have the object, which is secret, again.
func (p *pages) attach(w http.ResponseWriter, r *http.Request) error {
	view := p.attachForm(r)
	if err := view.read(w, r); err != nil {
		return err
	}
	var object desired.Provision
	text := view.Get("object")
	view.Find("object").Value = ""
	err := desired.Decode([]byte(text), &object, true)
	if err == nil {
		object.Server = cmp.Or(view.Get("server"), object.Server)
		_, err = p.node.Change(r.Context(), desired.Attach(object))
	}
	if err != nil {
		view.Find("object").Fault = "Enter it again."
		return p.show(w, r, view, err)
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Attached to "+object.Server+".")
}

func (p *pages) detach(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.node.Change(r.Context(), desired.Detach()); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Detached: the keys are forgotten.")
}
