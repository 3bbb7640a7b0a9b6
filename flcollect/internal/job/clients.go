package job

import (
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
)

// clients are the clients of a job. They are safe for concurrent use.
type clients struct {
	phases  *phases
	pool    *round.Pool
	changed func() // called when clients have come or gone
	id      string
	created time.Time

	mu    sync.Mutex
	least int            // how many must be connected
	need  int            // how many of them a round needs, 0 while that is not known
	nodes *supernode.Run // that SuperNodes join, nil if the job accepts none
}

// Accepts reports whether the job accepts clients.
func (c *clients) Accepts() bool { return c.phases.before(phaseSaving, func() {}) }

// AcceptsNodes reports whether the job accepts SuperNodes.
func (c *clients) AcceptsNodes() bool { return c.Accepts() && c.run() != nil }

// run returns the run that SuperNodes join; nil if the job accepts none.
func (c *clients) run() *supernode.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes
}

// Add adds a client, unless the job accepts no more.
func (c *clients) Add(client *round.Client) bool {
	added := c.phases.before(phaseSaving, func() { c.pool.Add(client) })
	if added {
		c.changed()
	}
	return added
}

// AddNode adds a SuperNode, and returns it as a client; nil if the job accepts no more.
func (c *clients) AddNode(node *supernode.Node, identity string) (client *round.Client, err error) {
	c.phases.before(phaseSaving, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.nodes == nil {
			return
		}
		var member *supernode.Member
		if member, err = c.nodes.Join(node); err == nil {
			client = round.NewMember(masker{member}, node.String(), node.Peer(), identity)
			c.pool.Add(client)
		}
	})
	if client != nil {
		c.changed()
	}
	return client, err
}

// Remove removes a client.
func (c *clients) Remove(client *round.Client) {
	c.pool.Remove(client)
	c.changed()
}

// Clients returns the clients.
func (c *clients) Clients() []*round.Client { return c.pool.All() }

// Rank is the precedence of the job among those that a client may join.
func (c *clients) Rank() Rank {
	least, _ := c.demand()
	return Rank{Lacks: least - c.pool.Len(), Created: c.created, ID: c.id}
}

// demand returns how many clients must be connected before any is drawn, and before a round
// can begin; that is 0 while it is not known.
func (c *clients) demand() (least, need int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.least, c.need
}

// setPolicy sets how many clients the job needs.
func (c *clients) setPolicy(p strategy.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.least, c.need = p.MinAvailable, minimum(p)
}

// minimum returns how many clients must be connected before a round can begin.
func minimum(p strategy.Policy) int { return max(p.MinAvailable, p.Fit.MinClients) }

// setNodes has the job accept SuperNodes into a run, or no more if it is nil.
func (c *clients) setNodes(run *supernode.Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = run
}

// Rank decides which job a client joins.
type Rank struct {
	Lacks   int // clients
	Created time.Time
	ID      string
}

// Before reports whether a client joins this job rather than the other one.
func (r Rank) Before(other Rank) bool {
	if r.Lacks != other.Lacks {
		return r.Lacks > other.Lacks
	}
	if order := r.Created.Compare(other.Created); order != 0 {
		return order < 0
	}
	return r.ID < other.ID
}
