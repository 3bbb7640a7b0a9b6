package manager

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/history"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// plotted is how many channels have plots of their own: the busiest.
const plotted = 50

// watch records the counts of the channels for the plots, until ctx ends.
func (m *Manager) watch(ctx context.Context) {
	tick := time.NewTicker(history.Step)
	defer tick.Stop()
	for {
		m.measure()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// measure records the counts of now: those of all channels together, and those of the
// busiest ones.
func (m *Manager) measure() {
	all := m.Stats()
	var received, published, failed uint64
	ids := make([]string, 0, len(all))
	for id, s := range all {
		received, published, failed = received+s.Received, published+s.Published, failed+s.Failed
		ids = append(ids, id)
	}
	m.history.Total("all/received", float64(received))
	m.history.Total("all/published", float64(published))
	m.history.Total("all/failed", float64(failed))
	slices.SortFunc(ids, func(a, b string) int {
		if x, y := all[a].Received, all[b].Received; x != y {
			return compareMore(x, y)
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids[:min(len(ids), plotted)] {
		measureChannel(m.history, id, all[id])
	}
}

func compareMore(x, y uint64) int {
	if x > y {
		return -1
	}
	return 1
}

func measureChannel(store *history.Store, id string, s annotate.Stats) {
	name := "channel/" + id + "/"
	store.Total(name+"received", float64(s.Received))
	store.Total(name+"published", float64(s.Published))
	store.Total(name+"failed", float64(s.Failed))
	if s.HasLag {
		store.Level(name+"lag", float64(s.Lag))
	}
	bounds := make([]float64, len(s.Latency.Bounds))
	for i, bound := range s.Latency.Bounds {
		bounds[i] = bound.Seconds() * 1000
	}
	store.Distribution(name+"latency", bounds, s.Latency.Counts)
}

// history answers with the plots of all channels, or of one.
func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	prefix := "all/"
	if id := q.Get("channel"); id != "" {
		prefix = "channel/" + id + "/"
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, p.manager.history.Query(prefix, q.Get("range")))
}

// countText writes a number with a comma before every three digits.
func countText(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var text strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			text.WriteByte(',')
		}
		text.WriteRune(digit)
	}
	return text.String()
}
