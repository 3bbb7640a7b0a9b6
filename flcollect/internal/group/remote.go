package group

import (
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Remote is a job that another server conducts, as that server shows it.
type Remote struct {
	id, session, token string
	address            string        // of the server, empty if it has none
	gone               chan struct{} // closed when that server does not conduct the job any more

	// What follows belongs to the lock of the remotes.
	live fleet.Live
	text string // of live
	sent int    // clients that were relayed since live was shown

	reading sync.Mutex
	// What follows belongs to it.
	read    time.Time // when the stored job was last read
	stopped bool      // whether the run was interrupted then
	last    bool      // whether it was read after that server had the job no more
}

// ID returns the id of the job.
func (m *Remote) ID() string { return m.id }

// interrupted reports whether the run was interrupted. It asks for the stored job once in a
// pause, for all clients, and once more when that server does not conduct it any more.
func (m *Remote) interrupted(pause time.Duration, stored func() (job.Record, error)) bool {
	left := false
	select {
	case <-m.gone:
		left = true
	default:
	}
	m.reading.Lock()
	defer m.reading.Unlock()
	if m.stopped || m.last || !left && time.Since(m.read) < pause {
		return m.stopped
	}
	r, err := stored() // the next try may tell
	m.read = time.Now()
	m.stopped = err == nil && r.Token == m.token && r.State == report.Interrupted
	m.last = left && err == nil
	return m.stopped
}

// remotes are the jobs of other servers.
type remotes struct {
	mu   sync.Mutex
	jobs map[string]*Remote
}

// set sets the jobs of other servers, and reports whether something has changed.
func (r *remotes) set(entries []fleet.Entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, next := false, map[string]*Remote{}
	for _, e := range entries {
		other := r.jobs[e.ID]
		if other == nil || other.session != e.Session || other.token != e.Token {
			other = &Remote{id: e.ID, session: e.Session, token: e.Token, address: e.Address, gone: make(chan struct{})}
			changed = true
		}
		if text := string(e.Live); text != other.text {
			other.live, other.text, other.sent = e.Shown(), text, 0
			changed = true
		}
		next[e.ID] = other
	}
	for id, other := range r.jobs {
		if next[id] != other {
			close(other.gone)
			changed = true
		}
	}
	r.jobs = next
	return changed
}

// Forget removes a job that this server conducts from now on.
func (g *Group) Forget(id string) {
	r := &g.remotes
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.jobs[id]; other != nil {
		close(other.gone)
		delete(r.jobs, id)
	}
}

// Shown returns what another server shows of a run.
func (g *Group) Shown(id, token string) (fleet.Live, bool) {
	r := &g.remotes
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.jobs[id]
	if other == nil || other.token != token {
		return fleet.Live{}, false
	}
	return other.live, true
}

// Open returns the ids of the jobs of other servers that take clients.
func (g *Group) Open() []string {
	r := &g.remotes
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for id, other := range r.jobs {
		if other.live.Open {
			ids = append(ids, id)
		}
	}
	return ids
}

// Choose returns the job of another server that a client may join, and its rank: the one of
// an id, or without an id the one whose id is the label, or else the one that precedes the others.
// It is nil if none exists.
func (g *Group) Choose(id, label string) (*Remote, job.Rank) {
	r := &g.remotes
	r.mu.Lock()
	defer r.mu.Unlock()
	best := r.openLocked(id)
	if id == "" {
		best = r.chooseLocked(label)
	}
	if best == nil {
		return nil, job.Rank{}
	}
	return best, best.rankLocked()
}

func (r *remotes) chooseLocked(label string) *Remote {
	if other := r.openLocked(label); other != nil {
		return other
	}
	var best *Remote
	for _, other := range r.jobs {
		if other.live.Open && (best == nil || other.rankLocked().Before(best.rankLocked())) {
			best = other
		}
	}
	return best
}

// openLocked returns the job of an id if another server accepts clients for it, and
// otherwise nil.
func (r *remotes) openLocked(id string) *Remote {
	if other := r.jobs[id]; other != nil && other.live.Open {
		return other
	}
	return nil
}

func (m *Remote) rankLocked() job.Rank {
	return job.Rank{Lacks: m.live.Least - m.live.Clients - m.sent, Created: m.live.Created, ID: m.id}
}

// Sent counts a client that is relayed for the job.
func (g *Group) Sent(other *Remote) {
	g.remotes.mu.Lock()
	defer g.remotes.mu.Unlock()
	other.sent++
}
