package kafka

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause is the time between attempts. It doubles with each attempt, and varies at random so
// that many clients do not connect at the same moment.
type pause struct {
	least, most, next time.Duration
}

func newPause(o *Options) *pause {
	return &pause{least: o.ReconnectMin, most: o.ReconnectMax, next: o.ReconnectMin}
}

func (p *pause) reset() { p.next = p.least }

// wait waits for the pause, and reports whether ctx allows another attempt.
func (p *pause) wait(ctx context.Context) bool {
	timer := time.NewTimer(p.next/2 + rand.N(p.next/2+1))
	defer timer.Stop()
	p.next = min(2*p.next, p.most)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
