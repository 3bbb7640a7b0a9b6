package reputation

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/keep"
)

// Table holds the reputations of the clients of a job. It is safe for concurrent use.
type Table struct {
	mu      sync.Mutex
	clients map[string]report.Reputation
	slot    int          // of the stored reputations that count
	dirty   bool         // whether the clients have changed since they were stored
	unknown keep.Members // of the document that counts
}

// NewTable returns a table without clients.
func NewTable() *Table { return &Table{clients: map[string]report.Reputation{}} }

// AnySuspended reports whether a client is suspended in a round.
func (t *Table) AnySuspended(round int) bool { return len(t.Suspended(round, 1)) > 0 }

// Reputation returns the reputation of a client, and whether it has one.
func (t *Table) Reputation(client string) (report.Reputation, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.clients[client]
	return r, ok
}

// Judge applies the rule to a round and returns how many clients it suspends. Of the
// parts of a client that had several sessions the worst counts.
func (t *Table) Judge(round int, parts []Part) (suspended int) {
	typical := typicalNorm(parts)
	worst := map[string]int{}
	for i, p := range parts {
		if other, ok := worst[p.Client]; !ok || p.cost(typical) > parts[other].cost(typical) {
			worst[p.Client] = i
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for client, i := range worst {
		before := t.clients[client]
		cost := parts[i].cost(typical)
		if cost == 0 && before == (report.Reputation{}) {
			continue
		}
		after := after(before, round, cost, parts[i])
		if after.Until > before.Until {
			suspended++
		}
		t.clients[client], t.dirty = after, true
		if after.Score < forgotten && after.Level == 0 && !after.Suspended(round+1) {
			delete(t.clients, client)
		}
	}
	t.trimLocked()
	return suspended
}

// trimLocked forgets the clients with the best reputations where there are too many.
func (t *Table) trimLocked() {
	if len(t.clients) <= maxClients {
		return
	}
	names := make([]string, 0, len(t.clients))
	for client := range t.clients {
		names = append(names, client)
	}
	slices.SortFunc(names, func(a, b string) int { return Compare(t.clients[a], t.clients[b], a, b) })
	for _, client := range names[maxClients:] {
		delete(t.clients, client)
	}
}

// Suspended returns up to limit clients that are suspended in a round, those with the
// longest suspension first; nil if there are none.
func (t *Table) Suspended(round, limit int) []report.Suspension {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []report.Suspension
	for client, r := range t.clients {
		if r.Suspended(round) {
			list = append(list, report.Suspension{Client: client, Until: r.Until, Reason: r.Reason})
		}
	}
	slices.SortFunc(list, func(a, b report.Suspension) int {
		return cmp.Or(cmp.Compare(b.Until, a.Until), strings.Compare(a.Client, b.Client))
	})
	return list[:min(len(list), limit)]
}
