package rest

import (
	"cmp"
	"context"
	_ "embed"
	"io"
	"iter"
	"log/slog"
	"net/http"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
)

//go:embed openapi.json
var openapi []byte

// HandlerOptions changes [NewHandler]. The zero value is the default.
type HandlerOptions struct {
	// Name and Version are what GET /version answers. Empty means "flcollector"
	// and "1.0.0".
	Name, Version string
	// Hosts are further names of the server, besides IP addresses, localhost and all
	// below .localhost: over a loopback connection, requests for other hosts get a
	// 421, because the owner of any name can point it to 127.0.0.1. Name what a
	// reverse proxy on the same machine forwards. A name with a scheme, such as
	// https://app.example.org, is the origin of pages that may send requests and read
	// the answers, besides those of the server. Nil means none.
	Hosts []string
	// Authorize returns nil if the caller that sends a request has the role "reader",
	// "operator" or "admin", and otherwise an error, which refuses the request with
	// status 403 or that of its method HTTPStatus() int. The OpenAPI document says with
	// x-role which operation requires which role; public ones are not asked about. Nil lets
	// every caller do everything.
	Authorize func(r *http.Request, role string) error
	// Fleet is the address, HOST:PORT, of the listener for SuperNodes: those that call this
	// handler are refused with it. Empty means that there is no such listener.
	Fleet string
	// Logger receives requests at debug level and internal errors. Nil is
	// silent.
	Logger *slog.Logger
}

// NewHandler returns the REST interface of a server: the three endpoints of the
// training collector (specification section 4) and further endpoints for programs. There
// are also the OpenAPI document at /openapi.json, an interactive page about it at /docs/,
// and /healthz, /readyz and /metrics. It lets every caller do everything unless
// [HandlerOptions.Authorize] is given, and pages of other origins cannot have a browser
// start or stop jobs; see also [HandlerOptions.Hosts]. The read and write timeouts of the
// HTTP server do not end streams of events and downloads: the handler extends them while
// bytes move. opts may be nil.
func NewHandler(server *flcollect.Server, opts *HandlerOptions) http.Handler {
	return newREST(server, opts).handler()
}

// jobs is what the REST interface needs of a [flcollect.Server].
type jobs interface {
	Start(ctx context.Context, id string, config jobconfig.Config) error
	Stop(ctx context.Context) error
	StopJob(ctx context.Context, id string) error
	Status(ctx context.Context, id string) (flcollect.Status, error)
	Jobs(ctx context.Context, prefix, after string, limit int) ([]flcollect.Status, string, error)
	Rounds(ctx context.Context, id string, after, limit int) ([]report.Round, error)
	Report(ctx context.Context, id string, round, after, limit int) (report.RoundReport, error)
	Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error]
	Changed(id string) <-chan struct{}
	Result(ctx context.Context, id string) (flcollect.Result, error)
	Runs(ctx context.Context, id string, before int64, limit int) ([]flcollect.Run, error)
	PublicContext(ctx context.Context, id string) (io.ReadSeekCloser, publiccontext.Info, error)
	SetPublicContext(ctx context.Context, id string, content io.Reader, condition publiccontext.Condition) (publiccontext.Info, error)
	DeletePublicContext(ctx context.Context, id string, condition publiccontext.Condition) error
	Ready() error
	Totals() flcollect.Totals
}

// Limits of concurrent requests. Those beyond get a 503.
const (
	maxStreams   = 1000 // streams of events
	maxDownloads = 8    // downloads, each of which may hold a model in memory
)

// rest is the REST interface of a Server.
type rest struct {
	jobs      jobs
	options   HandlerOptions
	streams   *httpapi.Slots
	downloads *httpapi.Slots
	uploads   *httpapi.Slots
}

func newREST(jobs jobs, opts *HandlerOptions) *rest {
	r := &rest{
		jobs:      jobs,
		streams:   httpapi.NewSlots(maxStreams, "There are too many streams of events. Please try again."),
		downloads: httpapi.NewSlots(maxDownloads, "There are too many downloads. Please try again."),
		uploads:   httpapi.NewSlots(maxContexts, "There are too many uploads. Please try again."),
	}
	if opts != nil {
		r.options = *opts
	}
	r.options.Name = cmp.Or(r.options.Name, "flcollector")
	r.options.Version = cmp.Or(r.options.Version, "1.0.0")
	if r.options.Logger == nil {
		r.options.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

func (r *rest) handler() http.Handler {
	return httpapi.NewHandler(r.routes(), &httpapi.Options{
		Classify: Classify, WriteError: WriteError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger,
	})
}

// reportRole is the role for reports of rounds and the audit log. They have the identities
// and addresses of all clients, each of which may hold a token of a reader.
const reportRole = httpapi.Operator

func (r *rest) routes() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: "POST /job/config/{id}", Func: r.configure},
		{Pattern: "GET /job/status/{id}", Func: r.status},
		{Pattern: "GET /job/stop", Func: r.stop, Role: httpapi.Operator, Origins: httpapi.OwnPages},
		{Pattern: "POST /job/stop", Func: r.stop},
		{Pattern: "POST /job/stop/{id}", Func: r.stopOne},

		{Pattern: "GET /jobs", Func: r.list},
		{Pattern: "GET /job/rounds/{id}", Func: r.rounds},
		{Pattern: "GET /job/runs/{id}", Func: r.runs},
		{Pattern: "GET /job/rounds/{id}/{round}/report", Func: r.report, Role: reportRole},
		{Pattern: "GET /job/audit/{id}", Func: r.audit, Role: reportRole},
		{Pattern: "GET /job/events/{id}", Func: r.events},
		{Pattern: "GET /job/result/{id}", Func: r.result},

		{Pattern: "GET /job/he/public/{id}", Func: r.publicContext},
		{Pattern: "PUT /job/he/public/{id}", Func: r.setPublicContext},
		{Pattern: "DELETE /job/he/public/{id}", Func: r.deletePublicContext},

		{Pattern: "POST /v1/fleet/{call}", Func: httpapi.Handler(r.superNodes()),
			Role: httpapi.Reader, Undocumented: true}, // as training is, which needs no other right

		{Pattern: "GET /version", Func: r.version},
		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("Training collector", "/docs/", "../openapi.json"), Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: httpapi.Ready(r.jobs.Ready), Role: httpapi.Public},
		{Pattern: "GET /metrics", Func: metrics(r.jobs.Totals)},
	}
}

// superNodes refuses SuperNodes, which have a listener of their own.
func (r *rest) superNodes() http.Handler {
	return &flower.SuperNodeHandler{Fleet: r.options.Fleet, Logger: r.options.Logger}
}

func (r *rest) version(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WriteJSON(w, map[string]string{"name": r.options.Name, "version": r.options.Version})
}
