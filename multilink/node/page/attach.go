package page

import (
	"cmp"
	"net/http"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
)

func (p *pages) newAttachment(w http.ResponseWriter, r *http.Request) error {
	if err := p.node.Settings().Only(desired.RoleClient); err != nil {
		return err
	}
	view, err := p.form(w, r, "Attach")
	if err != nil {
		return err
	}
	return p.show(w, r, "attach.html", view, nil)
}

// attach takes what a server has answered, and its URL. The page that says what is wrong
// does not have the object, which is secret, again.
func (p *pages) attach(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "Attach")
	if err != nil {
		return err
	}
	var object desired.Provision
	text := view.Value("object")
	view.Values.Del("object")
	if err = desired.Decode([]byte(text), &object, true); err == nil {
		object.Server = cmp.Or(view.Value("server"), object.Server)
		_, err = p.node.Change(r.Context(), desired.Attach(object))
	}
	if err != nil {
		return p.show(w, r, "attach.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Attached to "+object.Server+".")
}

func (p *pages) detach(w http.ResponseWriter, r *http.Request) error {
	if _, err := p.node.Change(r.Context(), desired.Detach()); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(0, "clients"), "Detached: the keys are forgotten.")
}
