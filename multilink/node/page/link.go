package page

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/settings"
)

// linkForm returns the form of a link, of a new one without a name.
func (p *pages) linkForm(r *http.Request, name string) *formView {
	fields := form.Fields{
		{Name: "interface", Label: "Interface", MaxLength: 32, Placeholder: "wlan0", Hint: "Empty: the one with the link's name"},
		{Name: "kind", Label: "Kind", Kind: form.Choice,
			Options: append([]form.Option{{Label: "by its name"}}, form.Options(settings.Kinds()...)...)},
		{Name: "probe.interval_ms", ID: "interval", Label: "Probe every (ms)", Kind: form.Number, Step: "any", Low: "1", High: "10000",
			Placeholder: "10", Hint: "Three without an answer are a failure"},
		{Name: "metered", Label: "Metered: carries only traffic that may cost, unless nothing else is left", Kind: form.Check},
	}
	if p.node.Settings().Head.Role == desired.RoleServer {
		fields = append(form.Fields{{Name: "endpoint", Label: "Endpoint", Required: true, Placeholder: "203.0.113.9:51820",
			Hint: "Where clients reach this server over the link"}}, fields...)
	}
	view := &formView{Frame: p.part.Frame(r, "New link"), Action: "new", Submit: "Add the link", Back: "links", Fields: fields}
	if name != "" {
		view.Title, view.Action, view.Submit = "Link "+name, "links/"+url.PathEscape(name), "Change the link"
		return view
	}
	view.Fields = append(form.Fields{{Name: "name", Label: "Name", Required: true, MaxLength: 32, Pattern: namePattern, Placeholder: "wlan0",
		Hint: "The same at both ends: it pairs them"}}, fields...)
	return view
}

// namePattern is that of the names of links and clients.
const namePattern = `[A-Za-z0-9._\-]+`

func (p *pages) showLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	view := p.linkForm(r, name)
	if name == "" {
		return p.show(w, r, view, nil)
	}
	s := p.node.Settings()
	at, err := s.Link(name)
	if err != nil {
		return err
	}
	link := s.Head.Links[at]
	values := map[string]any{
		"interface": link.Interface, "kind": string(link.Kind), "endpoint": link.Endpoint, "metered": link.Metered,
	}
	if link.Probe.Interval > 0 {
		values["probe"] = map[string]any{"interval_ms": link.Probe.Interval}
	}
	view.Show(values)
	return p.show(w, r, view, nil)
}

// saveLink adds a link, or changes that with the name in the path.
func (p *pages) saveLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	view := p.linkForm(r, name)
	if err := view.read(w, r); err != nil {
		return err
	}
	edit, steps, done := desired.ChangeLink(name, view.link), 1, "changed"
	if name == "" {
		name = view.Get("name")
		link := desired.Link{Name: name}
		if err := view.link(&link); err != nil {
			return p.show(w, r, view, err)
		}
		edit, steps, done = desired.AddLink(link), 0, "added"
	}
	if _, err := p.node.Change(r.Context(), edit); err != nil {
		return p.show(w, r, view, err)
	}
	return shell.SeeOther(w, toHome(steps, "links"), "The link "+name+" is "+done+".")
}

// link puts what was entered into the settings of a link.
func (v *formView) link(link *desired.Link) error {
	link.Interface = v.Get("interface")
	link.Kind = settings.Kind(v.Get("kind"))
	link.Metered = v.Get("metered") != ""
	if v.Find("endpoint") != nil {
		link.Endpoint = v.Get("endpoint")
	}
	interval, err := v.number("probe.interval_ms")
	if err != nil {
		return err
	}
	link.Probe.Interval = interval
	return nil
}

func (p *pages) disableLink(disabled bool) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		_, err := p.node.Change(r.Context(), desired.ChangeLink(name, func(form *desired.Link) error {
			form.Disabled = disabled
			return nil
		}))
		if err != nil {
			return err
		}
		text := "The link " + name + " is enabled."
		if disabled {
			text = "The link " + name + " is disabled: it carries nothing until it is enabled."
		}
		return shell.SeeOther(w, toHome(2, "links"), text)
	}
}

func (p *pages) deleteLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if _, err := p.node.Change(r.Context(), desired.DeleteLink(name)); err != nil {
		return err
	}
	return shell.SeeOther(w, toHome(2, "links"), "The link "+name+" is deleted.")
}

// moveLink moves a link by a place.
func (p *pages) moveLink(step int) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		name := r.PathValue("name")
		s := p.node.Settings()
		at, err := s.Link(name)
		if err != nil {
			return err
		}
		var order []string
		for _, link := range s.Head.Links {
			order = append(order, link.Name)
		}
		to := min(max(at+step, 0), len(order)-1)
		order[at], order[to] = order[to], order[at]
		if _, err := p.node.Change(r.Context(), desired.OrderLinks(order)); err != nil {
			return err
		}
		return shell.SeeOther(w, toHome(2, "links"), "The order of the links is "+strings.Join(order, ", ")+".")
	}
}
