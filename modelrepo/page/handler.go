package page

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/rest"
)

//go:embed assets
var assets embed.FS

// NewHandler returns the pages of a repository. All addresses in them are relative, so that the
// handler may be mounted anywhere with [http.StripPrefix]. The REST interface, which the pages'
// scripts use, is below api/. opts may be nil.
func NewHandler(store *modelrepo.Store, opts *rest.HandlerOptions) http.Handler {
	if opts == nil {
		opts = &rest.HandlerOptions{}
	}
	own, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &pages{store: store, part: shell.NewPart(shell.PartConfig{Section: "Models", Files: own, Funcs: map[string]any{
		"href": pageAddress, "size": sizeText, "lines": metadataText, "brief": briefly, "plural": plural,
		"knownFormats": knownFormats, "fileName": fileName,
	}})}
	options := &httpapi.Options{Classify: web.Classify, WriteError: p.writeError, Hosts: opts.Hosts,
		Authorize: opts.Authorize, Logger: opts.Logger}
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", rest.NewHandler(store, opts)))
	mux.Handle("/", httpapi.NewHandler(p.routes(), options))
	return mux
}

// pages are the pages of a repository.
type pages struct {
	store *modelrepo.Store
	part  *shell.Part
}

// routes returns the route table. The address of a namespace, a model or a version begins
// with n, m or v, so that no name can be taken for a page.
func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.repository},
		{Pattern: "GET /open", Func: p.open},
		{Pattern: "GET /usage", Func: p.usage},
		{Pattern: "GET /integrity", Func: p.integrity},
		{Pattern: "POST /integrity/scrub", Func: p.scrub, Role: httpapi.Admin},
		{Pattern: "GET /webhooks", Func: p.webhooks, Role: httpapi.Admin},
		{Pattern: "POST /webhooks", Func: p.createWebhook, Role: httpapi.Admin},
		{Pattern: "POST /webhooks/{id}/delete", Func: p.deleteWebhook, Role: httpapi.Admin},

		{Pattern: "GET /n/{namespace}", Func: p.namespace},
		{Pattern: "GET /n/{namespace}/usage", Func: p.usage},
		{Pattern: "POST /n/{namespace}/delete", Func: p.deleteNamespace},
		{Pattern: "GET /m/{namespace}/{model}", Func: p.model},
		{Pattern: "POST /m/{namespace}/{model}/delete", Func: p.deleteModel},
		{Pattern: "GET /v/{namespace}/{model}/{version}", Func: p.version},
		{Pattern: "POST /v/{namespace}/{model}/{version}/delete", Func: p.deleteVersion},

		{Pattern: "POST /v/{namespace}/{model}/{version}/content", Func: p.upload},
		{Pattern: "POST /v/{namespace}/{model}/{version}/content/delete", Func: p.deleteContent},
		{Pattern: "POST /v/{namespace}/{model}/{version}/documentation", Func: p.document},
		{Pattern: "POST /v/{namespace}/{model}/{version}/documentation/delete", Func: p.deleteDocumentation},
	}...)
	for _, f := range []struct {
		path         string
		read, change func(*http.Request, *nodeForm) error
	}{
		{"/new", nil, p.createNamespace},
		{"/n/{namespace}/new", nil, p.createModel},
		{"/m/{namespace}/{model}/new", nil, p.createVersion},
		{"/n/{namespace}/change", p.readNamespace, p.changeNamespace},
		{"/m/{namespace}/{model}/change", p.readModel, p.changeModel},
		{"/v/{namespace}/{model}/{version}/change", p.readVersion, p.changeVersion},
	} {
		routes = append(routes, p.form(f.path, f.read, f.change)...)
	}
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// writeError answers with a page that says what went wrong, or with the sentence alone for a
// script.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		httpapi.WriteTextError(w, r, e)
		return
	}
	at := web.RequestPath(r) // what an action was about, or what cannot be shown
	view := struct {
		shell.Frame
		Text string
		Back modelrepo.Path
	}{p.part.Frame(r, http.StatusText(e.Status), trail(at)...), e.Text(), at}
	if r.Method == http.MethodGet {
		view.Back = at.Parent()
	}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		httpapi.WriteTextError(w, r, e)
	}
}

// pageAddress returns the address of the page of a node, relative to the root.
func pageAddress(at modelrepo.Path) string {
	name := func(text string) string { return "/" + url.PathEscape(text) }
	switch {
	case at.Version != "":
		return "v" + name(at.Namespace) + name(at.Model) + name(at.Version)
	case at.Model != "":
		return "m" + name(at.Namespace) + name(at.Model)
	case at.Namespace != "":
		return "n" + name(at.Namespace)
	}
	return ""
}

// trail returns the steps to a node, without the node itself.
func trail(at modelrepo.Path) []shell.Crumb {
	var steps []shell.Crumb
	for at = at.Parent(); at.Namespace != ""; at = at.Parent() {
		steps = slices.Insert(steps, 0, shell.Crumb{Name: at.Name(), Href: pageAddress(at)})
	}
	return steps
}

// trailTo returns the steps to a node, and the node.
func trailTo(at modelrepo.Path) []shell.Crumb {
	if at == (modelrepo.Path{}) {
		return nil
	}
	return append(trail(at), shell.Crumb{Name: at.Name(), Href: pageAddress(at)})
}
