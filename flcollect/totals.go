package flcollect

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/report"
)

// Totals are the numbers of a [Server] for its metrics. Counters begin at the start of
// the process.
type Totals struct {
	// Clients are connected; Lobby of them wait for a job.
	Clients, Lobby int
	// Jobs counts the jobs by their states. Of several servers on one store each counts
	// those that it has something to do for.
	Jobs map[report.State]int
	// Ended counts the runs of jobs that ended at this server, by the states in which
	// they ended.
	Ended map[report.State]int64
	// Undelivered is how many jobs have reports or results that the orchestrator or
	// the repository has not taken yet.
	Undelivered int
	// Rounds were finished, and took Seconds; Durations counts them by that.
	Rounds    int64
	Seconds   float64
	Durations Durations
	// Epsilons is the privacy loss of jobs with differential privacy, by their ids: of
	// the current run of every active job, and of the last run of those that have
	// ended, the last [MaxEpsilons] of them. Epsilon is the greatest.
	Epsilons map[string]float64
	Epsilon  float64
	// Results of clients were taken, Failures were not; Quarantined of them were
	// refused for their content, evaluations among them.
	Results, Failures, Quarantined int64
	// Clipped is how many updates were shortened, Refused how many were refused, Far how
	// many lay beyond the bound and were kept whole, and Converted how many had layers
	// of another type than the model, as the jobs' statuses count them. Suspensions is
	// how many times a client was suspended.
	Clipped, Refused, Far, Converted, Suspensions int64
	// Compressed is how many updates came compressed.
	Compressed int64
	// Sent and Received are bytes of parameters.
	Sent, Received int64
}

// Totals returns the numbers for metrics.
func (s *Server) Totals() Totals {
	t := s.counters.read()
	t.Clients, t.Lobby = s.lobby.count()
	s.jobs.total(&t)
	for _, epsilon := range t.Epsilons {
		t.Epsilon = max(t.Epsilon, epsilon)
	}
	return t
}

// counters counts the rounds and updates of all jobs. It is safe for concurrent use.
type counters struct {
	mu     sync.Mutex
	totals Totals
}

func (c *counters) read() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals
}

// addRound counts a finished round.
func (c *counters) addRound(round report.Round, seconds float64, quarantined int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.Rounds++
	c.totals.Seconds += seconds
	c.totals.Durations.Add(seconds)
	c.totals.Quarantined += int64(quarantined)
	for _, p := range []report.Phase{round.Fit, round.Evaluate} {
		c.totals.Results += int64(p.Results)
		c.totals.Failures += int64(p.Failures)
		c.totals.Sent += p.Sent
		c.totals.Received += p.Received
	}
}

// addUpdates counts the updates of a round, and the clients that it has suspended.
func (c *counters) addUpdates(updates report.Counts, suspended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.Clipped += int64(updates.Clipped)
	c.totals.Refused += int64(updates.Refused)
	c.totals.Far += int64(updates.Far)
	c.totals.Converted += int64(updates.Converted)
	c.totals.Compressed += int64(updates.Compressed)
	c.totals.Suspensions += int64(suspended)
}

// Durations counts rounds by how long they took. The zero value has none. It is
// not safe for concurrent use.
type Durations struct {
	// Counts has a number for each of the bounds: of the rounds that took longer
	// than the bound before, and no longer than this one. The last number is of
	// those beyond all bounds.
	Counts [11]int64
}

// Bounds returns the bounds of Counts in seconds. They are always the same.
func (Durations) Bounds() [10]float64 {
	return [10]float64{0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000}
}

// Add counts a round that took so many seconds.
func (d *Durations) Add(seconds float64) {
	bounds := d.Bounds()
	cell, _ := slices.BinarySearch(bounds[:], seconds)
	d.Counts[cell]++
}

// MaxEpsilons is how many ended jobs [Totals].Epsilons has, those that ended last.
const MaxEpsilons = 100

// spent is the privacy loss of the last run of a job that has ended.
type spent struct {
	job     string
	ended   time.Time
	epsilon report.Epsilon
}

// spentLedger holds the privacy loss of the last jobs with differential privacy, in the
// order in which they ended. Its size is bounded by [MaxEpsilons].
type spentLedger []spent

// add adds the last run of a job, if it has ended and had differential privacy.
func (l *spentLedger) add(r record) {
	l.remove(r.ID)
	if r.Privacy == nil || !r.State.Ended() {
		return
	}
	at, _ := slices.BinarySearchFunc(*l, r.Ended, func(s spent, ended time.Time) int {
		if s.ended.After(ended) {
			return 1
		}
		return -1
	})
	*l = slices.Insert(*l, at, spent{r.ID, r.Ended, r.Privacy.Epsilon})
	if len(*l) > MaxEpsilons {
		*l = slices.Delete(*l, 0, len(*l)-MaxEpsilons)
	}
}

// remove removes a job of which a new run has begun.
func (l *spentLedger) remove(job string) {
	*l = slices.DeleteFunc(*l, func(s spent) bool { return s.job == job })
}

// total adds the numbers of the jobs: their states, how many are undelivered, and their
// privacy loss, nil if there is no job with differential privacy.
func (r *registry) total(t *Totals) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Jobs, t.Ended = maps.Clone(r.states), maps.Clone(r.endings)
	if r.sharing {
		t.Jobs = map[report.State]int{}
		for _, j := range r.active {
			t.Jobs[j.record().State]++
		}
	}
	epsilons, ended := map[string]float64{}, slices.Clone(r.ended)
	for _, j := range r.active {
		rec := j.record()
		if !rec.settled() {
			t.Undelivered++
		}
		if rec.State.Ended() { // and not settled yet
			ended.add(rec)
		} else if rec.Privacy != nil {
			epsilons[rec.ID] = float64(rec.Privacy.Epsilon)
		}
	}
	for _, e := range ended {
		epsilons[e.job] = float64(e.epsilon)
	}
	if len(epsilons) > 0 {
		t.Epsilons = epsilons
	}
}
