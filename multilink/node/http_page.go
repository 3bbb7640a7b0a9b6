package node

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

//go:embed page
var pageFiles embed.FS

// section is the name of the pages in the header.
const section = "Links"

// HandlerOptions tunes [Node.Page]. The zero value is ready for use.
type HandlerOptions struct {
	// Authorize and Hosts take the places of those of [Config]. Nil means these, and with
	// [Config].Token the token, which browsers can show only on the sign-in page that
	// [Node.Handler] has.
	Authorize func(r *http.Request, role string) error
	Hosts     []string
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

// Page returns the pages of the instance for people: its links, the clients or the server,
// what happened, and plots; adding, ordering, disabling and removing links, the policy, and
// admitting clients or attaching to a server. All addresses in them are relative, so that
// the handler may be mounted anywhere with [http.StripPrefix]. The REST interface is below
// api/. opts may be nil.
func (n *Node) Page(opts *HandlerOptions) http.Handler {
	if opts == nil {
		opts = &HandlerOptions{}
	}
	r := *n.rest
	if opts.Authorize != nil {
		r.authorize, r.door = opts.Authorize, nil
	}
	if opts.Hosts != nil {
		r.hosts = opts.Hosts
	}
	pages := newPages(&r, opts.Instances)
	pages.url = opts.URL
	mux := http.NewServeMux()
	mux.Handle("/api/", httpapi.StripPrefix("/api", r.serve(r.table(), writeError)))
	mux.Handle("/", r.serve(pages.routes(), pages.writeError))
	return mux
}

// shellOf returns the frame of an instance that is served alone, with its own door.
func shellOf(d *access.Door) *shell.Shell {
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
	rest      *rest
	node      *Node
	part      *shell.Part
	instances []Instance
	url       string // for other instances; empty means the host of a request
}

func newPages(r *rest, instances []Instance) *pages {
	own, err := fs.Sub(pageFiles, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return &pages{rest: r, node: r.node, instances: instances, part: shell.NewPart(shell.PartConfig{
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
		{Pattern: "GET /new", Func: p.newLink, Role: httpapi.Operator},
		{Pattern: "POST /new", Func: p.addLink},
		{Pattern: "GET /links/{name}", Func: p.editLink, Role: httpapi.Operator},
		{Pattern: "POST /links/{name}", Func: p.changeLink},
		{Pattern: "POST /links/{name}/disable", Func: p.disableLink(true)},
		{Pattern: "POST /links/{name}/enable", Func: p.disableLink(false)},
		{Pattern: "POST /links/{name}/delete", Func: p.deleteLink},
		{Pattern: "POST /links/{name}/up", Func: p.moveLink(-1)},
		{Pattern: "POST /links/{name}/down", Func: p.moveLink(1)},
		{Pattern: "GET /policy", Func: p.policy, Role: httpapi.Operator},
		{Pattern: "POST /policy", Func: p.setPolicy},
		{Pattern: "POST /switch", Func: p.switchTo},
		{Pattern: "GET /clients/new", Func: p.newClient, Role: httpapi.Admin},
		{Pattern: "POST /clients/new", Func: p.addClient, Role: httpapi.Admin},
		{Pattern: "POST /clients/{name}/disable", Func: p.enableClient(false)},
		{Pattern: "POST /clients/{name}/enable", Func: p.enableClient(true), Role: httpapi.Admin},
		{Pattern: "POST /clients/{name}/delete", Func: p.deleteClient, Role: httpapi.Admin},
		{Pattern: "GET /attach", Func: p.newAttachment, Role: httpapi.Admin},
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
	if r.Header.Get("Sec-Fetch-Mode") != "" && r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") || e.Status < http.StatusBadRequest {
		writeError(w, r, e)
		return
	}
	view := struct {
		shell.Frame
		Text string
	}{p.part.Frame(r, http.StatusText(e.Status)), sentence(e.Text())}
	if err := p.part.Show(w, r, e.Status, "fault.html", &view); err != nil {
		writeError(w, r, e)
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

// clientsPerPage is how many clients a page has.
const clientsPerPage = 100

// clientRow is a client in the list of a server.
type clientRow struct {
	Name      string     `json:"name"`
	Addresses string     `json:"addresses"`
	Enabled   bool       `json:"enabled"`
	Connected bool       `json:"connected"`
	Active    string     `json:"active"` // the link that carries its frames
	Handshake *time.Time `json:"handshake"`
	Failovers uint64     `json:"failovers"`
	Refused   uint64     `json:"refused"`  // frames
	Conflict  string     `json:"conflict"` // another instance uses one of the keys
}

// summary is what the first page shows, and what its script polls.
type summary struct {
	Role    Role   `json:"role"`
	Fault   string `json:"fault"`   // of the instance, or a conflict of keys
	Carrier string `json:"carrier"` // names of the links that carry frames
	// Connected counts the clients with a usable link, or the server.
	Connected int    `json:"connected"`
	Failovers uint64 `json:"failovers"`
	Addresses string `json:"addresses"`
	// Attached says which server a client is attached to.
	Attached  string       `json:"attached"`
	CanDetach bool         `json:"canDetach"`
	Unpaired  []string     `json:"unpaired"`
	Links     []linkRecord `json:"links"`
	Clients   []clientRow  `json:"clients"`
	Events    []*episode   `json:"events"`
	Bond      bondForm     `json:"-"`
	Known     int          `json:"known"` // clients of the server, whether they match or not
	Total     int          `json:"total"` // clients that match
	After     string       `json:"-"`
	Next      string       `json:"-"` // the last client of this page, if there are more
	Query     string       `json:"-"`
}

// summaryOf returns what the query of a request selects.
func (p *pages) summaryOf(r *http.Request) (summary, statusRecord) {
	status := records{p.node}.statusRecord()
	q := r.URL.Query()
	s := summary{Role: status.Role, Fault: status.Fault, Links: status.Links, Bond: status.Bond,
		Query: strings.TrimSpace(q.Get("q")), After: q.Get("after"), Clients: []clientRow{}, Unpaired: []string{}}
	var addresses, carriers []string
	for _, a := range status.Addresses {
		addresses = append(addresses, a.String())
	}
	for _, link := range status.Links {
		if link.Active {
			carriers = append(carriers, link.Name)
		}
	}
	s.Addresses, s.Carrier = strings.Join(addresses, ", "), strings.Join(carriers, ", ")
	for link, why := range status.Unpaired {
		s.Unpaired = append(s.Unpaired, link+": "+why)
	}
	slices.Sort(s.Unpaired)
	peers := status.Clients
	if a := status.Attachment; a != nil {
		peers = []peerRecord{*a.Peer}
		s.CanDetach = true
		s.Attached = "Attached to " + a.Server + " as " + a.Name + ": not connected"
		if a.Peer.Connected {
			s.Attached = "Attached to " + a.Server + " as " + a.Name + ": connected by " + orNo(a.Peer.ActiveLink)
		}
	}
	for _, peer := range peers {
		s.Failovers += peer.Counters.Failovers
		if s.Fault == "" && peer.Conflict != "" {
			s.Fault = peer.Name + ": " + peer.Conflict
		}
		if peer.Connected {
			s.Connected++
		}
	}
	s.Known = len(status.Clients)
	s.addClients(status.Clients)
	events, _, _, _ := p.node.hub.read(1, ringSize)
	s.Events = episodesOf(events, p.node.hub.id)
	return s, status
}

// addClients adds the page of clients that the query selects.
func (s *summary) addClients(clients []peerRecord) {
	for _, c := range clients {
		if !strings.Contains(strings.ToLower(c.Name), strings.ToLower(s.Query)) {
			continue
		}
		s.Total++
		switch {
		case s.After != "" && c.Name <= s.After:
		case len(s.Clients) < clientsPerPage:
			var addresses []string
			for _, a := range c.Addresses {
				addresses = append(addresses, a.String())
			}
			s.Clients = append(s.Clients, clientRow{Name: c.Name, Addresses: strings.Join(addresses, ", "), Enabled: c.Enabled,
				Connected: c.Connected, Active: c.ActiveLink, Handshake: c.LastHandshake, Failovers: c.Counters.Failovers,
				Refused: c.Counters.Refused, Conflict: c.Conflict})
		case s.Next == "":
			s.Next = s.Clients[clientsPerPage-1].Name
		}
	}
}

func (p *pages) home(w http.ResponseWriter, r *http.Request) error {
	s, status := p.summaryOf(r)
	view := struct {
		shell.Frame
		summary
		Status    statusRecord
		Instances []Instance
		Here      string
	}{p.part.Frame(r, "Multi-link "+string(status.Role)), s, status, p.instances, string(status.Role)}
	return p.part.Show(w, r, http.StatusOK, "instance.html", &view)
}

// state answers with what changes on the first page, for its script.
func (p *pages) state(w http.ResponseWriter, r *http.Request) error {
	s, _ := p.summaryOf(r)
	return writeJSON(w, http.StatusOK, s)
}

func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, http.StatusOK, p.node.history.Query("link/", r.URL.Query().Get("range")))
}
