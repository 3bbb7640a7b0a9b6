package admin

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// pages are the administration pages.
type pages struct {
	*API
	part *shell.Part
	// account signs people in. It is nil where the guard alone decides on every request.
	account *administrator
}

func newPages(a *API, noAccount bool) *pages {
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &pages{API: a, part: shell.NewPart(shell.PartConfig{Section: "APIs", Files: own, Plots: true})}
	if a.guard.other == nil && !noAccount {
		p.account = newAdministrator(a.store.record.docs)
	}
	return p
}

func (p *pages) handler() http.Handler {
	return httpapi.NewHandler(p.routes(), &httpapi.Options{
		Classify: classifyPage, WriteError: p.writeError, Hosts: p.hosts, Authorize: p.guard.authorize, Logger: p.logger,
	})
}

// kindsOfPages are the kinds that the page changes. Those without an owner have lists.
func kindsOfPages() []entity.Kind {
	return []entity.Kind{entity.KindService, entity.KindRoute, entity.KindPlugin, entity.KindConsumer,
		entity.KindUpstream, entity.KindKey, entity.KindTarget}
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), accountPages{p}.routes()...)
	mine := func(pattern string, role httpapi.Role, f httpapi.HandlerFunc) {
		if p.account != nil {
			role, f = httpapi.Public, p.signedIn(f)
		}
		routes = append(routes, httpapi.Route{Pattern: pattern, Func: f, Role: role})
	}
	mine("GET /{$}", httpapi.Reader, p.overview)
	mine("GET /history", httpapi.Reader, p.history)
	for _, kind := range kindsOfPages() {
		t, change := tableFor(kind), httpapi.Operator
		path := "/" + t.plural
		if ownerKind(kind) == "" {
			mine("GET "+path, httpapi.Reader, p.list(t))
		}
		if kind == entity.KindKey { // whose secret is not shown again
			change = httpapi.Admin
		} else {
			mine("GET "+path+"/{id}", httpapi.Reader, p.showEdit(t))
			mine("POST "+path+"/{id}", change, p.save(t))
		}
		mine("GET "+path+"/new", change, p.showNew(t))
		mine("POST "+path+"/new", change, p.save(t))
		mine("GET "+path+"/{id}/delete", change, p.showDelete(t))
		mine("POST "+path+"/{id}/delete", change, p.delete(t))
	}
	for i := range routes {
		routes[i].Func = p.bounded(routes[i].Func)
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// bounded bounds the forms that a page takes.
func (p *pages) bounded(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, maxEntity)
		if r.Method == http.MethodPost && r.ParseForm() != nil {
			return badRequest("The form cannot be read, or is too long")
		}
		return f(w, r)
	}
}

// classifyPage is classify, for the errors that pages return themselves.
func classifyPage(err error) *httpapi.Error {
	var p *problem
	if errors.As(err, &p) {
		return &httpapi.Error{Status: p.status, Detail: p.Message, Err: p}
	}
	return classify(err)
}

// writeError answers with a page that says what went wrong, or with the sentence alone for a
// script.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if !httpapi.WantsPage(r) {
		httpapi.WriteTextError(w, r, e)
		return
	}
	view := struct {
		frame
		Text string
	}{p.frame(r, http.StatusText(e.Status), "", gatewayCrumb()), e.Text()}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		httpapi.WriteTextError(w, r, e)
	}
}

// frame has the parts that all pages of the gateway share.
type frame struct {
	shell.Frame
	// Tabs lead to the lists. There are none for people who have not signed in.
	Tabs []tab
}

type tab struct {
	Name, Href string
	Current    bool
}

// gatewayCrumb is the step to the first page.
func gatewayCrumb() shell.Crumb { return shell.Crumb{Name: "Gateway"} }

// frame returns the frame of a page, which belongs to the list of that name; empty means the
// first page.
func (p *pages) frame(r *http.Request, title, list string, trail ...shell.Crumb) frame {
	f := frame{Frame: p.part.Frame(r, title, trail...)}
	if p.account != nil {
		s, ok := p.account.find(sessionSecret(r), false)
		if !ok {
			return f
		}
		f.Person = shell.Person{Name: s.user, Role: httpapi.Admin, SignOut: f.Root + "sign-out"}
	}
	f.Tabs = []tab{{"Traffic", "", list == ""}}
	for _, kind := range kindsOfPages() {
		if t := tableFor(kind); ownerKind(kind) == "" {
			f.Tabs = append(f.Tabs, tab{upper(t.plural), t.plural, list == t.plural})
		}
	}
	return f
}

// upper returns a text with a capital letter.
func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// isAdmin reports whether the caller may see and change secrets.
func (p *pages) isAdmin(r *http.Request) bool {
	return p.account != nil || p.guard.authorize(r, string(httpapi.Admin)) == nil
}

// loadConfig is the configuration that a page is about.
func (p *pages) loadConfig(ctx context.Context) (*entity.Config, error) {
	now, err := p.store.current(ctx)
	if err != nil {
		return nil, err
	}
	return &now.config, nil
}

// serviceURL is the address of a service.
func serviceURL(s *entity.Service) string {
	return (&url.URL{Scheme: s.Protocol, Host: fmt.Sprintf("%s:%d", s.Host, s.Port), Path: s.Path}).String()
}
