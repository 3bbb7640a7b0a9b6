package balance

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// Probe checks the health of a peer, within the context, and returns the HTTP status of
// the answer, or 200 if the check is of TCP only.
type Probe func(ctx context.Context, peer *Peer, check *entity.ActiveCheck) (status int, err error)

// Watches reports whether a pool has active checks.
func (p *Pool) Watches() bool {
	h := p.spec.Healthchecks
	return h != nil && (h.Active.Healthy.Interval > 0 || h.Active.Unhealthy.Interval > 0)
}

// Watch probes the peers, each at the interval of its state, until
// the context ends; then it waits for the probes that are under way. changed, if
// not nil, is called when the health of a peer has changed.
func (p *Pool) Watch(ctx context.Context, probe Probe, changed func(*Peer)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, cmp.Or(max(p.spec.Healthchecks.Active.Concurrency, 0), 10))
	for _, m := range p.members {
		all.Go(func() { p.watch(ctx, m.peer, slots, probe, changed) })
	}
	all.Wait()
}

func (p *Pool) watch(ctx context.Context, peer *Peer, slots chan struct{}, probe Probe, changed func(*Peer)) {
	check := &p.spec.Healthchecks.Active
	timeout := seconds(check.Timeout)
	if timeout <= 0 {
		timeout = time.Second
	}
	for {
		interval := seconds(check.Healthy.Interval)
		if !peer.Healthy() {
			interval = seconds(check.Unhealthy.Interval)
		}
		idle := interval <= 0 // not probed in this state; look again whether it is another one
		if idle {
			interval = time.Second
		}
		timer := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if idle {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		attempt, cancel := context.WithTimeout(ctx, timeout)
		status, err := probe(attempt, peer, check)
		cancel()
		<-slots
		if ctx.Err() != nil {
			return
		}
		outcome := Answered
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
			outcome = TimedOut
		case err != nil:
			outcome = Unreachable
		}
		if peer.Report(&check.Healthy, &check.Unhealthy, outcome, status) && changed != nil {
			changed(peer)
		}
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
