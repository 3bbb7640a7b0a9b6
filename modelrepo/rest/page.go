package rest

import (
	"embed"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

//go:embed page
var pageFiles embed.FS

// NewPage returns the pages of a repository for people: its namespaces, models and versions, with
// making, changing and deleting them, the upload and download of content, documentation, usage and
// webhooks. All addresses in them are relative, so that the handler may be mounted anywhere with
// [http.StripPrefix]. The REST interface, which the pages' scripts use, is below api/. opts may
// be nil.
func NewPage(store *modelrepo.Store, opts *HandlerOptions) http.Handler {
	r := newREST(store, opts)
	p := &pages{store: store}
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p.part = shell.NewPart(shell.PartConfig{Section: "Models", Files: own, Funcs: map[string]any{
		"href": hrefOf, "size": sizeText, "lines": metadataText, "brief": briefly, "plural": plural,
		"knownFormats": knownFormats, "fileName": fileNameOf,
	}})
	options := &httpapi.Options{Classify: classify, WriteError: p.writeError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger}
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", NewHandler(store, opts)))
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
	at := pathOf(r) // what an action was about, or what cannot be shown
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

// hrefOf returns the address of the page of a node, relative to the root.
func hrefOf(at modelrepo.Path) string {
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
		steps = slices.Insert(steps, 0, shell.Crumb{Name: at.Name(), Href: hrefOf(at)})
	}
	return steps
}

func (p *pages) repository(w http.ResponseWriter, r *http.Request) error {
	listing, view := p.list(r, "Models", modelrepo.Path{})
	found, err := p.store.Namespaces(r.Context(), listing)
	if err != nil {
		return err
	}
	view.Total, view.Damaged = found.TotalCount, p.store.Stats().DamagedContents
	for _, n := range found.Items {
		view.add(item{At: modelrepo.Path{Namespace: n.Name}, Metadata: n.Metadata})
	}
	return p.part.Show(w, r, http.StatusOK, "repository.html", view)
}

// open leads to the page of a node by its path, which people paste.
func (p *pages) open(w http.ResponseWriter, r *http.Request) error {
	text := strings.Trim(strings.TrimSpace(r.URL.Query().Get("path")), "/")
	at, err := modelrepo.ParsePath(text)
	if err == nil && at.Version != "" {
		_, err = p.store.Version(r.Context(), at) // the tag may be an alias
	} else if err == nil {
		err = p.store.Exists(r.Context(), at)
	}
	if errors.Is(err, modelrepo.ErrNotFound) || errors.Is(err, modelrepo.ErrInvalid) {
		return &httpapi.Error{Status: http.StatusNotFound, Err: err, Detail: "There is no '" + clippedText(text) + "'. " +
			"Enter the path of a namespace, a model or a version, such as w3c/sosa/1.0."}
	}
	if err != nil {
		return err
	}
	return shell.SeeOther(w, "./"+hrefOf(at), "")
}

func (p *pages) namespace(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	listing, view := p.list(r, at.Namespace, at)
	n, err := p.store.Namespace(r.Context(), at.Namespace, listing)
	if err != nil {
		return err
	}
	view.Metadata = n.Metadata
	if n.Models != nil {
		view.Total = n.Models.TotalCount
		for _, m := range n.Models.Items {
			path := modelrepo.Path{Namespace: m.Namespace, Model: m.Name}
			view.add(item{At: path, Metadata: m.Metadata, Latest: m.LatestVersion})
		}
	}
	return p.part.Show(w, r, http.StatusOK, "namespace.html", view)
}

// modelView is the page of a model.
type modelView struct {
	listView
	Model   modelrepo.Model
	Aliases []string
}

func (p *pages) model(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	listing, list := p.list(r, at.Model, at)
	m, err := p.store.Model(r.Context(), at, listing)
	if err != nil {
		return err
	}
	view := &modelView{listView: *list, Model: m, Aliases: slices.Sorted(maps.Keys(m.Aliases))}
	view.Metadata = m.Metadata
	if m.Versions != nil {
		view.Total = m.Versions.TotalCount
		for _, v := range m.Versions.Items {
			path := modelrepo.Path{Namespace: v.Namespace, Model: v.Model, Version: v.Version}
			view.add(item{At: path, Metadata: v.Metadata, Format: v.DefaultFormat, Immutable: v.Immutable,
				IsLatest: v.Version == m.LatestVersion})
		}
	}
	return p.part.Show(w, r, http.StatusOK, "model.html", view)
}

// versionView is the page of a version.
type versionView struct {
	shell.Frame
	At               modelrepo.Path
	Version          modelrepo.Version
	Formats          []formatView
	HasDocumentation bool
	Aliases          []string // that name the version
	IsLatest         bool
}

// formatView is the content of a version in one format.
type formatView struct {
	Format    string
	IsDefault bool
	IsDamaged bool
	modelrepo.File
}

func (p *pages) version(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	v, err := p.store.Version(r.Context(), at)
	if err != nil {
		return err
	}
	at.Version = v.Version // of an alias
	view := &versionView{Frame: p.part.Frame(r, at.Model+" "+v.Version, trail(at)...), At: at, Version: v}
	damaged, err := p.store.DamagedFormats(r.Context(), at)
	if err != nil {
		return err
	}
	for _, format := range slices.Sorted(maps.Keys(v.Formats)) {
		view.Formats = append(view.Formats, formatView{format, format == v.DefaultFormat, damaged[format], v.Formats[format]})
	}
	m, err := p.store.Model(r.Context(), at.Parent(), few())
	if err != nil {
		return err
	}
	view.IsLatest = m.LatestVersion == at.Version
	for _, alias := range slices.Sorted(maps.Keys(m.Aliases)) {
		if m.Aliases[alias] == at.Version {
			view.Aliases = append(view.Aliases, alias)
		}
	}
	page, err := p.store.OpenPage(r.Context(), at, "")
	switch {
	case err == nil:
		view.HasDocumentation = true
		_ = page.Close() // nothing was read
	case !errors.Is(err, modelrepo.ErrNotFound):
		return err
	}
	return p.part.Show(w, r, http.StatusOK, "version.html", view)
}
