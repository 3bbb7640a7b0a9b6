package flcollect

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// drawTrusted is draw for a job some of whose clients are suspended: they are not
// counted, and come in, the least bad first, only where without them there are too
// few, which it notes. The lock is held.
func (s *Server) drawTrusted(j *job, policy strategy.Policy, phase strategy.Phase, round int) (drawn []*client, note string, have, need int) {
	for _, c := range slices.Clone(j.pool) {
		if isDone(c.session) { // it is about to say so
			s.remove(j, c)
		}
	}
	var good, bad []*client
	standing := map[*client]Reputation{}
	for _, c := range j.pool {
		if known := j.reputations.of(c.identity); known.Suspended(round) {
			standing[c] = known
			bad = append(bad, c)
			continue
		}
		good = append(good, c)
	}
	have = len(j.pool)
	count := policy.Sample(phase, len(good))
	if count == 0 {
		return nil, "", have, 0
	}
	if need = max(count, policy.MinAvailable); have < need {
		return nil, "", have, need
	}
	rand.Shuffle(len(good), func(a, b int) { good[a], good[b] = good[b], good[a] })
	slices.SortFunc(bad, func(a, b *client) int { return worse(standing[b], standing[a], a.identity, b.identity) })
	admitted := max(0, count-len(good))
	if admitted > 0 {
		note = fmt.Sprintf("%v: %d suspended clients took part, for there were too few others", phase, admitted)
	}
	return append(good[:count-admitted:count-admitted], bad[:admitted]...), note, have, need
}
