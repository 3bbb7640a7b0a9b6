package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/settings"
)

func (p *pages) newLink(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "New link")
	if err != nil {
		return err
	}
	return p.show(w, r, "link.html", view, nil)
}

func (p *pages) addLink(w http.ResponseWriter, r *http.Request) error {
	view, err := p.form(w, r, "New link")
	if err != nil {
		return err
	}
	form := desired.Link{Name: view.Value("name")}
	if err = view.link(&form); err == nil {
		_, err = p.node.Change(r.Context(), desired.AddLink(form))
	}
	if err != nil {
		return p.show(w, r, "link.html", view, err)
	}
	return shell.SeeOther(w, toHome(0, "links"), "The link "+form.Name+" is added.")
}

// link puts what was entered into the settings of a link.
func (v *formView) link(form *desired.Link) error {
	form.Interface, form.Kind, form.Metered = v.Value("interface"), settings.Kind(v.Value("kind")), v.Is("metered")
	if v.Server {
		form.Endpoint = v.Value("endpoint")
	}
	interval, err := v.number("probe.interval_ms")
	if err != nil {
		return err
	}
	form.Probe.Interval = interval
	return nil
}

func (p *pages) editLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	s := p.node.Settings()
	at, err := s.Link(name)
	if err != nil {
		return err
	}
	view, err := p.form(w, r, "Link "+name)
	if err != nil {
		return err
	}
	form := s.Head.Links[at]
	view.Name = name
	view.Values = url.Values{"interface": {form.Interface}, "kind": {string(form.Kind)}, "endpoint": {form.Endpoint}}
	if form.Probe.Interval > 0 {
		view.Values.Set("probe.interval_ms", strconv.FormatFloat(form.Probe.Interval, 'f', -1, 64))
	}
	if form.Metered {
		view.Values.Set("metered", "on")
	}
	return p.show(w, r, "link.html", view, nil)
}

func (p *pages) changeLink(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	view, err := p.form(w, r, "Link "+name)
	if err != nil {
		return err
	}
	view.Name = name
	if _, err := p.node.Change(r.Context(), desired.ChangeLink(name, view.link)); err != nil {
		return p.show(w, r, "link.html", view, err)
	}
	return shell.SeeOther(w, toHome(1, "links"), "The link "+name+" is changed.")
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
