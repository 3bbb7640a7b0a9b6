package admin

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/internal/cookies"
	"github.com/iotenablers/enablers/internal/clientaddr"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
)

//go:embed page
var pageFiles embed.FS

// pages are the administration pages.
type pages struct {
	*API
	admin     *administrator
	templates map[string]*template.Template
	assets    httpapi.Assets
	streams   *httpapi.Slots // of live traffic
}

// view is what a template shows.
type view struct {
	Title, Root, Here string
	User, CSRF        string
	Notice, Fault     string
	Secret            string // that is shown this once
	Name              string // of the administrator
	NeedsToken        bool

	Kind, Plural string
	Back         string // the page to return to, below /admin/
	Consequence  string // of a deletion
	PartKind     string // of what belongs to the entity
	PartPlural   string
	Parts        []part
	Rows         []listed
	Entity       *listed
	Fields       []input
	Fingerprint  string
	Upstreams    []upstreamView
}

// listed is an entity in a list.
type listed struct {
	ID, Label, Owner string
	Enabled          bool
	Cells            []cell
}

type cell struct{ Label, Text string }

type upstreamView struct {
	Name    string
	Targets []targetHealth
}

func newPages(a *API) *pages {
	p := &pages{API: a, admin: newAdministrator(a.store.record.docs), templates: map[string]*template.Template{},
		streams: httpapi.NewSlots(16, "There are too many streams. Please try again.")}
	p.assets = httpapi.Assets{
		"page.css":          {Files: pageFiles, Path: "page/page.css"},
		"traffic.js":        {Files: pageFiles, Path: "page/traffic.js"},
		"look.css":          {Files: look.Files},
		"icon.svg":          {Files: look.Files},
		"uPlot.iife.min.js": {Files: uplot.Files},
		"uPlot.min.css":     {Files: uplot.Files},
		"uPlot.LICENSE.txt": {Files: uplot.Files, Path: "LICENSE"},
		"live.js":           {Files: uplot.Files},
	}
	for _, name := range []string{"overview", "list", "edit", "delete", "setup", "signin", "fault"} {
		head := template.Must(template.New(name + ".html").Parse(look.Head("{{.Root}}assets/")))
		p.templates[name] = template.Must(head.ParseFS(pageFiles, "page/layout.html", "page/"+name+".html"))
	}
	return p
}

// kindsOfPages are the kinds that the page changes. Those without an owner have lists.
func kindsOfPages() []entity.Kind {
	return []entity.Kind{entity.KindService, entity.KindRoute, entity.KindPlugin, entity.KindConsumer,
		entity.KindUpstream, entity.KindKey, entity.KindTarget}
}

func (p *pages) routes() []httpapi.Route {
	open := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: p.protected(f), Role: httpapi.Public, Undocumented: true, Origins: httpapi.OwnPagesAndLinks}
	}
	mine := func(pattern string, f sessionFunc) httpapi.Route { return open(pattern, p.signedIn(f)) }
	// creating is a route that creates the account. With a token, the handler decides.
	creating := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		route := open(pattern, f)
		if !p.guard.hasToken && p.guard.other != nil {
			route.Role = httpapi.Admin
		}
		return route
	}
	routes := []httpapi.Route{
		open("GET /admin", p.home),
		mine("GET /admin/traffic", p.traffic),
		creating("GET /admin/setup", p.showSetup),
		creating("POST /admin/setup", p.setup),
		open("GET /admin/sign-in", p.showSignIn),
		open("POST /admin/sign-in", p.signIn),
		mine("POST /admin/sign-out", p.signOut),
		open("GET /admin/assets/{name}", p.asset),
		open("GET /favicon.ico", httpapi.Icon),
	}
	for _, kind := range kindsOfPages() {
		t := tableFor(kind)
		path := "/admin/" + t.plural
		if ownerKind(kind) == "" {
			routes = append(routes, mine("GET "+path, p.list(t)))
		}
		if kind != entity.KindKey { // whose secret is not shown again
			routes = append(routes, mine("GET "+path+"/{id}", p.showEdit(t)), mine("POST "+path+"/{id}", p.save(t)))
		}
		routes = append(routes, mine("GET "+path+"/new", p.showNew(t)), mine("POST "+path+"/new", p.save(t)),
			mine("GET "+path+"/{id}/delete", p.showDelete(t)), mine("POST "+path+"/{id}/delete", p.delete(t)))
	}
	return routes
}

// home is the overview; its address has a slash at the end.
func (p *pages) home(w http.ResponseWriter, r *http.Request) error {
	if !strings.HasSuffix(r.URL.Path, "/") {
		return httpapi.RedirectTo("admin/")(w, r)
	}
	return p.signedIn(p.overview)(w, r)
}

// sessionFunc answers a request with a login session.
type sessionFunc func(w http.ResponseWriter, r *http.Request, s session) error

// protected guards a page, and shows what goes wrong as a page.
func (p *pages) protected(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, maxEntity)
		err := p.guard.page(f)(w, r)
		var known *problem
		if errors.As(err, &known) {
			return p.show(w, r, known.status, "fault", view{Title: "Not possible", Fault: known.Message})
		}
		return err
	}
}

// signedIn redirects requests without a login session to the sign-in page, and refuses
// forms that are not of the session.
func (p *pages) signedIn(f sessionFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		s, ok := p.admin.find(secretOf(r), r.URL.Path != "/admin/traffic")
		if !ok {
			there, err := p.admin.exists(r.Context())
			if err != nil {
				return err
			}
			if there {
				return redirect(w, r, "sign-in")
			}
			return redirect(w, r, "setup")
		}
		if r.Method == http.MethodPost {
			if err := r.ParseForm(); err != nil {
				return badRequest("The form cannot be read")
			}
			if !equal(r.PostForm.Get("csrf"), s.csrf) {
				return forbidden("This form is too old. Load the page again")
			}
		}
		return f(w, r, s)
	}
}

func secretOf(r *http.Request) string {
	cookie, err := r.Cookie(cookies.Admin)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// root leads from a page to /admin/.
func root(r *http.Request) string {
	depth := strings.Count(strings.TrimPrefix(r.URL.Path, "/admin/"), "/")
	if depth == 0 {
		return "./"
	}
	return strings.Repeat("../", depth)
}

// redirect leads to a page below /admin/.
func redirect(w http.ResponseWriter, r *http.Request, page string) error {
	w.Header().Set("Location", root(r)+page)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, status int, name string, v view) error {
	v.Root = root(r)
	v.Here = r.URL.Path
	return httpapi.WritePage(w, status, p.templates[name], "", v, httpapi.FormPage())
}

// asset answers with a file that a page needs.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) error {
	if err := p.assets.Serve(w, r); err != nil {
		return notFound()
	}
	return nil
}

func (p *pages) showSetup(w http.ResponseWriter, r *http.Request) error {
	there, err := p.admin.exists(r.Context())
	if err != nil {
		return err
	}
	if there {
		return redirect(w, r, "sign-in")
	}
	return p.show(w, r, http.StatusOK, "setup", view{Title: "Create the administrator", NeedsToken: p.needsToken(r)})
}

// needsToken reports whether a client needs the token for creating the account. A caller
// that Config.Authorize accepts does not.
func (p *pages) needsToken(r *http.Request) bool {
	return p.guard.hasToken && (p.guard.other == nil || p.guard.other(asBearer(r), string(httpapi.Admin)) != nil)
}

// setup creates the account at the first visit: with the token, by a caller that
// Config.Authorize accepts, or, where there is neither, from this machine.
func (p *pages) setup(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return badRequest("The form cannot be read")
	}
	name, secret := strings.TrimSpace(r.PostForm.Get("name")), r.PostForm.Get("password")
	needsToken := p.needsToken(r)
	again := func(status int, fault string) error {
		return p.show(w, r, status, "setup", view{Title: "Create the administrator", Name: name, Fault: fault, NeedsToken: needsToken})
	}
	if needsToken && !p.admin.begin(remote(r)) {
		return again(http.StatusTooManyRequests, "Too many attempts. Wait a moment")
	}
	if needsToken && !p.guard.knows(r.PostForm.Get("token")) {
		return again(http.StatusForbidden, "The token is wrong")
	}
	if secret != r.PostForm.Get("again") {
		return again(http.StatusBadRequest, "The passwords differ")
	}
	err := p.admin.create(r.Context(), name, secret)
	var wrong *problem
	switch {
	case errors.As(err, &wrong):
		return again(wrong.status, wrong.Message)
	case errors.Is(err, errTaken):
		return p.show(w, r, http.StatusConflict, "signin", view{Title: "Sign in", Fault: "There is an administrator already. Sign in"})
	case err != nil:
		return err
	}
	p.logger.Info("the administrator of the gateway was created", "address", r.RemoteAddr)
	return p.begin(w, r, p.admin.open(name, remote(r)))
}

func (p *pages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	there, err := p.admin.exists(r.Context())
	if err != nil {
		return err
	}
	if !there {
		return redirect(w, r, "setup")
	}
	return p.show(w, r, http.StatusOK, "signin", view{Title: "Sign in"})
}

func (p *pages) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return badRequest("The form cannot be read")
	}
	name := strings.TrimSpace(r.PostForm.Get("name"))
	secret, err := p.admin.signIn(r.Context(), name, r.PostForm.Get("password"), remote(r))
	again := func(status int, fault string) error {
		p.logger.Warn("signing in to the gateway's page failed", "address", r.RemoteAddr, "status", status)
		return p.show(w, r, status, "signin", view{Title: "Sign in", Name: name, Fault: fault})
	}
	switch {
	case errors.Is(err, errPassword):
		return again(http.StatusForbidden, "Name or password is wrong")
	case errors.Is(err, errLocked):
		return again(http.StatusTooManyRequests, "Too many wrong passwords. Wait a moment")
	case err != nil:
		return err
	}
	return p.begin(w, r, secret)
}

// begin gives a browser its session.
func (p *pages) begin(w http.ResponseWriter, r *http.Request, secret string) error {
	p.admin.close(secretOf(r)) // the one before
	http.SetCookie(w, p.cookie(r, secret, int(sessionTime.Seconds())))
	return redirect(w, r, "")
}

func (p *pages) cookie(r *http.Request, secret string, age int) *http.Cookie {
	return &http.Cookie{Name: cookies.Admin, Value: secret, Path: "/", MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode}
}

func (p *pages) signOut(w http.ResponseWriter, r *http.Request, _ session) error {
	p.admin.close(secretOf(r))
	http.SetCookie(w, p.cookie(r, "", -1))
	return redirect(w, r, "sign-in")
}

// remote returns the address that the client of a request counts by.
func remote(r *http.Request) netip.Addr { return clientaddr.OfRemote(r.RemoteAddr) }

// configOf is the configuration that a page is about.
func (p *pages) configOf(ctx context.Context) (*entity.Config, error) {
	now, err := p.store.current(ctx)
	if err != nil {
		return nil, err
	}
	return &now.config, nil
}

// urlOf is the address of a service.
func urlOf(s *entity.Service) string {
	return (&url.URL{Scheme: s.Protocol, Host: fmt.Sprintf("%s:%d", s.Host, s.Port), Path: s.Path}).String()
}
