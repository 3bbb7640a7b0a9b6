package node

import (
	_ "embed"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

//go:embed openapi.json
var openapi []byte

// maxBody bounds the body of a request, in bytes.
const maxBody = 256 << 10

// rest is the REST interface of a Node.
type rest struct {
	node    *Node
	guard   *guard
	pages   *pages
	streams *httpapi.Slots
	routes  []httpapi.Route
}

// maxStreams is how many streams of events there are at most.
const maxStreams = 64

func newREST(n *Node) *rest {
	r := &rest{
		node:    n,
		guard:   newGuard(n.config.Role, n.config.Token, n.config.Certificates),
		streams: httpapi.NewSlots(maxStreams, fmt.Sprintf("there are %d streams of events already; please try again", maxStreams)),
	}
	r.pages = newPages(r)
	r.routes = append(r.table(), r.pages.routes()...)
	return r
}

// Handler serves the REST interface and the page. Streams of events are as long as
// their clients like: a server's timeouts of reading and writing do not end them.
func (n *Node) Handler() http.Handler {
	return httpapi.NewHandler(n.rest.routes, &httpapi.Options{
		Classify: classify, WriteError: writeError, Hosts: n.config.Hosts, Logger: n.logger,
	})
}

// table lists the routes of the interface.
func (r *rest) table() []httpapi.Route {
	mine := func(pattern string, f httpapi.HandlerFunc) httpapi.Route {
		return httpapi.Route{Pattern: pattern, Func: r.guard.protect(f), Origins: httpapi.OwnPagesAndLinks}
	}
	hidden := mine("GET /tunnel/client", r.listClients)
	hidden.Undocumented = true
	metrics := mine("GET /metrics", metricsOf(r.node))
	if r.node.config.OpenMetrics {
		metrics.Func, metrics.Origins = metricsOf(r.node), httpapi.AnyReads
	}
	return []httpapi.Route{
		mine("POST /interfaces/add", r.addInterface),
		mine("GET /interfaces", r.listInterfaces),
		mine("PUT /interfaces", r.orderInterfaces),
		mine("GET /interfaces/{name}", r.getInterface),
		mine("PATCH /interfaces/{name}", r.changeInterface),
		mine("DELETE /interfaces/{name}", r.deleteInterface),

		mine("POST /tunnel/client/add", r.addClient),
		mine("GET /tunnel/client/{$}", r.listClients),
		hidden,
		mine("PUT /tunnel/client/enable", r.enableClient(true)),
		mine("PUT /tunnel/client/disable", r.enableClient(false)),
		mine("DELETE /tunnel/client/delete", r.deleteClient),
		mine("POST /tunnel/client/links", r.provisionAgain),

		mine("POST /tunnel/attach", r.attach),
		mine("GET /tunnel/attach", r.getAttachment),
		mine("DELETE /tunnel/attach", r.detach),

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
