package manager

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/history"
)

// plotted is how many channels have plots of their own: the busiest.
const plotted = 50

// Plot returns what was recorded of a channel since Run, or of all channels together for an empty
// identifier, for the package page. The range is one of those of package history.
func (m *Manager) Plot(id, span string) history.Plot {
	prefix := "all/"
	if id != "" {
		prefix = plotPrefix(id)
	}
	plot := m.history.Query(prefix, span)
	plot.Series = trimmed(plot.Series, prefix)
	plot.Whole = trimmed(plot.Whole, prefix)
	return plot
}

// trimmed returns series that are named without the prefix.
func trimmed[V any](byName map[string]V, prefix string) map[string]V {
	made := make(map[string]V, len(byName))
	for name, value := range byName {
		made[strings.TrimPrefix(name, prefix)] = value
	}
	return made
}

// watch records the counts of the channels for the plots, until ctx ends.
func watch(ctx context.Context, store *history.Store, counts func() map[string]annotate.Stats) {
	tick := time.NewTicker(history.Step)
	defer tick.Stop()
	g := gauge{store: store}
	for {
		g.measure(counts())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// gauge records the counts of channels for the plots. It belongs to one goroutine.
type gauge struct {
	store *history.Store
	last  map[string]annotate.Stats // as they were measured last
	// Since the first measurement, of all channels together. A channel that is removed takes
	// nothing away, which would look like a new beginning.
	received, published, failed uint64
}

// measure records the current counts: those of all channels together, and those of
// the busiest ones. Plots of channels that are removed go.
func (g *gauge) measure(all map[string]annotate.Stats) {
	ids := make([]string, 0, len(all))
	for id, s := range all {
		before := g.last[id]
		g.received += growth(before.Received, s.Received)
		g.published += growth(before.Published, s.Published)
		g.failed += growth(before.Failed, s.Failed)
		ids = append(ids, id)
	}
	for id := range g.last {
		if _, ok := all[id]; !ok {
			g.store.Forget(plotPrefix(id))
		}
	}
	g.last = all
	g.store.Total("all/received", float64(g.received))
	g.store.Total("all/published", float64(g.published))
	g.store.Total("all/failed", float64(g.failed))
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].Received, all[a].Received), strings.Compare(a, b))
	})
	for _, id := range ids[:min(len(ids), plotted)] {
		measureChannel(g.store, id, all[id])
	}
}

// growth returns by how much a count grew. A lower one is that of a new channel of the same
// identifier.
func growth(before, now uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// plotPrefix is what the names of the series of a channel begin with. It is escaped, so that
// the channel "a" has no series of the channel "a/b".
func plotPrefix(id string) string { return "channel/" + url.PathEscape(id) + "/" }

func measureChannel(store *history.Store, id string, s annotate.Stats) {
	name := plotPrefix(id)
	store.Total(name+"received", float64(s.Received))
	store.Total(name+"published", float64(s.Published))
	store.Total(name+"failed", float64(s.Failed))
	if s.Lag != nil {
		store.Level(name+"lag", float64(*s.Lag))
	}
	bounds := make([]float64, len(s.Latency.Bounds))
	for i, bound := range s.Latency.Bounds {
		bounds[i] = bound.Seconds() * 1000
	}
	store.Distribution(name+"latency", bounds, s.Latency.Counts)
}
