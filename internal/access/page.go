package access

import (
	"cmp"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/look"
)

// Prefix begins the paths that [Door.Handler] serves itself.
const Prefix = "/.enablers/"

const signInPath = Prefix + "sign-in"

//go:embed page
var pageFiles embed.FS

//go:embed openapi.json
var openapi []byte

// HandlerOptions changes [Door.Handler].
type HandlerOptions struct {
	// Hint returns what the sign-in page says about where the token is to be found, as a sentence,
	// and is called for each page. Nil, and an empty result, mean a general one.
	Hint func() string
	// Backup returns what answers GET /.enablers/backup, and is called at each request. The
	// request requires the role admin, and an open door refuses it: the answer has secrets.
	// Nil, also as the result, means that there is nothing to back up: the status is 501.
	Backup func() http.Handler
}

// Handler returns a handler that serves the paths below [Prefix], and passes all others on
// to next. There are the pages to sign in and out, the counts of the door in the text
// format of Prometheus, the backup, and the OpenAPI document of them. Next is not
// protected by it: give the handler that next is [Door.Authorizer]. opts may be nil.
func (d *Door) Handler(next http.Handler, opts *HandlerOptions) http.Handler {
	p := &pages{door: d}
	if opts != nil {
		p.hint, p.backup = opts.Hint, opts.Backup
	}
	head := template.Must(template.New("sign-in.html").Parse(look.Head(Prefix + "page/")))
	p.template = template.Must(head.ParseFS(pageFiles, "page/sign-in.html"))
	own := httpapi.NewHandler(p.routes(), &httpapi.Options{
		Hosts: d.config.Hosts, Logger: d.config.Logger, Authorize: d.Authorizer(),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if on := d.signOn.Load(); on != nil && r.URL.Path == on.answer.Path {
			answer := *r
			address := *r.URL
			address.Path, address.RawPath = answerPath, ""
			answer.URL = &address
			r = &answer
		}
		if strings.HasPrefix(r.URL.Path, Prefix) {
			own.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// pages are the door's own addresses.
type pages struct {
	door     *Door
	hint     func() string
	backup   func() http.Handler
	template *template.Template
}

func (p *pages) routes() []httpapi.Route {
	assets := httpapi.Assets{
		"look.css": {Files: look.Files}, "icon.svg": {Files: look.Files},
		"page.css": {Files: pageFiles, Path: "page/page.css"},
	}
	routes := []httpapi.Route{
		{Pattern: "GET " + signInPath, Func: p.showSignIn, Role: httpapi.Public},
		{Pattern: "POST " + signInPath, Func: p.signIn, Role: httpapi.Public},
		{Pattern: "POST " + Prefix + "sign-out", Func: p.signOut, Role: httpapi.Public},
		{Pattern: "GET " + signOnPath, Func: p.beginSignOn, Role: httpapi.Public, Origins: httpapi.OwnPagesAndLinks},
		{Pattern: "GET " + answerPath, Func: p.finishSignOn, Role: httpapi.Public},
		{Pattern: "GET " + Prefix + "page/{name}", Func: assets.Serve, Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET " + Prefix + "metrics", Func: p.door.metrics},
		{Pattern: "GET " + Prefix + "openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET " + Prefix + "backup", Func: p.sendBackup, Role: httpapi.Admin, Origins: httpapi.OwnPages},
	}
	return routes
}

// view is what the sign-in page shows.
type view struct {
	Title, Server, Hint, Fault string
	To                         string
	Open, TakesTokens          bool
	Provider                   string // that the person may sign in at, empty without one
	Caller                     Identity
	SignedOut                  bool
	GoOn                       bool // whether the browser goes on by itself
}

func (p *pages) show(w http.ResponseWriter, status int, v view) error {
	v.Title, v.Server = "Sign in", p.door.config.Name
	if p.hint != nil {
		v.Hint = p.hint()
	}
	v.Hint = cmp.Or(v.Hint, "The one that the server printed at its first start, or one that you were given.")
	v.Open, v.TakesTokens = p.door.config.Open, p.door.takesTokens()
	if on := p.door.signOn.Load(); on != nil {
		v.Provider = on.name
	}
	return httpapi.WritePage(w, status, p.template, "", v, httpapi.FormPage())
}

func (p *pages) showSignIn(w http.ResponseWriter, r *http.Request) error {
	caller, _ := p.door.signedIn(r)
	return p.show(w, http.StatusOK, view{To: ownPath(r.URL.Query().Get("to")), Caller: caller})
}

// signIn takes the token of a form, once, and starts a session of the browser.
func (p *pages) signIn(w http.ResponseWriter, r *http.Request) error {
	const largest = 64 << 10 // bytes of the form
	if r.ContentLength > largest {
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The form is too large."}
	}
	limited := *r // a copy: with another body in r itself, net/http would wait for what is not read
	limited.Body = http.MaxBytesReader(w, r.Body, largest)
	r = &limited
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	to, token := ownPath(r.PostForm.Get("to")), strings.TrimSpace(r.PostForm.Get("token"))
	if p.door.config.Open && !p.door.takesTokens() {
		return seeOther(w, to)
	}
	identity, err := p.door.Identify(r.Context(), Credentials{Address: r.RemoteAddr, Token: token})
	if err = p.door.judge(identity, err, r.RemoteAddr, httpapi.Reader); err != nil {
		if errors.Is(err, ErrAnonymous) {
			err = ErrInvalid // an empty field
		}
		e := p.door.Refusal(err)
		if after := e.Header.Get("Retry-After"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		status := e.Status
		if status == http.StatusUnauthorized {
			status = http.StatusForbidden // a 401 would have the browser open its own dialogue
		}
		return p.show(w, status, view{To: to, Fault: e.Text()})
	}
	p.door.config.Logger.Info("signed in", "name", identity.Name, "role", identity.Role, "address", r.RemoteAddr)
	p.door.endSession(r)
	if err := p.door.beginSession(w, r, "token of "+identity.Name, session{Token: token}); err != nil {
		return err
	}
	return seeOther(w, to)
}

// signOut ends the session of a browser, and has the provider end its own.
func (p *pages) signOut(w http.ResponseWriter, r *http.Request) error {
	page := ""
	if on := p.door.signOn.Load(); on != nil {
		if _, grant, err := p.door.Granted(r); err == nil {
			page = on.provider.EndURL(r.Context(), grant)
		}
	}
	p.door.endSession(r)
	p.door.setCookie(w, r, p.door.cookieName(), "", -time.Second)
	if page == "" {
		return seeOther(w, signInPath)
	}
	// A page, because the policy of the one with the form lets it lead to this server alone.
	return p.show(w, http.StatusOK, view{To: page, SignedOut: true, GoOn: true})
}

// endSession ends the session of a browser, if there is one.
func (d *Door) endSession(r *http.Request) {
	if cookie, err := r.Cookie(d.cookieName()); err == nil {
		if err := d.sessions.End(r.Context(), cookie.Value); err != nil {
			d.config.Logger.Warn("a session was not ended in storage; it ends by itself", "error", err)
		}
	}
}

func (p *pages) sendBackup(w http.ResponseWriter, r *http.Request) error {
	var backup http.Handler
	if p.backup != nil {
		backup = p.backup()
	}
	switch {
	case backup == nil:
		return &httpapi.Error{Status: http.StatusNotImplemented, Detail: "This server keeps nothing in a data folder. " +
			"If it has a database, back that up with the tools of the database."}
	case p.door.config.Open:
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "A backup has secrets, and this server does not " +
			"identify its callers. Start it with -access token; or run enablers backup on its machine, as the owner of the data folder."}
	}
	backup.ServeHTTP(w, r)
	return nil
}

func seeOther(w http.ResponseWriter, to string) error {
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// ownPath returns the path on this server to which a person is sent after signing in, and
// "/" for what leads elsewhere: browsers read "//" and "/\" as the begin of a host. A control
// character would break the header field, and a page to sign in would lead in a circle.
func ownPath(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) ||
		strings.ContainsFunc(to, unicode.IsControl) || strings.HasPrefix(to, signInPath) || strings.HasPrefix(to, signOnPath) {
		return "/"
	}
	return to
}
