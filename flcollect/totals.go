package flcollect

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/report"
)

// Totals are the figures of a [Server] for its metrics. Counters begin at the start of
// the process. The tags metric, label and help describe them for Prometheus.
type Totals struct {
	Clients int `metric:"clients" help:"Clients that are connected."`
	Lobby   int `metric:"lobby_clients" help:"Clients that wait for a job."`

	// Jobs has all states. Of several servers on one store each counts the jobs that it has something
	// to do for.
	Jobs map[report.State]int `metric:"jobs" label:"state" help:"Jobs that there are."`
	// Ended has the states in which a run ends.
	Ended map[report.State]int64 `metric:"jobs_ended_total" label:"state" help:"Runs of jobs that ended at this server."`
	// Undelivered jobs have reports or results that the orchestrator or the repository has not
	// accepted yet.
	Undelivered int `metric:"undelivered_jobs" help:"Jobs with news or results that a neighbour has not taken yet."`

	Rounds    int64     `metric:"rounds_total" help:"Rounds that were finished."`
	Durations Durations `metric:"round_duration_seconds" help:"How long the rounds took that were finished."`

	// Epsilons is the privacy loss of jobs with differential privacy, by their ids: of
	// the current run of every active job, and of the last run of those that have
	// ended, the last [MaxEpsilons] of them.
	Epsilons map[string]float64 `metric:"job_epsilon" label:"job" help:"Epsilon of the private jobs that are active or ended last."`
	Epsilon  float64            `metric:"epsilon" help:"The greatest of flcollector_job_epsilon."`

	Results  int64 `metric:"client_results_total" help:"Answers of clients that were taken."`
	Failures int64 `metric:"client_failures_total" help:"Answers of clients that did not come or were not taken."`
	// Quarantined counts in Failures too.
	Quarantined int64 `metric:"quarantined_updates_total" help:"Updates and evaluations that were refused for what they held."`

	// The statuses of the jobs count these updates too.
	Clipped    int64 `metric:"clipped_updates_total" help:"Updates that were shortened for lying too far from the model."`
	Refused    int64 `metric:"refused_updates_total" help:"Updates that were refused."`
	Far        int64 `metric:"far_updates_total" help:"Updates that lay too far from the model and were kept whole."`
	Converted  int64 `metric:"converted_updates_total" help:"Updates with layers of another type than the model."`
	Compressed int64 `metric:"compressed_updates_total" help:"Updates that clients had compressed."`

	Suspensions int64 `metric:"suspensions_total" help:"How many times a client was suspended."`

	Sent     int64 `metric:"sent_bytes_total" help:"Bytes of parameters that went to clients."`
	Received int64 `metric:"received_bytes_total" help:"Bytes of parameters that came from clients."`
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

// RoundFinished counts a finished round.
func (c *counters) RoundFinished(round report.Round, seconds float64, quarantined int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.Rounds++
	c.totals.Durations.Add(seconds)
	c.totals.Quarantined += int64(quarantined)
	for _, p := range []report.Phase{round.Fit, round.Evaluate} {
		c.totals.Results += int64(p.Results)
		c.totals.Failures += int64(p.Failures)
		c.totals.Sent += p.Sent
		c.totals.Received += p.Received
	}
}

// UpdatesJudged counts the updates of a round, and the clients that it has suspended.
func (c *counters) UpdatesJudged(updates report.Counts, suspended int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals.Clipped += int64(updates.Clipped)
	c.totals.Refused += int64(updates.Refused)
	c.totals.Far += int64(updates.Far)
	c.totals.Converted += int64(updates.Converted)
	c.totals.Compressed += int64(updates.Compressed)
	c.totals.Suspensions += int64(suspended)
}

// Durations counts rounds by their durations. The zero value has none. It is
// not safe for concurrent use.
type Durations struct {
	// Counts has a number for each of the bounds: of the rounds that took longer
	// than the bound before, and no longer than this one. The last number is of
	// those beyond all bounds.
	Counts [11]int64
	// Seconds is the sum of the durations.
	Seconds float64
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
	d.Seconds += seconds
}

// Cumulative returns the number of rounds, the sum of their durations, and the number of rounds that took
// no longer than each bound.
func (d Durations) Cumulative() (count uint64, sum float64, buckets map[float64]uint64) {
	bounds := d.Bounds()
	buckets = make(map[float64]uint64, len(bounds))
	for i, n := range d.Counts {
		count += uint64(n)
		if i < len(bounds) {
			buckets[bounds[i]] = count
		}
	}
	return count, d.Seconds, buckets
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
func (l *spentLedger) add(r job.Record) {
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
	t.Jobs = map[report.State]int{report.Waiting: 0, report.Training: 0, report.Interrupted: 0, report.Finished: 0}
	t.Ended = map[report.State]int64{report.Interrupted: 0, report.Finished: 0}
	maps.Copy(t.Ended, r.endings)
	if r.shared {
		for _, j := range r.active {
			t.Jobs[j.Record().State]++
		}
	} else {
		for state := range t.Jobs {
			t.Jobs[state] = r.states[state]
		}
	}
	epsilons, ended := map[string]float64{}, slices.Clone(r.ended)
	for _, j := range r.active {
		rec := j.Record()
		if !rec.Settled() {
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
