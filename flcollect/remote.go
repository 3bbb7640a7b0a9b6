package flcollect

import (
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/fleet"
	"github.com/iotenablers/enablers/flcollect/report"
)

// remote is a job that another server conducts, as that server shows it. Live, its text
// and sent belong to the lock of the registry.
type remote struct {
	id, session, token string
	address            string        // of the server, empty if it has none
	gone               chan struct{} // closed when that server does not conduct the job any more
	live               fleet.Live
	text               string // of live
	sent               int    // clients that were relayed since live was shown

	reading sync.Mutex
	// What follows belongs to it.
	read    time.Time // when the stored job was last read
	stopped bool      // whether the run was interrupted then
	last    bool      // whether it was read after that server had the job no more
}

// interrupted reports whether the run was interrupted. It asks for the stored job once in a
// pause, for all clients, and once more when that server does not conduct it any more.
func (m *remote) interrupted(pause time.Duration, stored func() (record, error)) bool {
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

// setRemote sets the jobs of other servers.
func (r *registry) setRemote(entries []fleet.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, next := false, map[string]*remote{}
	for _, e := range entries {
		other := r.remote[e.ID]
		if other == nil || other.session != e.Session || other.token != e.Token {
			other = &remote{id: e.ID, session: e.Session, token: e.Token, address: e.Address, gone: make(chan struct{})}
			changed = true
		}
		if text := string(e.Live); text != other.text {
			other.live, other.text, other.sent = e.Shown(), text, 0
			changed = true
		}
		next[e.ID] = other
	}
	for id, other := range r.remote {
		if next[id] != other {
			close(other.gone)
			changed = true
		}
	}
	r.remote = next
	if changed {
		r.announceLocked()
	}
}

// shown returns what another server shows of a run.
func (r *registry) shown(id, token string) (fleet.Live, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	other := r.remote[id]
	if other == nil || other.token != token {
		return fleet.Live{}, false
	}
	return other.live, true
}

// offer returns how many clients must be connected for a job, and whether it takes any.
func (r *registry) offer(j *job) (least int, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return j.least, j.open
}

// openRemoteLocked returns the job of an id if another server takes clients for it, and
// otherwise nil.
func (r *registry) openRemoteLocked(id string) *remote {
	if other := r.remote[id]; other != nil && other.live.Open {
		return other
	}
	return nil
}

func (r *registry) chooseRemoteLocked(id, label string) *remote {
	if id != "" {
		return r.openRemoteLocked(id)
	}
	if other := r.openRemoteLocked(label); other != nil {
		return other
	}
	var best *remote
	for _, other := range r.remote {
		if other.live.Open && (best == nil || other.rankLocked().before(best.rankLocked())) {
			best = other
		}
	}
	return best
}

func (m *remote) rankLocked() rank {
	return rank{lacks: m.live.Least - m.live.Clients - m.sent, created: m.live.Created, id: m.id}
}

// beforeLocked reports whether a client should join this job rather than one of this
// server.
func (m *remote) beforeLocked(j *job) bool { return m.rankLocked().before(j.rankLocked()) }
