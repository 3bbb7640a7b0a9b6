package flcollect

import (
	"cmp"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Client is a Flower client that is connected for a job.
type Client struct {
	// Identity is the name under which its reputation is kept, as in a [ClientReport].
	Identity string
	// Name is the name that the client gives itself, which proves nothing; empty if it
	// gives none.
	Name string
	// Session is the name of its session, which begins with that of its token or is that of
	// its certificate, if it has one.
	Session string
}

// String returns the name of the client, or its address where it has none.
func (c Client) String() string { return cmp.Or(audit.Label(c.Name, c.Session), c.Session) }

// Clients returns the clients that are connected for a job, in the order of their names.
func (s *Server) Clients(id string) []Client {
	j := s.jobs.get(id)
	if j == nil {
		return nil
	}
	var clients []Client
	for _, c := range j.pool.All() {
		clients = append(clients, Client{Identity: c.Identity, Name: c.Peer.Label(), Session: c.Name()})
	}
	slices.SortFunc(clients, func(a, b Client) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Session, b.Session))
	})
	return clients
}

// Strategies describes the strategies that jobs can select without a repository: the
// built-in ones, and then those of the program, whose parameters are not known.
func (s *Server) Strategies() []strategy.Description {
	var all []strategy.Description
	for _, name := range strategy.Names() {
		if d, ok := strategy.Describe(name); ok {
			all = append(all, d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.strategies.registered)) {
		all = append(all, strategy.Description{Name: name, Meaning: "A strategy of this program."})
	}
	return all
}
