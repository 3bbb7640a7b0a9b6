package strategy

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"sync"
)

// maxWaitingText bounds the text in the metrics of a deferred update. Metrics stay in
// memory, and no other limit applies once the message of the update is freed.
const maxWaitingText = 64 << 10

// clipping is the aggregation of a round that clips updates beyond the bound.
// Updates whose bound is known are added at once; the others are deferred in a
// file until the median of their round is known.
type clipping struct {
	*bounding
	roster roster

	mu      sync.Mutex // guards the fields below
	spill   *Spill     // nil until an update is deferred
	metrics map[string]map[string]any
	closed  bool
}

// Add implements [Aggregation].
func (c *clipping) Add(ctx context.Context, update Update) error {
	return c.decide(update, func(verdict *Verdict) error {
		if err := c.roster.enter(update.Client); err != nil {
			return err
		}
		err := c.place(ctx, update, verdict)
		if err != nil {
			c.roster.leave(update.Client)
		}
		return err
	})
}

// place adds an update whose bound is known, and defers others.
func (c *clipping) place(ctx context.Context, update Update, verdict *Verdict) error {
	rules, bound := c.rules, c.rules.bounds(c.last)
	far := verdict.lengths()
	switch {
	case far.norm > rules.limit*rules.refuse: // a median never makes the bound greater
		return refuse(update.Client, "its norm is %.4g, more than %v times the bound %.4g", far.norm, rules.refuse,
			rules.limit)
	case c.last.norm == 0: // there is no bound yet
	case bound.exceeded(far) == "", bound.norm == rules.limit && far.counters <= bound.counters:
		return c.admit(ctx, update, verdict, bound)
	}
	if n := countText(update.Metrics); n > maxWaitingText {
		return refuse(update.Client,
			"its metrics hold %d bytes of text, and an update that waits for the median of its round may have %d",
			n, maxWaitingText)
	}
	spill, err := c.file()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.metrics[update.Client] = owned(update.Metrics)
	c.mu.Unlock()
	return spill.Add(ctx, update)
}

// file returns the file of the deferred updates.
func (c *clipping) file() (*Spill, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.spill == nil {
		spill, err := NewSpill(c.round)
		if err != nil {
			return nil, err
		}
		c.spill, c.metrics = spill, map[string]map[string]any{}
	}
	return c.spill, nil
}

// countText returns the number of bytes of text in metrics.
func countText(metrics map[string]any) int {
	size := 0
	for _, v := range metrics {
		switch v := v.(type) {
		case string:
			size += len(v)
		case []byte:
			size += len(v)
		}
	}
	return size
}

// owned returns a deep copy of metrics, which may refer to the bytes of a
// message.
func owned(metrics map[string]any) map[string]any {
	metrics = maps.Clone(metrics)
	for name, v := range metrics {
		if b, ok := v.([]byte); ok {
			metrics[name] = bytes.Clone(b)
		}
	}
	return metrics
}

// Finish implements [Aggregation].
func (c *clipping) Finish(ctx context.Context) (Model, error) {
	if _, first := c.roster.close(); !first {
		return nil, ErrClosed
	}
	median, enough := c.median()
	bound := c.rules.bounds(median.atLeast(c.last))
	decided, err := c.settle(ctx, bound)
	c.verdicts.revise(func(v *Verdict) {
		switch late, waited := decided[v.Client]; {
		case v.Outcome != Kept: // such as a second answer of the client
		case waited:
			*v = late
		default:
			v.Bound = bound.norm
		}
	})
	if err != nil {
		return nil, err
	}
	model, err := c.Aggregation.Finish(ctx)
	if err == nil && enough {
		c.rules.remember(median)
	}
	return model, err
}

// settle adds the deferred updates one by one, and returns their verdicts by client.
func (c *clipping) settle(ctx context.Context, bound lengths) (map[string]Verdict, error) {
	c.mu.Lock()
	spill := c.spill
	c.mu.Unlock()
	if spill == nil {
		return nil, nil
	}
	count, err := spill.Seal()
	if err != nil {
		return nil, err
	}
	decided := make(map[string]Verdict, count)
	for i := range count {
		update, err := spill.load(i)
		if err != nil {
			return decided, err
		}
		c.mu.Lock()
		update.Metrics = c.metrics[update.Client]
		c.mu.Unlock()
		far := distance(c.round.Model, update.Model, c.counters)
		verdict := Verdict{Client: update.Client, Outcome: Kept, Norm: far.norm, Counters: far.counters, Bound: bound.norm}
		err = c.admit(ctx, update, &verdict, bound)
		switch {
		case errors.Is(err, ErrQuarantined):
			verdict.Outcome, verdict.Reason = Refused, err.Error()
		case err != nil:
			return decided, err
		}
		decided[update.Client] = verdict
	}
	return decided, nil
}

// admit adds an update, clipped where necessary.
func (c *clipping) admit(ctx context.Context, update Update, verdict *Verdict, bound lengths) error {
	far := verdict.lengths()
	if why := bound.exceeded(far); why != "" {
		if bound.norm/far.norm*c.rules.refuse < 1 {
			return refuse(update.Client, "its norm is %.4g, more than %v times the bound %.4g", far.norm, c.rules.refuse,
				bound.norm)
		}
		verdict.Outcome, verdict.Reason = Clipped, why
		share := lengths{norm: bound.norm / far.norm, counters: bound.counters / far.counters}
		if c.rules.taper {
			share = lengths{norm: share.norm * share.norm, counters: share.counters * share.counters}
		}
		update.Model = shorten(c.round.Model, update.Model, c.counters, share)
	}
	return c.Aggregation.Add(ctx, update)
}

// Close implements [Aggregation].
func (c *clipping) Close() error {
	c.roster.close()
	c.mu.Lock()
	c.closed = true
	spill := c.spill
	c.mu.Unlock()
	var err error
	if spill != nil {
		err = spill.Close()
	}
	return errors.Join(err, c.Aggregation.Close())
}
