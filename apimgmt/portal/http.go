package portal

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/storage"
)

// partHeader is the header field of scripts that request a part of a page.
const partHeader = "X-Part"

// Handler serves the portal. All addresses in its pages are relative: it works at the root of
// its origin, except for paths that are given to other handlers, such as the publisher's, and
// anywhere with [http.StripPrefix].
func (p *Portal) Handler() http.Handler {
	return httpapi.NewHandler(p.routes(), &httpapi.Options{
		Classify: classify, WriteError: p.writeError, Hosts: append([]string{p.config.URL}, p.config.Hosts...), Logger: p.config.Logger,
	})
}

func (p *Portal) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /login", Func: p.login},
		{Pattern: "POST /logout", Func: p.logout},
		{Pattern: "GET /{$}", Func: p.home},
		{Pattern: "GET /token", Func: p.reader(p.token)},
		{Pattern: "GET /apis", Func: p.toLibrary},
		{Pattern: "POST /apis", Func: p.developer(p.upload)},
		{Pattern: "GET /apis/{enabler}", Func: p.reader(p.api)},
		{Pattern: "POST /apis/{enabler}", Func: p.developer(p.describe)},
		{Pattern: "GET /apis/{enabler}/definition", Func: p.reader(p.shown)},
		{Pattern: "POST /apis/{enabler}/state", Func: p.developer(p.setState)},
		{Pattern: "GET /apis/{enabler}/delete", Func: p.developer(p.askDelete)},
		{Pattern: "POST /apis/{enabler}/delete", Func: p.developer(p.remove)},
		{Pattern: "GET /page/swagger/{name}", Func: swaggerAsset},
	}...)
	for i := range routes {
		routes[i].Undocumented = true
	}
	return routes
}

// classify decides the status of an error of the publisher.
func classify(err error) *httpapi.Error {
	var refusal *apimgmt.Error
	switch {
	case errors.Is(err, storage.ErrFull):
		const text = "The storage is full. Please try again when there is space."
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Detail: text, Err: err}
	case errors.As(err, &refusal):
	case errors.Is(err, storage.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The storage cannot be reached. Please try again.", Err: err}
	default:
		return nil
	}
	return &httpapi.Error{Status: wire.Status(refusal.Kind), Detail: sentence(refusal.Error()), Err: err}
}

// head is what every page has.
type head struct {
	shell.Frame
	Visitor *visitor // nil without a login session
	SignIn  string   // address at which to sign in, and to come back from
}

// head returns the head of the page at a request.
func (p *Portal) head(r *http.Request, title string, v *visitor, trail ...shell.Crumb) head {
	h := head{Frame: p.part.Frame(r, title, trail...), Visitor: v, SignIn: p.signInAddress(r)}
	h.Policy = p.policy(false)
	h.Person = p.person(r, h.Person, v)
	if v != nil {
		h.Person.Role = httpapi.Role(cmp.Or(v.Role, "no role")) // the one that counts here
	}
	return h
}

// show writes a page.
func (p *Portal) show(w http.ResponseWriter, r *http.Request, status int, name string, view shell.Framed) error {
	h := w.Header()
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	return p.part.Show(w, r, status, name, view)
}

// policy allows a page its own assets, and requests to its own origin and the gateway
// (CSP level 3). The arrows of the interactive documentation are images within its style
// sheet.
func (p *Portal) policy(docs bool) httpapi.PagePolicy {
	images := ""
	if docs {
		images = " data:"
	}
	return httpapi.PagePolicy{Referrer: "same-origin", Content: "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"img-src 'self'" + images + "; connect-src 'self' " + p.gateway + "; form-action 'self'" +
		"; base-uri 'none'; frame-ancestors 'none'"}
}

// writeError answers with a page, or with a part of one for a script.
func (p *Portal) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	name, v := "fault.html", (*visitor)(nil)
	if r.Header.Get(partHeader) != "" {
		name = "fault-part.html"
	} else if found, err := p.visit(r); err == nil {
		v = found
	}
	view := struct {
		head
		Text   string
		Status int
	}{p.head(r, http.StatusText(e.Status), v), e.Text(), e.Status}
	if err := p.show(w, r, e.Status, name, &view); err != nil {
		p.config.Logger.Error("no page for an error", "error", err)
		httpapi.WriteTextError(w, r, e)
	}
}
