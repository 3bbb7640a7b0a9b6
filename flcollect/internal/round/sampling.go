package round

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/tiers"
	"github.com/iotenablers/enablers/flcollect/report"
)

// drawBySpeed draws so many of the clients from one tier.
func drawBySpeed(clients []*Client, count int, speeds *tiers.Speeds, random func(n int) int) ([]*Client, *report.Sampling) {
	identities := make([]string, len(clients))
	for i, c := range clients {
		identities[i] = c.Identity
	}
	split := speeds.Split(identities)
	sizes := make([]int, len(split))
	for k, tier := range split {
		sizes[k] = len(tier)
	}
	plan := tiers.Draw(sizes, count, random)
	drawn := make([]*Client, 0, count)
	for k, take := range plan.Take {
		tier := slices.Clone(split[k])
		for i := range take {
			j := i + random(len(tier)-i)
			tier[i], tier[j] = tier[j], tier[i]
			drawn = append(drawn, clients[tier[i]])
		}
	}
	sampling := &report.Sampling{Tier: plan.Tier + 1, Tiers: speeds.Count(), Size: sizes[plan.Tier], Clients: len(drawn),
		Filled: plan.Filled, Deviation: plan.Deviation}
	if plan.Tier == speeds.Count() {
		sampling.Tier = 0
	}
	return drawn, sampling
}

// trainTimed has a client train, and notes how long that takes. A client that does not
// answer in time counts as one that takes as long as was waited.
func (c *Conductor) trainTimed(ctx context.Context, client *Client, ins flower.FitIns) (*flower.FitRes, error) {
	if c.config.Speeds == nil {
		return client.Session.Fit(ctx, ins)
	}
	began := time.Now()
	res, err := client.Session.Fit(ctx, ins)
	if err == nil || errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		c.config.Speeds.Observe(client.Identity, time.Since(began).Seconds())
	}
	return res, err
}
