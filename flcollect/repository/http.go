package repository

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
)

//go:embed openapi.json
var openapi []byte

// HandlerOptions changes [NewHandler]. The zero value is the default.
type HandlerOptions struct {
	// Name and Version are what GET /version answers. Empty means "flrepository"
	// and "0.1", the version of the interface.
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
	// Logger receives requests at debug level and internal errors. Nil is
	// silent.
	Logger *slog.Logger
}

// NewHandler returns the REST interface of a repository, with its OpenAPI
// document at /openapi.json, an interactive page at /docs/, to which / leads, and
// /healthz, /readyz, /metrics and /version. It works below any prefix, too. It lets every caller do
// everything unless [HandlerOptions.Authorize] is given. Pages of other origins cannot
// have a browser change anything; see also [HandlerOptions.Hosts]. The read and write
// timeouts of the HTTP server do not end long uploads and downloads: the handler extends
// them while bytes move. opts may be nil.
func NewHandler(store *Store, opts *HandlerOptions) http.Handler {
	r := newREST(store, opts)
	return httpapi.NewHandler(r.routes(), &httpapi.Options{
		Classify: classify, WriteError: writeError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger,
	})
}

// rest is the REST interface of a Store.
type rest struct {
	store   *Store
	options HandlerOptions
}

func newREST(store *Store, opts *HandlerOptions) *rest {
	r := &rest{store: store}
	if opts != nil {
		r.options = *opts
	}
	r.options.Name = cmp.Or(r.options.Name, "flrepository")
	r.options.Version = cmp.Or(r.options.Version, "0.1")
	return r
}

func (r *rest) routes() []httpapi.Route {
	models, results, strategies, transformations := models(), results(), strategies(), transformations()
	return []httpapi.Route{
		{Pattern: "POST /model", Func: r.create(models)},
		{Pattern: "GET /model", Func: r.listModels},
		{Pattern: "GET /model/meta", Func: r.getModelMeta},
		{Pattern: "PUT /model/meta/{model_name}/{model_version}", Func: r.putModelMeta},
		{Pattern: "PUT /model/{model_name}/{model_version}", Func: r.putFile(models)},
		{Pattern: "GET /model/{model_name}/{model_version}", Func: r.getFile(models)},
		{Pattern: "DELETE /model/{model_name}/{model_version}", Func: r.delete(models)},
		{Pattern: "GET /models/available", Func: r.listFiles},
		{Pattern: "GET /models/download/shell/{filename}", Func: r.findFile},

		{Pattern: "POST /training-results", Func: r.create(results)},
		{Pattern: "GET /training-results", Func: r.list(results)},
		{Pattern: "GET /training-results/{model_name}/{model_version}", Func: r.list(results, "model_name", "model_version")},
		{Pattern: "PUT /training-results/{model_name}/{model_version}/{training_id}/{configuration_id}", Func: r.putFile(results)},
		{Pattern: "GET /training-results/weights/{model_name}/{model_version}/{training_id}", Func: r.getWeights},
		{Pattern: "DELETE /training-results/{model_name}/{model_version}/{training_id}", Func: r.delete(results)},

		{Pattern: "POST /strategy", Func: r.create(strategies)},
		{Pattern: "GET /strategy", Func: r.list(strategies)},
		{Pattern: "PUT /strategy/meta/{strategy_name}", Func: r.putStrategyMeta},
		{Pattern: "PUT /strategy/{strategy_name}", Func: r.putFile(strategies)},
		{Pattern: "GET /strategy/{strategy_name}", Func: r.getFile(strategies)},
		{Pattern: "DELETE /strategy/{strategy_name}", Func: r.delete(strategies)},

		{Pattern: "POST /collector", Func: r.create(collectors())},

		{Pattern: "POST /transformation", Func: r.create(transformations)},
		{Pattern: "GET /transformation", Func: r.list(transformations)},
		{Pattern: "PUT /transformation/meta/{id}", Func: r.putTransformationMeta},
		{Pattern: "PUT /transformation/{id}", Func: r.putFile(transformations)},
		{Pattern: "GET /transformation/{id}", Func: r.getFile(transformations)},
		{Pattern: "DELETE /transformation/{id}", Func: r.delete(transformations)},

		{Pattern: "GET /{$}", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /version", Func: r.version},
		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("FL repository", "/docs/", "../openapi.json"), Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Func: exposition.Handler()},
	}
}

func (r *rest) version(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WriteJSON(w, map[string]string{"name": r.options.Name, "version": r.options.Version})
}

func (r *rest) ready(w http.ResponseWriter, req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	return httpapi.Ready(func() error { return r.store.Ready(ctx) })(w, req)
}

// names are the names in a request's path that identify a record.
func names(req *http.Request, members []string) []string {
	all := make([]string, len(members))
	for i, member := range members {
		all[i] = req.PathValue(member)
	}
	return all
}
