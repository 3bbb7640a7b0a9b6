package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// reading is the state of a run at one time.
type reading struct {
	at              time.Time
	done            int64
	subject, broker time.Duration // processor time taken so far
}

// meter watches a run.
type meter struct {
	subject *rig.Process
	broker  *rig.Process
	done    func() (int64, error) // messages that have come out so far
	total   int64
	settle  time.Duration // how long nothing more must come before it is the end
	stall   time.Duration // how long nothing may come before it is given up
}

var errStalled = errors.New("nothing comes any more")

// watch reads the meter until all messages have come out.
func (m meter) watch(ctx context.Context) ([]reading, error) {
	var all []reading
	changed := time.Now()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		done, err := m.done()
		if err != nil {
			return all, err
		}
		now := reading{time.Now(), done, m.subject.CPU(), m.broker.CPU()}
		if len(all) == 0 || all[len(all)-1].done != done {
			changed = now.at
			all = append(all, now)
		}
		switch quiet := now.at.Sub(changed); {
		case done >= m.total && quiet >= m.settle:
			return all, nil
		case done < m.total && quiet > m.stall:
			return all, fmt.Errorf("%w after %d of %d messages", errStalled, done, m.total)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

// pace is what the middle of a run was like.
type pace struct {
	Rate      float64 `json:"messages_per_second"`
	CPU       float64 `json:"cpu_us_per_message"`
	BrokerCPU float64 `json:"broker_cpu_us_per_message"`
}

// The part of a run that counts: the beginning shows connecting, joining a
// group and, with Java, compiling; the end shows emptying.
const (
	countFrom = 0.40
	countTo   = 0.97
)

// measurePace works out the pace. What the counter counts besides messages (marks
// of transactions) is left out in proportion.
func measurePace(all []reading, total int64) (pace, error) {
	if len(all) == 0 {
		return pace{}, errors.New("the run was not watched")
	}
	final := float64(all[len(all)-1].done)
	var first, last reading
	for _, r := range all {
		share := float64(r.done) / final
		if first.at.IsZero() && share >= countFrom {
			first = r
		}
		if share <= countTo {
			last = r
		}
	}
	messages := float64(last.done-first.done) * float64(total) / final
	elapsed := last.at.Sub(first.at)
	if messages <= 0 || elapsed <= 0 {
		return pace{}, errors.New("the run was too short to be measured")
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / messages }
	return pace{
		Rate: messages / elapsed.Seconds(), CPU: each(last.subject - first.subject),
		BrokerCPU: each(last.broker - first.broker),
	}, nil
}
