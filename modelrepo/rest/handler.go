package rest

import (
	"cmp"
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

//go:embed openapi.json
var openapi []byte

// HandlerOptions changes [NewHandler]. The zero value is the default.
type HandlerOptions struct {
	// Name and Version are the answer to GET /v. Empty means "modelrepo" and "0.1", the
	// version of the interface.
	Name, Version string
	// Hosts are further names of the server, besides IP addresses, localhost and the
	// names below .localhost. Over a loopback connection requests for other hosts get
	// status 421, because any name can be made to resolve to 127.0.0.1. Add the names
	// that a reverse proxy on the same machine forwards. A name with a scheme, such
	// as https://app.example.org, is the origin of pages that may send requests
	// and read the answers, besides those of the server. Nil means none.
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

// NewHandler returns the REST interface of a repository, with its OpenAPI document at
// /openapi.json, an interactive page at /docs/, and /healthz, /readyz and /metrics. It
// lets every caller do everything unless [HandlerOptions.Authorize] is given. Pages of
// other origins cannot make a browser change anything; see also [HandlerOptions.Hosts].
// The read and write timeouts of a server do not end long uploads and downloads: the
// handler extends them while bytes move. opts may be nil.
func NewHandler(store *modelrepo.Store, opts *HandlerOptions) http.Handler {
	r := newREST(store, opts)
	options := &httpapi.Options{
		Classify: web.Classify, WriteError: writeError, Hosts: r.options.Hosts,
		Authorize: r.options.Authorize, Logger: r.options.Logger, Traffic: &httpapi.Traffic{},
	}
	// Two muxes, because a path such as /c/a/b/content matches two patterns. The
	// first segment decides: no segment of the service is the name of a namespace.
	tree, service := httpapi.NewHandler(r.tree(), options), httpapi.NewHandler(r.service(), options)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		first, _, _ := strings.Cut(strings.TrimLeft(req.URL.Path, "/"), "/")
		if first == "c" {
			if long := unshortened(req); long != nil {
				tree.ServeHTTP(w, long)
				return
			}
		}
		switch first {
		case "c", "h", "i", "u", "v", "v1", "x", "page.css", "openapi.json", "docs", "healthz", "metrics", "readyz":
			service.ServeHTTP(w, req)
		default:
			tree.ServeHTTP(w, req)
		}
	})
}

// unshortened returns the request for the content whose short form names a format with dot
// segments or empty ones, and nil for other requests. A mux redirects such a path to the one
// without them, which is that of other content.
func unshortened(req *http.Request) *http.Request {
	parts := strings.SplitN(strings.TrimPrefix(req.URL.Path, "/c/"), "/", 4)
	if len(parts) < 4 || path.Clean(req.URL.Path) == strings.TrimSuffix(req.URL.Path, "/") {
		return nil
	}
	at := strings.Join(parts[:3], "/")
	if _, err := modelrepo.ParsePath(at); err != nil {
		return nil
	}
	made := *req
	query := url.Values{"format": {strings.TrimSuffix(parts[3], "/")}}
	made.URL = &url.URL{Path: "/" + at + "/content", RawQuery: query.Encode()}
	return &made
}

// rest is the REST interface of a repository.
type rest struct {
	store   *modelrepo.Store
	options HandlerOptions

	downloads, downloadedBytes, damagedDownloads atomic.Uint64

	copier transfer.Copier
	lists  *httpapi.Slots
}

func newREST(s *modelrepo.Store, opts *HandlerOptions) *rest {
	r := &rest{store: s, lists: longLists()}
	if opts != nil {
		r.options = *opts
	}
	r.options.Name = cmp.Or(r.options.Name, "modelrepo")
	r.options.Version = cmp.Or(r.options.Version, "0.1")
	if r.options.Logger == nil {
		r.options.Logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// tree returns the routes that begin with a namespace.
func (r *rest) tree() []httpapi.Route {
	return []httpapi.Route{
		{Pattern: "GET /{$}", Func: r.listNamespaces},

		{Pattern: "POST /{namespace}", Func: r.createNamespace},
		{Pattern: "GET /{namespace}", Func: r.getNamespace},
		{Pattern: "PATCH /{namespace}", Func: r.updateNamespace},
		{Pattern: "DELETE /{namespace}", Func: r.deleteNamespace},

		{Pattern: "POST /{namespace}/{model}", Func: r.createModel},
		{Pattern: "GET /{namespace}/{model}", Func: r.getModel},
		{Pattern: "PATCH /{namespace}/{model}", Func: r.updateModel},
		{Pattern: "DELETE /{namespace}/{model}", Func: r.deleteModel},

		{Pattern: "POST /{namespace}/{model}/{version}", Func: r.createVersion},
		{Pattern: "GET /{namespace}/{model}/{version}", Func: r.getVersion},
		{Pattern: "PATCH /{namespace}/{model}/{version}", Func: r.updateVersion},
		{Pattern: "DELETE /{namespace}/{model}/{version}", Func: r.deleteVersion},

		{Pattern: "POST /{namespace}/{model}/{version}/content", Func: r.uploadContent},
		{Pattern: "POST /{namespace}/{model}/{version}/doc_gen", Func: r.generateDocumentation},
		{Pattern: "GET /{namespace}/{model}/{version}/doc", Func: r.documentation},
		{Pattern: "GET /{namespace}/{model}/{version}/doc/{page...}", Func: r.documentation},
		{Pattern: "DELETE /{namespace}/{model}/{version}/doc", Func: r.deleteDocumentation},

		{Pattern: "OPTIONS /{namespace}/{model}/{version}/content", Func: r.tusOptions},
		{Pattern: "GET /{namespace}/{model}/{version}/content", Func: r.downloadContent},
		{Pattern: "DELETE /{namespace}/{model}/{version}/content", Func: r.deleteContent},
	}
}

// service returns the routes of the service itself, and the short form of downloads.
func (r *rest) service() []httpapi.Route {
	return append(r.webhookRoutes(), []httpapi.Route{
		{Pattern: "GET /c/{namespace}/{model}", Func: r.downloadShort},
		{Pattern: "GET /c/{namespace}/{model}/{version}", Func: r.downloadShort},
		{Pattern: "GET /c/{namespace}/{model}/{version}/{format...}", Func: r.downloadShort},

		{Pattern: "OPTIONS /u/{upload}", Func: r.tusOptions},
		{Pattern: "HEAD /u/{upload}", Func: resumable(r.headUpload)},
		{Pattern: "PATCH /u/{upload}", Func: resumable(r.patchUpload)},
		{Pattern: "DELETE /u/{upload}", Func: resumable(r.cancelUpload)},
		{Pattern: "POST /u/{upload}", Func: resumable(r.overrideUpload)},

		{Pattern: "GET /x/{namespace}", Func: r.exportArchive},
		{Pattern: "GET /x/{namespace}/{model}", Func: r.exportArchive},
		{Pattern: "GET /x/{namespace}/{model}/{version}", Func: r.exportArchive},
		{Pattern: "POST /x/{namespace}", Func: r.importArchive},
		{Pattern: "POST /x/scrub", Func: r.scrub, Role: httpapi.Admin},

		{Pattern: "GET /i", Func: r.integrity},

		{Pattern: "GET /page.css", Func: pageStyle, Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /v", Func: r.version},
		{Pattern: "GET /docs", Func: redirectToDocs, Role: httpapi.Public},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("Model repository", "/docs/", "../openapi.json"), Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /metrics", Func: r.metrics()},
	}...)
}

func (r *rest) version(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WriteJSON(w, map[string]string{"name": r.options.Name, "version": r.options.Version})
}

func (r *rest) ready(w http.ResponseWriter, req *http.Request) error {
	ctx, cancel := context.WithTimeout(req.Context(), 5*time.Second)
	defer cancel()
	return httpapi.Ready(func() error { return r.store.Ping(ctx) })(w, req)
}

func redirectToDocs(w http.ResponseWriter, req *http.Request) error {
	http.Redirect(w, req, "/docs/", http.StatusTemporaryRedirect)
	return nil
}
