package rest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
)

//go:embed page
var pageFiles embed.FS

// NewPage returns the pages of a repository for people: its namespaces, models and versions, with
// making, changing and deleting them, and the upload and download of content. All addresses
// in them are relative, so that the handler may be mounted anywhere with [http.StripPrefix].
// The REST interface, which the pages' scripts use, is below api/. opts may be nil.
func NewPage(store *modelrepo.Store, opts *HandlerOptions) http.Handler {
	r := newREST(store, opts)
	p := &pages{store: store}
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p.part = shell.NewPart(shell.PartConfig{Section: "Models", Files: own, Funcs: map[string]any{
		"escape": url.PathEscape, "query": url.QueryEscape, "size": sizeText, "lines": metadataText,
	}})
	options := &httpapi.Options{Classify: classify, WriteError: p.writeError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger}
	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", NewHandler(store, opts)))
	mux.Handle("/", httpapi.NewHandler(p.routes(), options))
	return mux
}

// pages are the pages of a repository.
type pages struct {
	store *modelrepo.Store
	part  *shell.Part
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.repository},
		{Pattern: "GET /open", Func: p.open},
		{Pattern: "POST /{$}", Func: p.createNamespace},
		{Pattern: "GET /n/{namespace}", Func: p.namespace},
		{Pattern: "POST /n/{namespace}", Func: p.createModel},
		{Pattern: "POST /n/{namespace}/change", Func: p.changeNamespace},
		{Pattern: "POST /n/{namespace}/delete", Func: p.deleteNamespace},
		{Pattern: "GET /m/{namespace}/{model}", Func: p.model},
		{Pattern: "POST /m/{namespace}/{model}", Func: p.createVersion},
		{Pattern: "POST /m/{namespace}/{model}/change", Func: p.changeModel},
		{Pattern: "POST /m/{namespace}/{model}/delete", Func: p.deleteModel},
		{Pattern: "GET /v/{namespace}/{model}/{version}", Func: p.version},
		{Pattern: "POST /v/{namespace}/{model}/{version}", Func: p.upload},
		{Pattern: "POST /v/{namespace}/{model}/{version}/change", Func: p.changeVersion},
		{Pattern: "POST /v/{namespace}/{model}/{version}/delete", Func: p.deleteVersion},
		{Pattern: "POST /v/{namespace}/{model}/{version}/delete-content", Func: p.deleteContent},
	}...)
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
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), e.Text()}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		httpapi.WriteTextError(w, r, e)
	}
}

// perPage is how many items a page of a list has.
const perPage = 50

// list is one page of a list.
type list struct {
	Total      int64
	Page, Last int
}

// Previous and Next are the numbers of the pages beside it, zero if there is none.
func (l list) Previous() int { return l.Page - 1 }

// Next implements the template's link.
func (l list) Next() int {
	if l.Page >= l.Last {
		return 0
	}
	return l.Page + 1
}

func listOf(total int64, page int) list {
	return list{Total: total, Page: page, Last: int((total + perPage - 1) / perPage)}
}

// listing returns the page that a request selects.
func listing(r *http.Request) *modelrepo.Listing {
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	return &modelrepo.Listing{Page: page, PageSize: perPage}
}

// hrefOf returns the address of the page of a node, relative to the root.
func hrefOf(at modelrepo.Path) string {
	switch {
	case at.Version != "":
		return "v/" + at.String()
	case at.Model != "":
		return "m/" + at.String()
	case at.Namespace != "":
		return "n/" + at.String()
	}
	return ""
}

// trail returns the steps to a node, without the node itself.
func trail(at modelrepo.Path) []shell.Crumb {
	var steps []shell.Crumb
	if at.Model != "" {
		steps = append(steps, shell.Crumb{Name: at.Namespace, Href: hrefOf(modelrepo.Path{Namespace: at.Namespace})})
	}
	if at.Version != "" {
		steps = append(steps, shell.Crumb{Name: at.Model, Href: hrefOf(modelrepo.Path{Namespace: at.Namespace, Model: at.Model})})
	}
	return steps
}

func (p *pages) repository(w http.ResponseWriter, r *http.Request) error {
	opts := listing(r)
	found, err := p.store.Namespaces(r.Context(), opts)
	if err != nil {
		return err
	}
	view := struct {
		shell.Frame
		list
		Items []modelrepo.Namespace
		Stats modelrepo.Stats
	}{p.part.Frame(r, "Models"), listOf(found.TotalCount, opts.Page), found.Items, p.store.Stats()}
	return p.part.Show(w, r, http.StatusOK, "repository.html", &view)
}

// open leads to the page of a node by its path, which people paste.
func (p *pages) open(w http.ResponseWriter, r *http.Request) error {
	text := strings.Trim(strings.TrimSpace(r.URL.Query().Get("path")), "/")
	at, err := modelrepo.ParsePath(text)
	if err == nil {
		err = p.store.Exists(r.Context(), at)
	}
	if err != nil {
		return &httpapi.Error{Status: http.StatusNotFound,
			Detail: fmt.Sprintf("There is no %.200q. A path is a namespace, a model or a version: w3c/sosa/1.0.", text), Err: err}
	}
	return shell.SeeOther(w, "./"+hrefOf(at), "")
}

func (p *pages) namespace(w http.ResponseWriter, r *http.Request) error {
	at, opts := pathOf(r), listing(r)
	n, err := p.store.Namespace(r.Context(), at.Namespace, opts)
	if err != nil {
		return err
	}
	view := struct {
		shell.Frame
		list
		At       modelrepo.Path
		Metadata modelrepo.Metadata
		Items    []modelrepo.Model
	}{Frame: p.part.Frame(r, n.Name, trail(at)...), At: at, Metadata: n.Metadata}
	if n.Models != nil {
		view.list, view.Items = listOf(n.Models.TotalCount, opts.Page), n.Models.Items
	}
	return p.part.Show(w, r, http.StatusOK, "namespace.html", &view)
}

func (p *pages) model(w http.ResponseWriter, r *http.Request) error {
	at, opts := pathOf(r), listing(r)
	m, err := p.store.Model(r.Context(), at, opts)
	if err != nil {
		return err
	}
	view := struct {
		shell.Frame
		list
		At      modelrepo.Path
		Model   modelrepo.Model
		Aliases []string
		Items   []modelrepo.Version
	}{Frame: p.part.Frame(r, m.Name, trail(at)...), At: at, Model: m, Aliases: slices.Sorted(maps.Keys(m.Aliases))}
	if m.Versions != nil {
		view.list, view.Items = listOf(m.Versions.TotalCount, opts.Page), m.Versions.Items
	}
	return p.part.Show(w, r, http.StatusOK, "model.html", &view)
}

// formatView is the content of a version in one format.
type formatView struct {
	Format    string
	IsDefault bool
	modelrepo.File
}

func (p *pages) version(w http.ResponseWriter, r *http.Request) error {
	at := pathOf(r)
	v, err := p.store.Version(r.Context(), at)
	if err != nil {
		return err
	}
	at.Version = v.Version // of an alias
	view := struct {
		shell.Frame
		At      modelrepo.Path
		Version modelrepo.Version
		Formats []formatView
		HasDocs bool
	}{Frame: p.part.Frame(r, v.Version, trail(at)...), At: at, Version: v}
	for _, format := range slices.Sorted(maps.Keys(v.Formats)) {
		view.Formats = append(view.Formats, formatView{format, format == v.DefaultFormat, v.Formats[format]})
	}
	if page, err := p.store.OpenPage(r.Context(), at, ""); err == nil {
		view.HasDocs = true
		_ = page.Close() // nothing was read
	} else if !errors.Is(err, modelrepo.ErrNotFound) {
		return err
	}
	return p.part.Show(w, r, http.StatusOK, "version.html", &view)
}

// sizeText writes a size in bytes for people.
func sizeText(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(bytes), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.3g %s", size, units[unit])
}
