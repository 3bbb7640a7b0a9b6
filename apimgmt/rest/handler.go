package rest

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/internal/httpapi"
)

//go:embed openapi.json
var openapi []byte

// Verifier checks bearer tokens; [*oidc.Verifier] is one. Which audiences and
// clients are accepted is for it to say. An error that wraps [oidc.ErrUnreachable]
// or a [*oidc.Refusal] means that the validity of the token is unknown.
type Verifier interface {
	// Verify returns the claims of a valid token, and an error for any other one.
	Verify(ctx context.Context, token string) (*oidc.Claims, error)
}

// HandlerOptions changes [NewHandler]. A Verifier is required.
type HandlerOptions struct {
	// Verifier checks the tokens of callers. Nil refuses every caller.
	Verifier Verifier
	// Developer is the realm role of users that may publish. Empty means "Developer".
	Developer string
	// OpenCaller is the realm role of users that may read. Empty means "Open-Caller".
	OpenCaller string
	// Authorize accepts further callers, besides those with a token that Verifier accepts:
	// it returns nil if the caller that sends a request has the role "reader", for reading,
	// or "operator", for publishing, and otherwise an error, whose method HTTPStatus() int
	// may say with which status. It also decides on /metrics, and is not asked about public
	// operations. Nil accepts no further callers, and lets every caller read /metrics.
	Authorize func(r *http.Request, role string) error
	// Realm is the realm in the answer to a caller without a token (RFC 6750 section 3).
	// Empty means "OpenAPI".
	Realm string
	// Hosts are further names of the server, besides IP addresses, localhost and all
	// below .localhost: over a loopback connection, requests for other hosts get a
	// 421, because the owner of any name can point it to 127.0.0.1. Name what a
	// reverse proxy on the same machine forwards. A name with a scheme, such as
	// https://app.example.org, is the origin of pages that may send requests and read
	// the answers, besides those of the server. Nil means none.
	Hosts []string
	// Logger receives requests at debug level and failures. Nil is silent.
	Logger *slog.Logger
}

// NewHandler returns the REST interface of a publisher (specification part B,
// section 4): the library below /OpenAPIDocumentation/, which requires a bearer token
// with one of the roles, its own OpenAPI document at /openapi.json, an interactive
// page at /docs/, and /healthz, /readyz and /metrics. opts may be nil, which refuses
// every caller. Pages of other origins cannot have a browser change anything; see also
// [HandlerOptions.Hosts].
func NewHandler(p *apimgmt.Publisher, opts *HandlerOptions) http.Handler {
	r := newREST(p, opts)
	return httpapi.NewHandler(r.routes(), &httpapi.Options{
		Classify: classify, WriteError: writeError, Hosts: r.options.Hosts, Authorize: r.authorize, Logger: r.options.Logger,
	})
}

// rest is the REST interface of a publisher.
type rest struct {
	publisher *apimgmt.Publisher
	options   HandlerOptions
	uploads   *httpapi.Slots // of definitions that are received
}

func newREST(p *apimgmt.Publisher, opts *HandlerOptions) *rest {
	r := &rest{publisher: p, uploads: httpapi.NewSlots(maxUploads, "Too many definitions are being uploaded. Please try again.")}
	if opts != nil {
		r.options = *opts
	}
	r.options.Developer = cmp.Or(r.options.Developer, "Developer")
	r.options.OpenCaller = cmp.Or(r.options.OpenCaller, "Open-Caller")
	r.options.Realm = cmp.Or(r.options.Realm, "OpenAPI")
	return r
}

const library = wire.Library

func (r *rest) routes() []httpapi.Route {
	read, write := r.reader, r.developer
	return []httpapi.Route{
		{Pattern: "POST " + library + "/{$}", Func: write(r.publish)},
		{Pattern: "GET " + library + "/{$}", Func: read(r.list)},
		{Pattern: "GET " + library + "/{enabler}", Func: read(r.get)},
		{Pattern: "PUT " + library + "/{enabler}", Func: write(r.replace)},
		{Pattern: "PATCH " + library + "/{enabler}", Func: write(r.describe)},
		{Pattern: "DELETE " + library + "/{enabler}", Func: write(r.remove)},
		{Pattern: "GET " + library + "/{enabler}/definition", Func: read(r.definition)},
		{Pattern: "GET " + library + "/{enabler}/versions", Func: read(r.versions)},
		{Pattern: "GET " + library + "/{enabler}/versions/{version}", Func: read(r.version)},
		{Pattern: "PATCH " + library + "/{enabler}/versions/{version}", Func: write(r.setState)},
		{Pattern: "DELETE " + library + "/{enabler}/versions/{version}", Func: write(r.removeVersion)},
		{Pattern: "GET " + library + "/{enabler}/versions/{version}/definition", Func: read(r.definition)},

		{Pattern: "POST " + library, Func: write(r.publish), Undocumented: true},
		{Pattern: "GET " + library, Func: read(r.list), Undocumented: true},

		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("API publisher", "/docs/", "../openapi.json"), Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Func: r.metrics()},
	}
}

func (r *rest) ready(w http.ResponseWriter, req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	return httpapi.Ready(func() error { return r.publisher.Ready(ctx) })(w, req)
}
