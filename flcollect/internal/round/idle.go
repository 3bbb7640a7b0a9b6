package round

import (
	"math/rand/v2"

	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/report"
)

// drawIdle draws a client for a version among those that are free, uniformly; nil if there
// is none. Suspended clients are drawn, the one with the best reputation first, only where
// fewer than need others are connected, and no more of them than are missing: Admitted is
// how many were drawn for the version.
func (p *Pool) drawIdle(round int, reputations *reputation.Table, need, admitted int, free func(*Client) bool) (c *Client, suspended bool) {
	some := reputations.AnySuspended(round)
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *Client
	var standing report.Reputation
	good, candidates := 0, 0
	for i := len(p.clients) - 1; i >= 0; i-- { // removing puts the last in its place
		next := p.clients[i]
		if next.left() {
			p.removeLocked(next)
			continue
		}
		if some {
			if r, _ := reputations.Reputation(next.Identity); r.Suspended(round) {
				if free(next) && (best == nil || reputation.Compare(standing, r, best.Identity, next.Identity) < 0) {
					best, standing = next, r
				}
				continue
			}
		}
		good++
		if !free(next) {
			continue
		}
		if candidates++; rand.IntN(candidates) == 0 {
			c = next
		}
	}
	if c == nil && best != nil && good+admitted < need {
		return best, true
	}
	return c, false
}
