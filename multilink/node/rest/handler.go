package rest

import (
	_ "embed"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
)

//go:embed openapi.json
var openapi []byte

// MaxBody bounds the body of a request, in bytes.
const MaxBody = 256 << 10

// HandlerOptions configures [NewHandler]. One of Token, Certificates and Authorize is required.
type HandlerOptions struct {
	// Token that requests show, better of ShortestToken characters or more, and at
	// least of half as many. Its caller may do everything. Empty needs Certificates or
	// Authorize.
	Token string
	// Certificates takes a client certificate that the TLS listener has
	// verified for the token. If one of its organizational units is "reader",
	// "operator" or "admin", it has that role.
	Certificates bool
	// Authorize takes the place of Token and Certificates, which are not used then. It
	// returns nil if the caller that sends a request has the role "reader", "operator"
	// or "admin", and otherwise an error, which refuses the request with status 403 or
	// that of its method HTTPStatus() int. The OpenAPI document says with x-role which
	// operation requires which role; public ones are not asked about. It is also called
	// while a stream of events lasts. Nil means the token and the certificates.
	Authorize func(r *http.Request, role string) error
	// OpenMetrics serves /metrics without a token.
	OpenMetrics bool
	// Hosts are further names of the server, besides IP addresses, localhost and all
	// below .localhost: over a loopback connection, requests for other hosts get a
	// 421, because the owner of any name can point it to 127.0.0.1. Name what a
	// reverse proxy on the same machine forwards. A name with a scheme, such as
	// https://app.example.org, is the origin of pages that may send requests and read
	// the answers, besides those of the server. Nil means none.
	Hosts []string
	// Logger receives requests at debug level and internal errors. Nil is silent.
	Logger *slog.Logger
}

// NewHandler returns the REST interface of an instance, and without
// [HandlerOptions].Authorize also the sign-in page, at /.enablers/sign-in. It must be at the
// root of its host. Streams of events last as long as their clients stay connected: the read and write timeouts
// of a server do not end them. The error is about opts.
func NewHandler(n *node.Node, opts *HandlerOptions) (http.Handler, error) {
	api, err := Prepare(n, opts)
	if err != nil {
		return nil, err
	}
	handler := httpapi.NewHandler(api.Routes(), api.Options())
	if api.door != nil {
		handler = api.door.Handler(handler, nil)
	}
	return handler, nil
}

// API has the parts of the REST interface of an instance, which package page serves with the pages.
type API struct {
	node    *node.Node
	options HandlerOptions // with Authorize
	door    *access.Door   // nil if HandlerOptions.Authorize decides
}

// Prepare returns the parts of the REST interface of an instance, for package page. The error is about opts.
func Prepare(n *node.Node, opts *HandlerOptions) (*API, error) {
	r := &API{node: n}
	if opts != nil {
		r.options = *opts
	}
	if r.options.Logger == nil {
		r.options.Logger = slog.New(slog.DiscardHandler)
	}
	if r.options.Authorize == nil {
		door, err := r.options.open(n.Settings().Head.Role)
		if err != nil {
			return nil, err
		}
		r.door = door
		r.options.Authorize = door.Authorize
	}
	return r, nil
}

// open returns the door that the token and the certificates open. Each lets a caller do
// everything.
func (o *HandlerOptions) open(role desired.Role) (*access.Door, error) {
	config := access.Config{
		Name: "multilink-" + string(role), Certificates: o.Certificates, CertificateRole: httpapi.Admin,
		Hosts: o.Hosts, Logger: o.Logger,
	}
	token := strings.TrimSpace(o.Token) // a header cannot show what is around it
	switch {
	case token != "":
		if err := access.CheckToken("rest: HandlerOptions.Token", token, o.Logger); err != nil {
			return nil, err
		}
		config.Tokens = []*access.TokenFile{access.NewToken(access.Identity{Name: "token", Role: httpapi.Admin}, token)}
	case !o.Certificates:
		return nil, errors.New("rest: HandlerOptions.Token: is required where Certificates is false and Authorize is nil")
	}
	return access.New(config)
}

// Door returns the door of the interface; nil if [HandlerOptions].Authorize decides.
func (r *API) Door() *access.Door { return r.door }

// Options returns the options of a handler of the routes.
func (r *API) Options() *httpapi.Options {
	return &httpapi.Options{
		Classify: classify, WriteError: WriteError, Hosts: r.options.Hosts, Authorize: r.options.Authorize, Logger: r.options.Logger,
	}
}

// Routes returns the routes of the interface.
func (r *API) Routes() []httpapi.Route {
	mine := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: f, Origins: httpapi.OwnPagesAndLinks}
	}
	// Operations that show or take keys, admit a client, or end a network for good.
	secret := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		route := mine(pattern, f)
		route.Role = httpapi.Admin
		return route
	}
	hidden := mine("GET /tunnel/client", r.listClients)
	hidden.Undocumented = true
	scrape := mine("GET /metrics", metrics(r.node))
	if r.options.OpenMetrics {
		scrape.Role = httpapi.Public
		scrape.Origins = httpapi.AnyReads
	}
	return []httpapi.Route{
		mine("POST /interfaces/add", r.addInterface),
		mine("GET /interfaces", r.listInterfaces),
		mine("PUT /interfaces", r.orderInterfaces),
		mine("GET /interfaces/{name}", r.getInterface),
		mine("PATCH /interfaces/{name}", r.changeInterface),
		mine("DELETE /interfaces/{name}", r.deleteInterface),

		secret("POST /tunnel/client/add", r.addClient),
		mine("GET /tunnel/client/{$}", r.listClients),
		hidden,
		secret("PUT /tunnel/client/enable", r.enableClient(true)),
		mine("PUT /tunnel/client/disable", r.enableClient(false)),
		secret("DELETE /tunnel/client/delete", r.deleteClient),
		secret("POST /tunnel/client/links", r.provisionAgain),

		secret("POST /tunnel/attach", r.attach),
		mine("GET /tunnel/attach", r.getAttachment),
		secret("DELETE /tunnel/attach", r.detach),

		mine("GET /bond", r.getBond),
		mine("PUT /bond", r.setBond(false)),
		mine("PATCH /bond", r.setBond(true)),
		mine("POST /bond/switch", r.switchTo),
		mine("GET /classes", r.getClasses),
		mine("PUT /classes", r.setClasses),

		mine("GET /status", r.status),
		mine("GET /events", r.events),
		scrape,

		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("Multi-link", "/docs/", "../openapi.json"), Role: httpapi.Public, Undocumented: true},
	}
}

// read decodes the body of a request.
func read(r *http.Request, form any) error {
	data, err := httpapi.ReadBody(r, "", MaxBody)
	if err != nil {
		return err
	}
	return desired.Decode(data, form, false)
}

// ready answers whether the node does what is configured, and can store changes.
func (r *API) ready(w http.ResponseWriter, req *http.Request) error {
	return httpapi.Ready(func() error {
		if err := r.node.Health(); err != nil {
			return err
		}
		return r.node.Writable(req.Context())
	})(w, req)
}
