package flcollect

import (
	"maps"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/report"
)

// registry holds the jobs of a server that have something to do, and counts all jobs by
// their states. It is safe for concurrent use.
type registry struct {
	mu      sync.Mutex
	active  map[string]*job.Job
	states  map[report.State]int
	endings map[report.State]int64 // of runs of jobs, at this server
	changed chan struct{}          // closed when a job is started, or those of other servers have changed
	ended   spentLedger            // of jobs that have nothing to do
	shared  bool                   // with other servers; set before use
}

func newRegistry() *registry {
	return &registry{
		active: map[string]*job.Job{}, states: map[report.State]int{}, endings: map[report.State]int64{},
		changed: make(chan struct{}),
	}
}

// reset sets the states of the stored jobs, and the privacy loss of those that have
// nothing to do.
func (r *registry) reset(states map[report.State]int, ended spentLedger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states, r.ended = states, ended
}

// get returns a job that has something to do, nil if none has that id.
func (r *registry) get(id string) *job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active[id]
}

// all returns the jobs that have something to do.
func (r *registry) all() []*job.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.active))
}

// first returns the job that precedes all others for which a condition holds; nil if it
// holds for none.
func (r *registry) first(condition func(*job.Job) bool) *job.Job {
	var best *job.Job
	for _, j := range r.all() {
		if condition(j) && (best == nil || j.Rank().Before(best.Rank())) {
			best = j
		}
	}
	return best
}

// add adds jobs that go on. No client sees some of them without the others: it would join the
// wrong one.
func (r *registry) add(jobs ...*job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		r.addLocked(j)
	}
	r.offerLocked()
}

func (r *registry) addLocked(j *job.Job) {
	r.active[j.ID()] = j
	r.ended.remove(j.ID())
}

// start adds a job that is new, or whose last run has left a state.
func (r *registry) start(j *job.Job, last report.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shared {
		if last != "" {
			r.states[last]--
		}
		r.states[report.Waiting]++
	}
	r.addLocked(j)
	r.offerLocked()
}

// finish removes a job that has nothing to do any more.
func (r *registry) finish(j *job.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, j.ID())
	r.ended.add(j.Record())
	if r.shared {
		r.offerLocked() // another server may have the job
	}
}

// Moved counts a job in another state.
func (r *registry) Moved(from, to report.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to.Ended() {
		r.endings[to]++
	}
	if r.shared {
		return
	}
	r.states[from]--
	r.states[to]++
}

// Offered says that there are other jobs, or that those of other servers have changed.
func (r *registry) Offered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offerLocked()
}

func (r *registry) offerLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// offers returns a channel that is closed when there may be another job for a client.
func (r *registry) offers() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// watch returns a channel that is closed when the status of a job may have changed.
func (r *registry) watch(id string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j := r.active[id]; j != nil {
		return j.Watch()
	}
	return r.changed // only a start can change it, or another server
}

// open returns the job of an id if it accepts clients, and otherwise nil.
func (r *registry) open(id string) *job.Job {
	if j := r.get(id); j != nil && j.Accepts() {
		return j
	}
	return nil
}

// choose returns the job that a client may join: the one of an id, or without an id the one
// whose id is the label, or else the one that lacks most clients; nil if none exists.
func (r *registry) choose(id, label string) *job.Job {
	if id != "" {
		return r.open(id)
	}
	if j := r.open(label); j != nil {
		return j
	}
	return r.first((*job.Job).Accepts)
}
