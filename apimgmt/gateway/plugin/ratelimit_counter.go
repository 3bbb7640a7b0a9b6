package plugin

import (
	"hash/maphash"
	"sync"
	"time"
)

// mostClients is the number of clients that one plugin keeps count of.
const mostClients = 100_000

// counter counts requests of clients in windows. Clients are known by two hashes
// with secret seeds, so that a long name takes no more memory than a short one, and
// no caller can choose one that counts as another's.
type counter struct {
	limits []limit
	seeds  [2]maphash.Seed
	parts  [32]counterPart
	most   int // clients of one part

	shared *Counts // nil if this gateway counts for itself
	plugin string  // its id, for shared counts
}

type counterPart struct {
	mu    sync.Mutex
	known map[[2]uint64]*tally

	urgent, dirty []*tally // whose counts are to be exchanged, at once or with the next regular exchange
}

// tally is the count of one client.
type tally struct {
	begins [len(periods)]int64
	counts [len(periods)]int64
	seen   int64 // when it called last, in seconds
	share  *share
}

// usage is what came of counting a request.
type usage struct {
	refused bool
	reset   int64               // seconds until it is worth trying again, if it was refused
	left    [len(periods)]int64 // by limit
}

func newCounter(limits []limit, most int) *counter {
	c := &counter{limits: limits, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	c.most = max(1, most/len(c.parts))
	for i := range c.parts {
		c.parts[i].known = map[[2]uint64]*tally{}
	}
	return c
}

// take counts a request if every limit allows it.
func (c *counter) take(client string, now time.Time) usage {
	of := [2]uint64{maphash.String(c.seeds[0], client), maphash.String(c.seeds[1], client)}
	part := &c.parts[of[0]%uint64(len(c.parts))]
	part.mu.Lock()
	defer part.mu.Unlock()
	t := part.known[of]
	if t == nil {
		if len(part.known) >= c.most {
			part.evict()
		}
		t = &tally{}
		if c.shared != nil {
			t.share = &share{key: countsKey(c.plugin, client)}
		}
		part.known[of] = t
	}
	t.seen = max(t.seen, now.Unix())
	var used usage
	for i, l := range c.limits {
		begin, end := l.window(now)
		// A request that has waited for the lock may be of the window before: it
		// counts in this one. A clock that was set back begins anew.
		if begin > t.begins[i] || end < t.begins[i] {
			t.begins[i], t.counts[i] = begin, 0
			if t.share != nil {
				t.share.unsent[i], t.share.left[i] = 0, 0
			}
		}
		if t.counts[i] >= l.most {
			used.refused, used.reset = true, max(used.reset, l.reset(now))
		}
	}
	for i, l := range c.limits {
		if !used.refused {
			t.counts[i]++
		}
		used.left[i] = max(0, l.most-t.counts[i])
	}
	if t.share != nil && !used.refused {
		c.note(part, t)
	}
	return used
}

// evict drops a client: of several taken at random, the one that has not called
// for longest.
func (p *counterPart) evict() {
	const sample = 8
	var oldest [2]uint64
	var seen int64
	n := 0
	for of, t := range p.known {
		if n == 0 || t.seen < seen {
			oldest, seen = of, t.seen
		}
		if n++; n == sample {
			break
		}
	}
	delete(p.known, oldest)
}
