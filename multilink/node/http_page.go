package node

import (
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
	"github.com/iotenablers/enablers/multilink/settings"
)

//go:embed page
var pageFiles embed.FS

// pages are the page for people, and where they sign in to it.
type pages struct {
	rest      *rest
	templates map[string]*template.Template
	assets    httpapi.Assets
}

// view is what a template shows.
type view struct {
	Title    string
	SignedIn bool // by a session, which can be ended
	Fault    string
	Status   statusRecord
	Replay   bool
	Policies []settings.Policy
	Kinds    []settings.Kind
}

func newPages(r *rest) *pages {
	p := &pages{rest: r, templates: map[string]*template.Template{}, assets: httpapi.Assets{
		"look.css":          {Files: look.Files},
		"icon.svg":          {Files: look.Files},
		"uPlot.iife.min.js": {Files: uplot.Files},
		"uPlot.min.css":     {Files: uplot.Files},
		"uPlot.LICENSE.txt": {Files: uplot.Files, Path: "LICENSE"},
		"live.js":           {Files: uplot.Files},
	}}
	for _, name := range []string{"page.css", "page.js", "links.js", "clients.js", "charts.js", "api.js"} {
		p.assets[name] = httpapi.Asset{Files: pageFiles, Path: "page/" + name}
	}
	for _, name := range []string{"instance.html", "signin.html"} {
		head := template.Must(template.New(name).Parse(look.Head("page/")))
		p.templates[name] = template.Must(head.ParseFS(pageFiles, "page/layout.html", "page/"+name))
	}
	return p
}

func (p *pages) routes() []httpapi.Route {
	row := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: p.bounded(f), Undocumented: true, Origins: httpapi.OwnPagesAndLinks}
	}
	return []httpapi.Route{
		row("GET /{$}", p.home),
		row("GET /sign-in", p.showSignIn),
		row("POST /sign-in", p.signIn),
		row("POST /sign-out", p.signOut),
		row("GET /page/{name}", p.asset),
		row("GET /favicon.ico", httpapi.Icon),
	}
}

// bounded bounds what is sent.
func (p *pages) bounded(f httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
		return f(w, r)
	}
}

func (p *pages) home(w http.ResponseWriter, r *http.Request) error {
	if !p.rest.guard.admits(r) {
		return redirect(w, "sign-in")
	}
	status := records{p.rest.node}.statusRecord()
	return p.show(w, http.StatusOK, "instance.html", view{
		Title: "Multi-link " + string(p.rest.node.config.Role), SignedIn: p.rest.guard.signedIn(r), Status: status,
		Replay:   *status.Bond.Replay,
		Policies: settings.Policies(), Kinds: settings.Kinds(),
	})
}

func (p *pages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	if p.rest.guard.admits(r) {
		return redirect(w, "./")
	}
	return p.show(w, http.StatusOK, "signin.html", view{Title: "Sign in"})
}

// signIn takes the token of a form, once, and gives the browser a session for it.
func (p *pages) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return wrong("", "the form cannot be read")
	}
	if !p.rest.guard.knows(strings.TrimSpace(r.PostForm.Get("token"))) {
		p.rest.node.logger.Warn("signing in to the page failed", "address", r.RemoteAddr)
		return p.show(w, http.StatusForbidden, "signin.html", view{Title: "Sign in", Fault: "The token is wrong"})
	}
	http.SetCookie(w, p.sessionCookie(r, p.rest.guard.begin(), int(sessionTime.Seconds())))
	return redirect(w, "./")
}

func (p *pages) signOut(w http.ResponseWriter, r *http.Request) error {
	p.rest.guard.end(r)
	http.SetCookie(w, p.sessionCookie(r, "", -1))
	return redirect(w, "sign-in")
}

func (p *pages) sessionCookie(r *http.Request, secret string, age int) *http.Cookie {
	return &http.Cookie{Name: p.rest.guard.cookie, Value: secret, Path: "/", MaxAge: age, HttpOnly: true,
		Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
}

func redirect(w http.ResponseWriter, place string) error {
	w.Header().Set("Location", place)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (p *pages) show(w http.ResponseWriter, status int, name string, v view) error {
	return httpapi.WritePage(w, status, p.templates[name], "", v, httpapi.FormPage())
}

// asset answers with a file that a page needs.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) error {
	if err := p.assets.Serve(w, r); err != nil {
		return absent("", "there is no such file")
	}
	return nil
}
