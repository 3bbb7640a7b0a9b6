package flcollect

import (
	"slices"
	"time"
)

// MaxEpsilons is how many ended jobs [Totals].Epsilons has, those that ended last.
const MaxEpsilons = 100

// spent is what a job that has ended gave away in its last run.
type spent struct {
	job     string
	ended   time.Time
	epsilon Epsilon
}

// spentLedger has what the last jobs with differential privacy gave away, in the
// order in which they ended. Its size is bounded by [MaxEpsilons].
type spentLedger []spent

// add puts in the last run of a job, if it has ended and has an account.
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

// remove takes a job out: a new run of it has begun.
func (l *spentLedger) remove(job string) {
	*l = slices.DeleteFunc(*l, func(s spent) bool { return s.job == job })
}

// epsilonsLocked returns what the active jobs gave away so far, and the last
// ended ones, by their ids; nil if there is no job with differential privacy.
func (s *Server) epsilonsLocked() map[string]float64 {
	epsilons, ended := map[string]float64{}, slices.Clone(s.spent)
	for _, j := range s.jobs {
		r := j.record()
		if r.State.Ended() { // the neighbours do not know yet
			ended.add(r)
		} else if r.Privacy != nil {
			epsilons[r.ID] = float64(r.Privacy.Epsilon)
		}
	}
	for _, e := range ended {
		epsilons[e.job] = float64(e.epsilon)
	}
	if len(epsilons) == 0 {
		return nil
	}
	return epsilons
}
