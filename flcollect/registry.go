package flcollect

import (
	"maps"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// registry holds the jobs of a server that have something to do, and counts all jobs by
// their states. It is safe for concurrent use.
type registry struct {
	mu      sync.Mutex
	active  map[string]*job
	states  map[report.State]int
	endings map[report.State]int64 // of runs of jobs, at this server
	changed chan struct{}          // closed when a job is started
	ended   spentLedger            // of jobs that have nothing to do

	sharing bool               // with other servers; set before use
	remote  map[string]*remote // jobs of other servers
}

func newRegistry() *registry {
	return &registry{
		active: map[string]*job{}, states: map[report.State]int{}, endings: map[report.State]int64{},
		changed: make(chan struct{}), remote: map[string]*remote{},
	}
}

// reset sets the states of the stored jobs, and the privacy loss of those that have
// nothing to do.
func (r *registry) reset(states map[report.State]int, ended spentLedger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states, r.ended = states, ended
}

// get returns a job that has something to do, nil if there is none of that id.
func (r *registry) get(id string) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[id]
}

// all returns the jobs that have something to do.
func (r *registry) all() []*job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.active))
}

// launch runs jobs.
func (r *registry) launch(group *sync.WaitGroup, jobs ...*job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		r.launchLocked(group, j)
	}
}

func (r *registry) launchLocked(group *sync.WaitGroup, j *job) {
	r.active[j.id] = j
	r.ended.remove(j.id)
	group.Go(j.run)
	if other := r.remote[j.id]; other != nil {
		close(other.gone)
		delete(r.remote, j.id)
	}
	r.announceLocked()
}

// announceLocked says that there are other jobs, or that those of other servers have
// changed.
func (r *registry) announceLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// start runs a job that is new, or whose last run has left a state.
func (r *registry) start(group *sync.WaitGroup, j *job, last report.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.sharing {
		if last != "" {
			r.states[last]--
		}
		r.states[report.Waiting]++
	}
	r.launchLocked(group, j)
}

// finish removes a job that has nothing to do any more.
func (r *registry) finish(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, j.id)
	r.ended.add(j.record())
	if r.sharing {
		r.announceLocked() // another server may have the job
	}
}

// move counts a job in another state.
func (r *registry) move(from, to report.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to.Ended() {
		r.endings[to]++
	}
	if r.sharing {
		return
	}
	r.states[from]--
	r.states[to]++
}

// watch returns a channel that is closed when the status of a job may have changed.
func (r *registry) watch(id string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.active[id]; j != nil {
		return j.watch()
	}
	return r.changed // only a start can change it, or another server
}

// setPolicy sets how many clients a job needs.
func (r *registry) setPolicy(j *job, p strategy.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.least, j.need = clientsOf(p)
}

// clientsOf returns how many clients must be connected before any is drawn, and before a
// round can begin.
func clientsOf(p strategy.Policy) (least, need int) {
	return p.MinAvailable, max(p.MinAvailable, p.Fit.MinClients)
}

// needed returns how many clients a job needs to be connected for a round, 0 while that is
// not known.
func (r *registry) needed(j *job) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return j.need
}

// shut has a job take no more clients.
func (r *registry) shut(j *job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j.open = false
}

// ambiguous reports whether several jobs take clients, and none of them is the one whose
// id is the label.
func (r *registry) ambiguous(label string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.openLocked(label) != nil || r.openRemoteLocked(label) != nil {
		return false
	}
	open := 0
	for _, j := range r.active {
		if j.open {
			open++
		}
	}
	for _, other := range r.remote {
		if other.live.Open {
			open++
		}
	}
	return open > 1
}

// join adds a client to the pool of its job: the one of an id, or without an id the
// one whose id is the label, or else the one that lacks most clients. It returns the job of
// another server if the client is for that. Where there is none it returns a channel that
// is closed when another job is started.
func (r *registry) join(c *round.Client, id, label string) (*job, *remote, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	j, other := r.chooseLocked(id, label), r.chooseRemoteLocked(id, label)
	if c.Peer.Relay != nil {
		other = nil // it is relayed once at most
	}
	if j != nil && other != nil && (id != "" || j.id == label || !other.beforeLocked(j)) {
		other = nil
	}
	switch {
	case other != nil:
		other.sent++
		return nil, other, nil
	case j == nil:
		return nil, nil, r.changed
	}
	j.pool.Add(c)
	j.signal()
	return j, nil, nil
}

func (r *registry) chooseLocked(id, label string) *job {
	if id != "" {
		return r.openLocked(id)
	}
	if j := r.openLocked(label); j != nil {
		return j
	}
	var best *job
	for _, j := range r.active {
		if j.open && (best == nil || j.beforeLocked(best)) {
			best = j
		}
	}
	return best
}

// openLocked returns the job of an id if it takes clients, and otherwise nil.
func (r *registry) openLocked(id string) *job {
	if j := r.active[id]; j != nil && j.open {
		return j
	}
	return nil
}
