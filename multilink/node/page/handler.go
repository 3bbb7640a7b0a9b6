package page

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/rest"
)

//go:embed assets
var assets embed.FS

// section is the name of the pages in the header.
const section = "Links"

// HandlerOptions configures [NewHandler].
type HandlerOptions struct {
	// REST are the options of the REST interface, which also hold for the pages. One of its
	// Token, Certificates and Authorize is required.
	REST rest.HandlerOptions
	// Root says that the handler is at the root of its host. The REST interface is there, too,
	// and without REST.Authorize the sign-in page, at /.enablers/sign-in. Elsewhere, browsers
	// cannot show the token of REST.Token.
	Root bool
	// URL is the address of the instance for other instances, where that is not the listener
	// of the pages: new clients attach with it. Empty means the host of the request.
	URL string
	// Instances are those between which the pages lead, this one among them, such as the two
	// ends of a demonstration. Nil means this one alone.
	Instances []Instance
}

// Instance is an instance whose pages others lead to.
type Instance struct {
	// Name is what people read, Href the address of its first page.
	Name, Href string
}

// NewHandler returns the pages of an instance for people: its links, the clients or the server,
// what happened, and plots; adding, ordering, disabling and removing links, the policy, and
// admitting clients or attaching to a server. All addresses in them are relative, so that
// the handler may be mounted anywhere with [http.StripPrefix]. The REST interface is below
// api/. The error is about the options of [HandlerOptions].REST.
func NewHandler(n *node.Node, opts *HandlerOptions) (http.Handler, error) {
	if opts == nil {
		opts = &HandlerOptions{}
	}
	api, err := rest.Prepare(n, &opts.REST)
	if err != nil {
		return nil, err
	}
	p := newPages(n, opts)
	routes, options := p.routes(), api.Options()
	if opts.Root {
		routes = append(api.Routes(), routes...)
	}
	options.WriteError = p.writeError
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", httpapi.NewHandler(api.Routes(), api.Options())))
	mux.Handle("/", httpapi.NewHandler(routes, options))
	if door := api.Door(); door != nil && opts.Root {
		return door.Handler(newShell(door).With(mux), nil), nil
	}
	return mux, nil
}

// newShell returns the frame of an instance that is served alone, with its own door.
func newShell(d *access.Door) *shell.Shell {
	return &shell.Shell{
		Name: "Multi-link",
		Sections: func(*http.Request) []shell.Section {
			return []shell.Section{{Name: section, Href: "/"}}
		},
		Person: func(r *http.Request) shell.Person {
			caller := d.Caller(r)
			if caller.Name == "" {
				return shell.Person{Role: caller.Role, SignIn: access.Prefix + "sign-in"}
			}
			return shell.Person{Name: caller.Name, Role: caller.Role, SignOut: access.Prefix + "sign-out"}
		},
	}
}

// pages are the pages of an instance.
type pages struct {
	node      *node.Node
	part      *shell.Part
	instances []Instance
	url       string // for other instances; empty means the host of a request
}

func newPages(n *node.Node, opts *HandlerOptions) *pages {
	own, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return &pages{node: n, instances: opts.Instances, url: opts.URL, part: shell.NewPart(shell.PartConfig{
		Section: section, Files: own, Plots: true,
		Funcs: map[string]any{"escape": url.PathEscape, "bytes": bytesText, "milliseconds": millisecondsText, "percent": percentText,
			"pathMTU": pathMTUText, "state": stateText},
	})}
}

func (p *pages) routes() []httpapi.Route {
	routes := append(p.part.Routes(), []httpapi.Route{
		{Pattern: "GET /{$}", Func: p.home},
		{Pattern: "GET /state", Func: p.state},
		{Pattern: "GET /history", Func: p.history},
		{Pattern: "GET /new", Func: p.showLink, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.saveLink},
		{Pattern: "GET /links/{name}", Func: p.showLink, Role: httpapi.Operator},
		{Pattern: "POST /links/{name}", Func: p.saveLink},
		{Pattern: "POST /links/{name}/disable", Func: p.disableLink(true)},
		{Pattern: "POST /links/{name}/enable", Func: p.disableLink(false)},
		{Pattern: "POST /links/{name}/delete", Func: p.deleteLink},
		{Pattern: "POST /links/{name}/up", Func: p.moveLink(-1)},
		{Pattern: "POST /links/{name}/down", Func: p.moveLink(1)},
		{Pattern: "GET /policy", Func: p.policy, Role: httpapi.Operator},
		{Pattern: "POST /policy", Func: p.setPolicy},
		{Pattern: "POST /switch", Func: p.switchTo},
		{Pattern: "GET /clients/new", Func: p.showForm(desired.RoleServer, p.clientForm), Role: httpapi.Admin},
		{Pattern: "POST /clients/new", Func: p.addClient, Role: httpapi.Admin},
		{Pattern: "POST /clients/{name}/disable", Func: p.enableClient(false)},
		{Pattern: "POST /clients/{name}/enable", Func: p.enableClient(true), Role: httpapi.Admin},
		{Pattern: "POST /clients/{name}/delete", Func: p.deleteClient, Role: httpapi.Admin},
		{Pattern: "GET /attach", Func: p.showForm(desired.RoleClient, p.attachForm), Role: httpapi.Admin},
		{Pattern: "POST /attach", Func: p.attach, Role: httpapi.Admin},
		{Pattern: "POST /detach", Func: p.detach, Role: httpapi.Admin},
		// where the sign-in page was once
		{Pattern: "GET /sign-in", Func: httpapi.RedirectTo(access.Prefix + "sign-in"), Role: httpapi.Public},
	}...)
	for i := range routes {
		routes[i].Undocumented = true
		routes[i].Origins = httpapi.OwnPagesAndLinks
	}
	return routes
}

// writeError answers with a page that says what went wrong, and a program with a problem.
func (p *pages) writeError(w http.ResponseWriter, r *http.Request, e *httpapi.Error) {
	if !httpapi.WantsPage(r) || e.Status < http.StatusBadRequest {
		rest.WriteError(w, r, e)
		return
	}
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), sentence(e.Text())}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		rest.WriteError(w, r, e)
	}
}

// sentence begins a text of the REST interface with a capital, and ends it.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}
