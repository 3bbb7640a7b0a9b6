package portal

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// partHeader is the header field of scripts that request a part of a page.
const partHeader = "X-Part"

// Handler serves the portal at the root of its origin, except for paths that are
// given to other handlers, such as the publisher's.
func (p *Portal) Handler() http.Handler {
	return httpapi.NewHandler(p.routes(), &httpapi.Options{
		Classify: classify, WriteError: p.writeError, Hosts: append([]string{p.config.URL}, p.config.Hosts...), Logger: p.config.Logger,
	})
}

func (p *Portal) routes() []httpapi.Route {
	routes := []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.home},
		{Pattern: "GET /login", Func: p.login},
		{Pattern: "GET " + AnswerPath, Func: p.answer},
		{Pattern: "POST /logout", Func: p.member(p.logout)},
		{Pattern: "GET /token", Func: p.reader(p.token)},
		{Pattern: "POST /apis", Func: p.developer(p.upload)},
		{Pattern: "GET /apis/{enabler}", Func: p.reader(p.api)},
		{Pattern: "POST /apis/{enabler}", Func: p.developer(p.describe)},
		{Pattern: "GET /apis/{enabler}/definition", Func: p.reader(p.shown)},
		{Pattern: "POST /apis/{enabler}/state", Func: p.developer(p.setState)},
		{Pattern: "GET /apis/{enabler}/delete", Func: p.developer(p.askDelete)},
		{Pattern: "POST /apis/{enabler}/delete", Func: p.developer(p.remove)},
		{Pattern: "GET /portal/{name}", Func: assets().Serve},
		{Pattern: "GET /portal/swagger/{name}", Func: swaggerAsset},
		{Pattern: "GET /favicon.ico", Func: httpapi.Icon},
	}
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
	status := http.StatusInternalServerError
	for _, known := range []struct {
		kind   error
		status int
	}{
		{apimgmt.ErrNotFound, http.StatusNotFound}, {apimgmt.ErrInvalid, http.StatusBadRequest},
		{apimgmt.ErrTooLarge, http.StatusRequestEntityTooLarge},
		{apimgmt.ErrConflict, http.StatusConflict}, {apimgmt.ErrState, http.StatusConflict},
		{apimgmt.ErrPrecondition, http.StatusPreconditionFailed},
		{apimgmt.ErrGateway, http.StatusBadGateway}, {apimgmt.ErrUnknown, http.StatusServiceUnavailable},
	} {
		if refusal.Kind == known.kind {
			status = known.status
		}
	}
	return &httpapi.Error{Status: status, Detail: sentence(refusal.Error()), Err: err}
}

// head is what every page has.
type head struct {
	Title   string
	Visitor *visitor // nil without a login session
}

// show writes a page.
func (p *Portal) show(w http.ResponseWriter, r *http.Request, status int, page *template.Template, view any) error {
	h := w.Header()
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	policy := httpapi.PagePolicy{Content: p.policy(r.Context(), page == p.pages.api), Referrer: "same-origin"}
	return httpapi.WritePage(w, status, page, "", view, policy)
}

// policy allows a page its own assets, and to talk to its own origin and the
// gateway (CSP level 3). A form may lead to the provider, where users sign out:
// browsers hold forms to this also for where their answer redirects to. The arrows
// of the interactive documentation are images within its style sheet.
func (p *Portal) policy(ctx context.Context, docs bool) string {
	images := ""
	if docs {
		images = " data:"
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second) // it is known, but for the first time
	defer cancel()
	provider := ""
	if where, err := p.config.Client.EndSessionURL(ctx, "", ""); err == nil {
		if u, err := url.Parse(where); err == nil {
			if at, ok := origin(u.Scheme + "://" + u.Host); ok {
				provider = " " + at
			}
		}
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'" + images + "; connect-src 'self' " + p.gateway +
		"; form-action 'self'" + provider + "; base-uri 'none'; frame-ancestors 'none'"
}

// writeError answers with a page, or with a part of one for a script.
func (p *Portal) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	view := struct {
		head
		Text   string
		Status int
	}{head{Title: http.StatusText(e.Status)}, e.Text(), e.Status}
	page := p.pages.fault
	if r.Header.Get(partHeader) != "" {
		page = p.pages.faultPart
	} else if v, err := p.visit(r); err == nil {
		view.Visitor = v
	}
	if err := p.show(w, r, e.Status, page, view); err != nil {
		p.config.Logger.Error("no page for an error", "error", err)
		httpapi.WriteTextError(w, r, e)
	}
}
