package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// CountsConfig configures [Counts]. Documents are required.
type CountsConfig struct {
	// Documents keep the counts. They are those of all gateways that count together, and for
	// counts alone; see storage.Prefixed.
	Documents storage.Documents
	// Interval is how often a gateway adds what it has counted to what is stored. Zero means
	// one second.
	Interval time.Duration
	// Default says that plugins whose configuration names no policy have the policy cluster.
	// False means local.
	Default bool
	// Logger receives outages of the documents. Nil is silent.
	Logger *slog.Logger
}

// Counts are the counts of rate-limiting that several gateways share: those of plugins with
// the policy "cluster". They also outlast a restart.
//
// A request is counted in memory and never waits for the documents. A gateway adds its counts
// to what is stored, and learns what others have added, every [CountsConfig.Interval], and at
// once when a caller has used a quarter of what was left in a window, when that gateway last
// exchanged the caller's counts with the documents. So while the documents answer, a limit is
// exceeded at most by a quarter for each gateway besides the first one, and by what comes
// during an exchange. While they do not answer each gateway counts alone, from what it knows;
// what it has counted is added afterwards, as far as the windows go on.
//
// Make them with [NewCounts], and run them beside the gateway. They are safe for concurrent use.
type Counts struct {
	config CountsConfig
	wake   chan struct{}

	mu       sync.Mutex
	counters map[*counter]bool // false for those that are closed, which are exchanged once more

	documents atomic.Int64 // by the last sweep, and made here since
	away      atomic.Bool
	exchanges [2]atomic.Uint64 // that succeeded and that failed
	desc      [2]*prometheus.Desc
}

// NewCounts returns counts over documents. It starts nothing. Errors name the field.
func NewCounts(config CountsConfig) (*Counts, error) {
	switch {
	case config.Documents == nil:
		return nil, errors.New("plugin: CountsConfig.Documents: are required")
	case config.Interval < 0:
		return nil, fmt.Errorf("plugin: CountsConfig.Interval: %v is negative", config.Interval)
	case config.Interval == 0:
		config.Interval = time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Counts{config: config, wake: make(chan struct{}, 1), counters: map[*counter]bool{}, desc: [2]*prometheus.Desc{
		prometheus.NewDesc("gateway_limits_shared",
			"1 if counts of rate limits are shared with other gateways; 0 while the store is away.", nil, nil),
		prometheus.NewDesc("gateway_limit_exchanges_total",
			"Exchanges of a caller's counts with the store, by outcome.", []string{"outcome"}, nil),
	}}, nil
}

// Describe implements prometheus.Collector.
func (c *Counts) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range c.desc {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *Counts) Collect(out chan<- prometheus.Metric) {
	shared := 1.0
	if c.away.Load() {
		shared = 0
	}
	out <- prometheus.MustNewConstMetric(c.desc[0], prometheus.GaugeValue, shared)
	for i, outcome := range []string{"ok", "failed"} {
		out <- prometheus.MustNewConstMetric(c.desc[1], prometheus.CounterValue, float64(c.exchanges[i].Load()), outcome)
	}
}

// Bounds of the exchanges.
const (
	parallelExchanges = 8
	lastExchange      = 2 * time.Second // for what is left when Run ends
	exchangeTime      = 5 * time.Second // for one
	countsSweep       = time.Hour
	mostCounted       = 1_000_000 // callers that are stored; those beyond are counted by each gateway alone
)

// Run exchanges counts with the documents until the context ends, and then what is left. It
// returns nil. It also deletes the counts of windows that are over.
func (c *Counts) Run(ctx context.Context) error {
	tick := time.NewTicker(c.config.Interval)
	defer tick.Stop()
	var swept time.Time
	for {
		all := false
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExchange)
			defer cancel()
			c.exchange(last, true)
			return nil
		case <-c.wake:
			if c.away.Load() {
				continue // the next tick tries again
			}
		case <-tick.C:
			all = true
		}
		c.exchange(ctx, all)
		if time.Since(swept) > countsSweep {
			swept = time.Now()
			if err := c.sweep(ctx, swept); err != nil && ctx.Err() == nil {
				c.config.Logger.Warn("counts of rate limits that are over were not deleted", "error", err)
			}
		}
	}
}

// add has a counter share its counts.
func (c *Counts) add(of *counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters[of] = true
}

// remove is for a counter that is used no longer.
func (c *Counts) remove(of *counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counters[of] = false
	notify.Send(c.wake)
}

// exchange adds what was counted to what is stored: of callers that are close to a limit, or of
// all. It ends at the first outage.
func (c *Counts) exchange(ctx context.Context, all bool) {
	var due []job
	c.mu.Lock()
	for of, open := range c.counters {
		due = of.due(due, all || !open)
		if !open {
			delete(c.counters, of)
		}
	}
	c.mu.Unlock()
	if len(due) == 0 {
		return
	}
	var running sync.WaitGroup
	slots := make(chan struct{}, parallelExchanges)
	var failed atomic.Pointer[error]
	for _, one := range due {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if failed.Load() != nil {
				one.postpone()
				return
			}
			ctx, cancel := context.WithTimeout(ctx, exchangeTime)
			defer cancel()
			if err := one.run(ctx, c); err != nil {
				failed.Store(&err)
				c.exchanges[1].Add(1)
				return
			}
			c.exchanges[0].Add(1)
		})
	}
	running.Wait()
	switch err := failed.Load(); {
	case err != nil && ctx.Err() == nil && !c.away.Swap(true):
		c.config.Logger.Warn("rate limits are not shared: the store does not take the counts, so each gateway counts alone", "error", *err)
	case err == nil && c.away.Swap(false):
		c.config.Logger.Info("rate limits are shared again")
	}
}

// sweep deletes the documents whose windows are all over.
func (c *Counts) sweep(ctx context.Context, now time.Time) error {
	stay := int64(0)
	defer func() { c.documents.Store(stay) }()
	for doc, err := range storage.All(ctx, c.config.Documents, "") {
		if err != nil {
			return err
		}
		if !isOver(doc.Data, now) {
			stay++
			continue
		}
		err := c.config.Documents.Delete(ctx, doc.Key, doc.Revision)
		if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
	return nil
}
