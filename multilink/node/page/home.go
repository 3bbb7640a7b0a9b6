package page

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/events"
	"github.com/iotenablers/enablers/multilink/node/internal/view"
	"github.com/iotenablers/enablers/multilink/node/rest"
)

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
	Role    desired.Role `json:"role"`
	Fault   string       `json:"fault"`   // of the instance, or a conflict of keys
	Carrier string       `json:"carrier"` // names of the links that carry frames
	// Connected counts the clients with a usable link, or the server.
	Connected int    `json:"connected"`
	Failovers uint64 `json:"failovers"`
	Addresses string `json:"addresses"`
	// Attached says which server a client is attached to.
	Attached  string       `json:"attached"`
	CanDetach bool         `json:"canDetach"`
	Unpaired  []string     `json:"unpaired"`
	Links     []view.Link  `json:"links"`
	Clients   []clientRow  `json:"clients"`
	Events    []*episode   `json:"events"`
	Bond      desired.Bond `json:"-"`
	Known     int          `json:"known"` // clients of the server, whether they match or not
	Total     int          `json:"total"` // clients that match
	After     string       `json:"-"`
	Next      string       `json:"-"` // the last client of this page, if there are more
	Query     string       `json:"-"`
}

// summarize returns what the query of a request selects.
func (p *pages) summarize(r *http.Request) (summary, view.Status) {
	status := p.node.View(p.node.Settings()).Status()
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
		peers = []view.Peer{*a.Peer}
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
	hub := p.node.Events()
	latest, _, _, _ := hub.Read(1, events.Kept)
	s.Events = newEpisodes(latest, hub.ID)
	return s, status
}

// addClients adds the page of clients that the query selects.
func (s *summary) addClients(clients []view.Peer) {
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
	s, status := p.summarize(r)
	view := struct {
		shell.Frame
		summary
		Status    view.Status
		Instances []Instance
		Here      string
	}{p.part.Frame(r, "Multi-link "+string(status.Role)), s, status, p.instances, string(status.Role)}
	return p.part.Show(w, r, http.StatusOK, "instance.html", &view)
}

// state answers with what changes on the first page, for its script.
func (p *pages) state(w http.ResponseWriter, r *http.Request) error {
	s, _ := p.summarize(r)
	return rest.WriteJSON(w, http.StatusOK, s)
}

func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	return rest.WriteJSON(w, http.StatusOK, p.node.History().Query("link/", r.URL.Query().Get("range")))
}
