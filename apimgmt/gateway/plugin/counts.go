package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// CountsConfig configures [Counts].
type CountsConfig struct {
	// Documents keep the counts. They are those of all gateways that count together, and for
	// nothing else; see storage.Prefixed. Nil means that there are none: the gateway then counts
	// for itself, also for plugins with the policy cluster.
	Documents storage.Documents
	// Interval is the time between two exchanges of counts with the store. Zero means
	// one second.
	Interval time.Duration
	// Default reports whether plugins whose configuration names no policy have the policy cluster.
	// False means local.
	Default bool
	// Logger receives outages of the documents. Nil is silent.
	Logger *slog.Logger
}

// Counts are the counts of rate-limiting that several gateways share: those of plugins with
// the policy "cluster", in windows of a minute and longer. They also outlast a restart.
//
// A request is counted in memory and never waits for the documents. A gateway exchanges the
// counts of a caller with the documents every [CountsConfig.Interval]: it adds its own, and
// learns those of other gateways. It does so at once when the caller has used a quarter of what
// was left after the last exchange. So while the documents answer, a limit is exceeded at most
// by a quarter for each gateway besides the first one, and by what comes before and during the
// exchange that is due. While they do not answer, each gateway counts for itself, from what it
// knows. It adds those counts afterwards, as far as the windows go on and the plugin was not
// changed meanwhile.
//
// [NewCounts] creates them; run them beside the gateway. They are safe for concurrent use.
type Counts struct {
	config CountsConfig
	most   int64 // callers of a plugin that are stored
	wake   chan struct{}

	mu       sync.Mutex
	counters map[*counter]bool // false for those that are closed, which are exchanged once more
	stored   map[string]int64  // callers by plugin: of the last sweep, and made here since

	away      atomic.Bool
	whole     atomic.Int64     // when the counts of all callers were last exchanged, in nanoseconds since 1970
	exchanges [3]atomic.Uint64 // by outcome
	desc      [3]*prometheus.Desc
}

// outcomes of exchanges, as the metric has them.
const (
	exchanged = iota
	exchangeFailed
	exchangeRefused // too many callers of the plugin are stored
)

// NewCounts returns counts over documents. It starts nothing. Errors name the field.
func NewCounts(config CountsConfig) (*Counts, error) {
	switch {
	case config.Interval < 0:
		return nil, fmt.Errorf("plugin: CountsConfig.Interval: %v is negative", config.Interval)
	case config.Interval == 0:
		config.Interval = time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Counts{config: config, most: mostStored, wake: make(chan struct{}, 1),
		counters: map[*counter]bool{}, stored: map[string]int64{}, desc: [3]*prometheus.Desc{
			prometheus.NewDesc("gateway_limits_shared",
				"1 if counts of rate limits are shared with other gateways; 0 while the store is away.", nil, nil),
			prometheus.NewDesc("gateway_limit_exchanges_total",
				"Exchanges of a caller's counts with the store, by outcome: ok, failed, or full if too many callers of a plugin are stored.",
				[]string{"outcome"}, nil),
			prometheus.NewDesc("gateway_limit_exchange_age_seconds",
				"Seconds since the counts of all callers were last exchanged with the store.", nil, nil),
		}}
	c.whole.Store(time.Now().UnixNano())
	return c, nil
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
	out <- prometheus.MustNewConstMetric(c.desc[2], prometheus.GaugeValue, time.Since(time.Unix(0, c.whole.Load())).Seconds())
	for i, outcome := range []string{"ok", "failed", "full"} {
		out <- prometheus.MustNewConstMetric(c.desc[1], prometheus.CounterValue, float64(c.exchanges[i].Load()), outcome)
	}
}

// Bounds of the exchanges.
const (
	parallelExchanges = 8
	exchangeBatch     = 64              // after which callers that are close to a limit come first
	lastExchange      = 2 * time.Second // for what is left when Run ends
	exchangeTime      = 5 * time.Second // for one
	countsSweep       = time.Hour
	mostStored        = 200_000 // callers of a plugin; a gateway counts those beyond for itself
)

// Run exchanges counts with the documents until the context ends, and then what is left. It
// returns nil. It also deletes the counts of windows that are over.
func (c *Counts) Run(ctx context.Context) error {
	if c.config.Documents == nil {
		<-ctx.Done()
		return nil
	}
	var sweeping sync.WaitGroup
	sweeping.Go(func() { c.runSweeps(ctx) })
	defer sweeping.Wait()
	tick := time.NewTicker(c.config.Interval)
	defer tick.Stop()
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
	}
}

// add has a counter share its counts, for a plugin.
func (c *Counts) add(of *counter, plugin string) {
	of.shared, of.plugin = c, plugin
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

// due takes the exchanges that are due: of callers that are close to a limit, or of all.
func (c *Counts) due(all bool) (due []job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of, open := range c.counters {
		due = of.due(due, all || !open)
		if !open {
			delete(c.counters, of)
		}
	}
	return due
}

// exchange makes the exchanges that are due, in batches. Callers that come close to a limit
// meanwhile come before the next batch. It ends at the first outage.
func (c *Counts) exchange(ctx context.Context, all bool) {
	due := c.due(all)
	some := len(due) > 0
	var err error
	for len(due) > 0 && err == nil {
		n := min(len(due), exchangeBatch)
		if err = c.makeExchanges(ctx, due[:n]); err == nil && n < len(due) {
			err = c.makeExchanges(ctx, c.due(false))
		}
		due = due[n:]
	}
	for _, one := range due {
		one.postpone()
	}
	switch {
	case err != nil && ctx.Err() == nil && !c.away.Swap(true):
		c.config.Logger.Warn("rate limits are not shared: the store does not take the counts, so each gateway counts for itself", "error", err)
	case err == nil && some && c.away.Swap(false):
		c.config.Logger.Info("rate limits are shared again")
	}
	if err == nil && all && !c.away.Load() {
		c.whole.Store(time.Now().UnixNano())
	}
}

// makeExchanges makes exchanges, some at a time, and postpones the rest after an outage.
func (c *Counts) makeExchanges(ctx context.Context, due []job) error {
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
			outcome, err := one.run(ctx, c)
			c.exchanges[outcome].Add(1)
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// hasRoom reports whether one more caller of a plugin may be stored.
func (c *Counts) hasRoom(plugin string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored[plugin] < c.most
}

// created is for a caller of a plugin that is stored now.
func (c *Counts) created(plugin string) {
	c.mu.Lock()
	c.stored[plugin]++
	full := c.stored[plugin] == c.most
	c.mu.Unlock()
	if full {
		c.warnFull(plugin)
	}
}

func (c *Counts) warnFull(plugin string) {
	c.config.Logger.Warn("a plugin rate-limiting has too many callers: each gateway counts further ones for itself",
		"plugin", plugin, "stored", c.most)
}

// runSweeps sweeps now and then, until the context ends.
func (c *Counts) runSweeps(ctx context.Context) {
	tick := time.NewTicker(countsSweep)
	defer tick.Stop()
	for {
		if err := c.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			c.config.Logger.Warn("counts of rate limits that are over were not deleted", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep deletes the documents whose windows are all over, and counts the others.
func (c *Counts) sweep(ctx context.Context, now time.Time) error {
	c.mu.Lock()
	before := maps.Clone(c.stored)
	c.mu.Unlock()
	stay := map[string]int64{}
	for doc, err := range storage.All(ctx, c.config.Documents, "") {
		if err != nil {
			return err
		}
		if !isOver(doc.Data, now) {
			plugin, _, _ := strings.Cut(doc.Key, "/")
			stay[plugin]++
			continue
		}
		err := c.config.Documents.Delete(ctx, doc.Key, doc.Revision)
		if err != nil && !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
	for plugin, n := range stay {
		if n >= c.most {
			c.warnFull(plugin)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for plugin, n := range c.stored {
		if made := n - before[plugin]; made > 0 { // since the sweep began: it may have missed them
			stay[plugin] += made
		}
	}
	c.stored = stay
	return nil
}
