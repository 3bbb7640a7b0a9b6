package round

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect/internal/reputation"
	"github.com/iotenablers/enablers/flcollect/internal/tiers"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/notify"
)

// Pool holds the clients that are connected for a job. It is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	clients []*Client
	moved   chan struct{} // has a token when the clients have changed
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{moved: make(chan struct{}, 1)} }

// Moved returns a channel that has a token when clients were added or removed. It serves
// one goroutine.
func (p *Pool) Moved() <-chan struct{} { return p.moved }

// Len returns the number of clients.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.clients)
}

// All returns the clients, in no order.
func (p *Pool) All() []*Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.clients)
}

// Add adds a client.
func (p *Pool) Add(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.at, c.pooled = len(p.clients), true
	p.clients = append(p.clients, c)
	p.signalLocked()
}

// Remove removes a client, unless it was removed before.
func (p *Pool) Remove(c *Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(c)
}

func (p *Pool) removeLocked(c *Client) {
	if !c.pooled {
		return
	}
	last := len(p.clients) - 1
	p.clients[c.at] = p.clients[last]
	p.clients[c.at].at = c.at
	p.clients[last] = nil
	p.clients = p.clients[:last]
	c.pooled = false
	p.signalLocked()
}

func (p *Pool) signalLocked() {
	notify.Send(p.moved)
}

// Untried returns a random client that it has not returned before, nil if there is none.
func (p *Pool) Untried() *Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.clients) == 0 {
		return nil
	}
	start := rand.IntN(len(p.clients))
	for i := range p.clients {
		c := p.clients[(start+i)%len(p.clients)]
		if !c.tried && !c.left() {
			c.tried = true
			return c
		}
	}
	return nil
}

// drawing is a draw with the numbers of clients; its clients are nil if there are too few.
type drawing struct {
	Draw
	have, need int // how many are connected, and how many must be; need is 0 for no phase
}

// draw draws the clients of a phase of a round without repetition, of those that takes
// reports, or of all if it is nil: uniformly, or those of a fit from one tier of speeds,
// unless these are nil.
func (p *Pool) draw(policy strategy.Policy, phase strategy.Phase, round int, reputations *reputation.Table,
	takes func(*Client) bool, speeds *tiers.Speeds) drawing {
	if phase != strategy.Fit {
		speeds = nil
	}
	suspended := reputations.AnySuspended(round)
	p.mu.Lock()
	defer p.mu.Unlock()
	if phase == strategy.Fit && policy.Fit.Rate > 0 {
		return p.drawEachLocked(policy, round, reputations, takes)
	}
	if suspended || takes != nil || speeds != nil {
		return p.drawTrustedLocked(policy, phase, round, reputations, takes, speeds)
	}
	for {
		have := len(p.clients)
		count := policy.Sample(phase, have)
		if count == 0 {
			return drawing{have: have}
		}
		need := max(count, policy.MinAvailable)
		if have < need {
			return drawing{have: have, need: need}
		}
		if drawn, whole := p.shuffleLocked(count); whole {
			return drawing{Draw: Draw{Clients: drawn}, have: have, need: need}
		}
	}
}

// shuffleLocked draws clients. Where it finds clients whose session has ended it removes
// them and returns false.
func (p *Pool) shuffleLocked(count int) (drawn []*Client, whole bool) {
	whole = true
	for i := 0; i < min(count, len(p.clients)); {
		k := i + rand.IntN(len(p.clients)-i)
		p.clients[i], p.clients[k] = p.clients[k], p.clients[i]
		p.clients[i].at, p.clients[k].at = i, k
		if p.clients[i].left() {
			p.removeLocked(p.clients[i])
			whole = false
			continue
		}
		i++
	}
	return slices.Clone(p.clients[:min(count, len(p.clients))]), whole
}

// drawTrustedLocked draws clients where some may be suspended. These are not counted. They
// are drawn, those with the best reputation first, only where there are too few others,
// which it notes. Clients that are not taken do not count.
func (p *Pool) drawTrustedLocked(
	policy strategy.Policy, phase strategy.Phase, round int, reputations *reputation.Table,
	takes func(*Client) bool, speeds *tiers.Speeds,
) drawing {
	good, bad := p.standingLocked(round, reputations, takes)
	d := drawing{have: len(good) + len(bad)}
	count := policy.Sample(phase, len(good))
	if count == 0 {
		return d
	}
	if d.need = max(count, policy.MinAvailable); d.have < d.need {
		return d
	}
	if speeds == nil {
		rand.Shuffle(len(good), func(a, b int) { good[a], good[b] = good[b], good[a] })
	}
	admitted := max(0, count-len(good))
	if admitted > 0 {
		d.Note = fmt.Sprintf("%v: %d suspended clients took part, for there were too few others", phase, admitted)
	}
	if speeds != nil && len(good) > 0 {
		good, d.Sampling = drawBySpeed(good, count-admitted, speeds, rand.IntN)
	}
	d.Clients = append(good[:count-admitted:count-admitted], bad[:admitted]...)
	return d
}

// standingLocked removes the clients whose session has ended, and returns those that takes
// reports, or all if it is nil: the ones that are not suspended, in no order, and the
// suspended ones, the best reputation first.
func (p *Pool) standingLocked(round int, reputations *reputation.Table, takes func(*Client) bool) (good, bad []*Client) {
	for _, c := range slices.Clone(p.clients) {
		if c.left() {
			p.removeLocked(c)
		}
	}
	standing := map[*Client]report.Reputation{}
	for _, c := range p.clients {
		if takes != nil && !takes(c) {
			continue
		}
		if r, _ := reputations.Reputation(c.Identity); r.Suspended(round) {
			standing[c] = r
			bad = append(bad, c)
			continue
		}
		good = append(good, c)
	}
	slices.SortFunc(bad, func(a, b *Client) int {
		return reputation.Compare(standing[b], standing[a], a.Identity, b.Identity)
	})
	return good, bad
}

// drawEachLocked draws each client of a fit independently of the others. It may draw none.
// Suspended clients are among those that it draws from only where there are too few others.
func (p *Pool) drawEachLocked(policy strategy.Policy, round int, reputations *reputation.Table, takes func(*Client) bool) drawing {
	from, bad := p.standingLocked(round, reputations, takes)
	d := drawing{have: len(from) + len(bad), need: max(policy.MinAvailable, 1)}
	if d.have < d.need {
		return d
	}
	if lacking := d.need - len(from); lacking > 0 {
		from = append(from, bad[:lacking]...)
		d.Note = fmt.Sprintf("fit: %d suspended clients could be drawn, for there were too few others", lacking)
	}
	d.Clients, d.From = []*Client{}, len(from)
	for _, c := range from {
		if rand.Float64() < policy.Fit.Rate {
			d.Clients = append(d.Clients, c)
		}
	}
	return d
}
