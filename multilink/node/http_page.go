package node

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
	"github.com/iotenablers/enablers/internal/uplot"
	"github.com/iotenablers/enablers/multilink/settings"
)

//go:embed page
var pageFiles embed.FS

// pages are the HTML page and its sign-in form.
type pages struct {
	rest      *rest
	templates map[string]*template.Template
}

// view is the data of a template.
type view struct {
	Title    string
	SignedIn bool // by a login session, which can be ended
	Fault    string
	Status   statusRecord
	Replay   bool
	Policies []settings.Policy
	Kinds    []settings.Kind
}

func newPages(r *rest) *pages {
	p := &pages{rest: r, templates: map[string]*template.Template{}}
	for _, name := range []string{"instance", "signin"} {
		p.templates[name] = template.Must(template.ParseFS(pageFiles, "page/layout.html", "page/"+name+".html"))
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

// bounded limits the size of a request's body.
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
	return p.show(w, http.StatusOK, "instance", view{
		Title: "Multi-link " + string(p.rest.node.config.Role), SignedIn: p.rest.guard.signedIn(r), Status: status,
		Replay:   *status.Bond.Replay,
		Policies: settings.Policies(), Kinds: settings.Kinds(),
	})
}

func (p *pages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	if p.rest.guard.admits(r) {
		return redirect(w, "./")
	}
	return p.show(w, http.StatusOK, "signin", view{Title: "Sign in"})
}

// signIn takes the token of a form, once, and starts a login session of the browser.
func (p *pages) signIn(w http.ResponseWriter, r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return wrong("", "the form cannot be read")
	}
	if !p.rest.guard.knows(strings.TrimSpace(r.PostForm.Get("token"))) {
		p.rest.node.logger.Warn("signing in to the page failed", "address", r.RemoteAddr)
		return p.show(w, http.StatusForbidden, "signin", view{Title: "Sign in", Fault: "The token is wrong"})
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

// policy allows a page its own assets and its own origin, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func (p *pages) show(w http.ResponseWriter, status int, name string, v view) error {
	var html bytes.Buffer
	if err := p.templates[name].ExecuteTemplate(&html, name+".html", v); err != nil {
		return fmt.Errorf("render page %q: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(html.Bytes()) // a closed connection is no error
	return nil
}

// asset serves a file of a page.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	file, ok := map[string]struct {
		files fs.FS
		name  string
	}{
		"page.css": {pageFiles, "page/page.css"}, "page.js": {pageFiles, "page/page.js"}, "links.js": {pageFiles, "page/links.js"},
		"clients.js": {pageFiles, "page/clients.js"}, "charts.js": {pageFiles, "page/charts.js"}, "api.js": {pageFiles, "page/api.js"},
		"look.css": {look.Files, name}, "icon.svg": {look.Files, name},
		"uPlot.iife.min.js": {uplot.Files, name}, "uPlot.min.css": {uplot.Files, name},
		"uPlot.LICENSE.txt": {uplot.Files, "LICENSE"}, "live.js": {uplot.Files, name},
	}[name]
	if !ok {
		return absent("", "there is no such file")
	}
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(w, r, file.files, file.name)
	return nil
}
