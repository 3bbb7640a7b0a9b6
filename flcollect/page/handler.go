package page

import (
	"cmp"
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/jobform"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/rest"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed assets
var assets embed.FS

// HandlerOptions changes [NewHandler]. The zero value is the default.
type HandlerOptions struct {
	// REST are the options of the REST interface, which also hold for the pages.
	REST rest.HandlerOptions
	// Root has the REST interface beside the pages, at the root of the handler, and not
	// below api/. No page has a path of the REST interface.
	Root bool
	// Clients says how Flower clients reach the server. The zero value has the pages show no
	// command.
	Clients ClientEndpoint
	// Fleet says how SuperNodes reach the server. The zero value is a server without a
	// listener for them. Its address is also that of REST.Fleet, where that is empty.
	Fleet FleetEndpoint
}

// ClientEndpoint says how Flower clients reach a server, for the commands that the pages
// show.
type ClientEndpoint struct {
	// Address is HOST:PORT. A host that is empty or unspecified stands for the one by which
	// a page was requested. An empty address has the pages show no command.
	Address string
	// TLS says that clients need TLS.
	TLS bool
	// Token says that clients need a token.
	Token bool
}

// FleetEndpoint says how SuperNodes reach a server, for the commands that the pages show.
type FleetEndpoint struct {
	// Address is HOST:PORT, as in a [ClientEndpoint]. Empty means that SuperNodes cannot
	// connect.
	Address string
	// TLS says that they need TLS.
	TLS bool
	// Key says that they need a key that the server knows.
	Key bool
}

// NewHandler returns the pages of a server. All addresses in them are relative, so that the
// handler may be mounted anywhere with [http.StripPrefix]. The REST interface, which the pages'
// scripts use, is below api/, unless [HandlerOptions].Root has it beside the pages. opts may be
// nil.
func NewHandler(server *flcollect.Server, opts *HandlerOptions) http.Handler {
	p := newPages(server, opts)
	pages, api := p.handler(), rest.NewHandler(server, &p.options.REST)
	below := httpapi.StripPrefix("/api", api)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case p.options.Root && !isPage(req.URL.Path):
			api.ServeHTTP(w, req)
		case !p.options.Root && strings.HasPrefix(req.URL.Path, "/api/"):
			below.ServeHTTP(w, req)
		default:
			pages.ServeHTTP(w, req)
		}
	})
}

// jobs is what the pages need of a [flcollect.Server].
type jobs interface {
	Start(ctx context.Context, id string, config jobconfig.Config) error
	StopJob(ctx context.Context, id string) error
	Status(ctx context.Context, id string) (flcollect.Status, error)
	Jobs(ctx context.Context, prefix, after string, limit int) ([]flcollect.Status, string, error)
	Rounds(ctx context.Context, id string, after, limit int) ([]report.Round, error)
	Report(ctx context.Context, id string, round, after, limit int) (report.RoundReport, error)
	Clients(id string) []flcollect.Client
	Strategies() []strategy.Description
	Runs(ctx context.Context, id string, before int64, limit int) ([]flcollect.Run, error)
}

// pages are the pages of a server.
type pages struct {
	jobs    jobs
	options HandlerOptions
	part    *shell.Part
	api     string // leads from the root of the pages to the REST interface
}

func newPages(jobs jobs, opts *HandlerOptions) *pages {
	own, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	p := &pages{jobs: jobs, api: "api/", part: shell.NewPart(shell.PartConfig{
		Section: "Training", Files: own, Plots: true, Funcs: pageFuncs(),
	})}
	if opts != nil {
		p.options = *opts
	}
	if p.options.Root {
		p.api = ""
	}
	if p.options.REST.Logger == nil {
		p.options.REST.Logger = slog.New(slog.DiscardHandler)
	}
	p.options.REST.Fleet = cmp.Or(p.options.REST.Fleet, p.options.Fleet.Address)
	return p
}

func (p *pages) handler() http.Handler {
	given := p.options.REST
	return httpapi.NewHandler(p.routes(), &httpapi.Options{
		Classify: rest.Classify, WriteError: p.writeError, Hosts: given.Hosts, Authorize: given.Authorize, Logger: given.Logger,
	})
}

// reportRole is the role for what names clients, as in the REST interface.
const reportRole = httpapi.Operator

// authorized reports whether the caller of a request has a role.
func (p *pages) authorized(r *http.Request, role httpapi.Role) bool {
	authorize := p.options.REST.Authorize
	return authorize == nil || authorize(r, string(role)) == nil
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.list},
		{Pattern: "GET /new", Func: p.new, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.create},
		{Pattern: "POST /new/estimate", Func: p.estimate},
		{Pattern: "GET /compare", Func: p.compare},
		{Pattern: "GET /live/{id}", Func: p.job},
		{Pattern: "GET /live/{id}/clients", Func: p.clients, Role: reportRole},
		{Pattern: "POST /live/{id}/stop", Func: p.stop},
		{Pattern: "POST /live/{id}/again", Func: p.again},
	}...)
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// isPage reports whether a path is one of the pages, and not of the REST interface.
func isPage(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"", "live", "new", "compare", "page", "favicon.ico"}, first)
}

// writeError answers with a page that says what went wrong, or as the REST interface does
// for programs and scripts.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if !httpapi.WantsPage(r) {
		rest.WriteError(w, r, e)
		return
	}
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), errorText(e)}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		rest.WriteError(w, r, e)
	}
}

// errorText returns what an error says, with the fault of a request where it has one.
func errorText(e *httpapi.Error) string {
	if e.Err != nil {
		if list := detail.All(e.Err); list != nil {
			return jobform.Sentence(list[0].Msg)
		}
	}
	return e.Text()
}
