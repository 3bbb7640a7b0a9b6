package rest

import (
	_ "embed"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

//go:embed openapi.json
var openapi []byte

// maxBody is the largest request body, as in the original service: 17 MiB.
const maxBody = 17 << 20

// HandlerOptions tunes [NewHandler]. The zero value is ready for use.
type HandlerOptions struct {
	// Name and Version are the response to GET /version. Empty means "annotator"
	// and the version of the program's main module.
	Name, Version string
	// DatabaseHost and DatabasePort are shown by GET /settings; empty when
	// there is no database server.
	DatabaseHost string
	DatabasePort int
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

// NewHandler returns the REST interface of the manager, with its OpenAPI document
// at /openapi.json, an interactive page at /swagger/, and /healthz, /readyz
// and /metrics. It lets every caller do everything unless [HandlerOptions.Authorize] is
// given. Pages of other origins cannot have a browser change anything; see also
// [HandlerOptions.Hosts]. opts may be nil.
func NewHandler(m *manager.Manager, opts *HandlerOptions) http.Handler {
	r := newREST(m, opts)
	return slashedIDs(httpapi.NewHandler(r.routes(), &httpapi.Options{
		Classify: Classify, Hosts: r.options.Hosts, Authorize: r.options.Authorize, Logger: r.options.Logger,
	}))
}

// rest is the REST interface of a manager.
type rest struct {
	manager *manager.Manager
	forms   channelform.Forms
	options HandlerOptions
}

// ready answers whether channels are served and can be stored.
func (r *rest) ready(w http.ResponseWriter, req *http.Request) error {
	return httpapi.Ready(func() error {
		err := r.manager.Err()
		if documents := r.manager.Config().Documents; err == nil && documents != nil {
			err = storage.Space(req.Context(), documents)
		}
		return err
	})(w, req)
}

func newREST(m *manager.Manager, opts *HandlerOptions) *rest {
	r := &rest{manager: m, forms: channelform.New(m.Config().Drivers)}
	if opts != nil {
		r.options = *opts
	}
	if r.options.Name == "" {
		r.options.Name = "annotator"
	}
	if r.options.Version == "" {
		r.options.Version = "(devel)"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			r.options.Version = info.Main.Version
		}
	}
	return r
}

func (r *rest) routes() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: "GET /channels", Func: r.listChannels},
		{Pattern: "POST /channels", Func: r.createChannel},
		{Pattern: "GET /channels/{channelId}", Func: r.getChannel},
		{Pattern: "PATCH /channels/{channelId}", Func: r.patchChannel},
		{Pattern: "PATCH /channels/{channelId}/restart", Func: r.restartChannel},
		{Pattern: "DELETE /channels/{channelId}", Func: r.deleteChannel},
		{Pattern: "GET /channels/{channelId}/mapping", Func: r.getMapping},
		{Pattern: "PUT /channels/{channelId}/mapping", Func: r.replaceMapping},

		{Pattern: "GET /annotations", Func: r.listAnnotations},
		{Pattern: "POST /annotations", Func: r.addAnnotation},
		{Pattern: "GET /annotations/{annotationId}", Func: r.getAnnotation},
		{Pattern: "DELETE /annotations/{annotationId}", Func: r.removeAnnotation},

		{Pattern: "GET /version", Func: r.version},
		{Pattern: "GET /status", Func: r.status},
		{Pattern: "GET /settings", Func: r.settings},

		{Pattern: "GET /swagger", Func: redirectToDocs, Role: httpapi.Public},
		{Pattern: "GET /swagger/", Func: httpapi.DocsUI("Semantic annotator", "/swagger/", "../openapi.json"), Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Func: metrics(r.manager)},
	}
}

func redirectToDocs(w http.ResponseWriter, req *http.Request) error {
	http.Redirect(w, req, "/swagger/", http.StatusTemporaryRedirect)
	return nil
}

// flag reports whether a query has a flag: present, with any value but false
// and 0.
func flag(query url.Values, name string) bool {
	values, present := query[name]
	return present && values[0] != "false" && values[0] != "0"
}
