package node

import (
	_ "embed"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

//go:embed openapi.json
var openapi []byte

// maxBody bounds the body of a request, in bytes.
const maxBody = 256 << 10

// rest is the REST interface of a Node.
type rest struct {
	node      *Node
	authorize func(r *http.Request, role string) error
	hosts     []string
	door      *access.Door // nil if Config.Authorize decides
	streams   *httpapi.Slots
	routes    []httpapi.Route // of the interface and of the pages
}

// maxStreams is how many streams of events there are at most.
const maxStreams = 64

func newREST(n *Node) (*rest, error) {
	r := &rest{
		node:      n,
		authorize: n.config.Authorize,
		hosts:     n.config.Hosts,
		streams:   httpapi.NewSlots(maxStreams, fmt.Sprintf("there are %d streams of events already; please try again", maxStreams)),
	}
	if r.authorize == nil {
		door, err := n.config.door()
		if err != nil {
			return nil, err
		}
		r.door, r.authorize = door, door.Authorize
	}
	r.routes = append(r.table(), newPages(r, nil).routes()...)
	return r, nil
}

// door returns the door that the token and the certificates open. Each lets a caller do
// everything.
func (c *Config) door() (*access.Door, error) {
	config := access.Config{
		Name: "multilink-" + string(c.Role), Certificates: c.Certificates, CertificateRole: httpapi.Admin,
		Hosts: c.Hosts, Logger: c.Logger,
	}
	if c.Token != "" {
		config.Tokens = []*access.TokenFile{access.NewToken(access.Identity{Name: "token", Role: httpapi.Admin}, c.Token)}
	}
	return access.New(config)
}

// Handler serves the REST interface and the pages, and without [Config].Authorize also the
// sign-in page, at /.enablers/sign-in. It has to be at the root of its host. Streams of
// events are as long as their clients like: a server's timeouts of reading and writing do
// not end them.
func (n *Node) Handler() http.Handler {
	r := n.rest
	pages := newPages(r, nil)
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", r.serve(r.table(), writeError)))
	mux.Handle("/", r.serve(r.routes, pages.writeError))
	if r.door == nil {
		return mux
	}
	return r.door.Handler(shellOf(r.door).With(mux), nil)
}

// serve returns the handler of routes.
func (r *rest) serve(routes []httpapi.Route, writeError func(http.ResponseWriter, *http.Request, *httpapi.Error)) http.Handler {
	return httpapi.NewHandler(routes, &httpapi.Options{
		Classify: classify, WriteError: writeError, Hosts: r.hosts, Authorize: r.authorize, Logger: r.node.logger,
	})
}

// table lists the routes of the interface.
func (r *rest) table() []httpapi.Route {
	mine := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: f, Origins: httpapi.OwnPagesAndLinks}
	}
	// What shows or takes keys, lets a client in, or ends a network for good.
	secret := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		route := mine(pattern, f)
		route.Role = httpapi.Admin
		return route
	}
	hidden := mine("GET /tunnel/client", r.listClients)
	hidden.Undocumented = true
	metrics := mine("GET /metrics", metricsOf(r.node))
	if r.node.config.OpenMetrics {
		metrics.Role, metrics.Origins = httpapi.Public, httpapi.AnyReads
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
		metrics,

		{Pattern: "GET /healthz", Func: httpapi.Live, Role: httpapi.Public},
		{Pattern: "GET /readyz", Func: r.ready, Role: httpapi.Public},
		{Pattern: "GET /openapi.json", Func: httpapi.Document(openapi), Role: httpapi.Public},
		{Pattern: "GET /docs", Func: httpapi.RedirectTo("docs/"), Role: httpapi.Public, Undocumented: true},
		{Pattern: "GET /docs/", Func: httpapi.DocsUI("Multi-link", "/docs/", "../openapi.json"), Role: httpapi.Public, Undocumented: true},
	}
}

// read decodes the body of a request.
func read(r *http.Request, form any) error {
	data, err := httpapi.ReadBody(r, "", maxBody)
	if err != nil {
		return err
	}
	return decode(data, form, false)
}

// ready answers whether the node does what is configured, and can store changes.
func (r *rest) ready(w http.ResponseWriter, req *http.Request) error {
	return httpapi.Ready(func() error {
		if err := r.node.Health(); err != nil {
			return err
		}
		return storage.Space(req.Context(), r.node.config.Documents)
	})(w, req)
}
