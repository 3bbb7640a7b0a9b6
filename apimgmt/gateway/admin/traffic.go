package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/internal/history"
)

// plotted is the number of routes that are recorded by themselves: the busiest. Those that were before
// them are kept as long as there is space for twice as many.
const plotted = 20

// The series of everything begin with allSeries, those of a route with routeSeries, its key
// and a slash.
const (
	allSeries   = "all/"
	routeSeries = "route/"
)

// classes are the classes of statuses that are recorded.
var classes = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// recorder records the traffic of a gateway for plots. One goroutine measures.
type recorder struct {
	gateway *gateway.Gateway
	history *history.Store

	routes map[string]*recorded // by key, of the last measurement
	total  tally                // of all routes, also of those that are gone
}

// recorded is what a route had at the last measurement.
type recorded struct {
	tally
	before   tally   // at the measurement before
	activity float64 // requests, the recent ones counting most
	shown    bool    // whether it is in the history
}

// tally counts requests.
type tally struct {
	requests  uint64
	classes   [len(classes)]uint64
	durations gateway.Histogram
}

func newRecorder(g *gateway.Gateway) *recorder {
	const each, common = 4, len(classes) + 3 // series of a route, and of all
	return &recorder{gateway: g, routes: map[string]*recorded{},
		history: history.New(&history.Options{MaxSeries: 2*plotted*each + common})}
}

// run measures until ctx ends.
func (r *recorder) run(ctx context.Context) {
	tick := time.NewTicker(history.Step)
	defer tick.Stop()
	for {
		r.measure()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// noRoute is the key of the requests that no route has matched.
const noRoute = "none"

// trafficKey names a route in the history: by its id, by "other" and the service for those that are counted
// together, or by noRoute.
func trafficKey(t gateway.RouteTraffic) string {
	if t.ID == "" && t.Service != "" {
		return t.Route + ":" + t.Service
	}
	return cmp.Or(t.ID, t.Route, noRoute)
}

// measure records the counts of now: of all routes together, and of the busiest ones.
func (r *recorder) measure() {
	all, open := r.gateway.Traffic(), int64(0)
	routes, keys := make(map[string]*recorded, len(all)), make([]string, 0, len(all))
	for _, t := range all {
		key := trafficKey(t)
		open += t.Open
		one := &recorded{tally: newTally(t)}
		before := r.routes[key]
		if before == nil {
			before = &recorded{}
			before.durations = gateway.Histogram{Bounds: t.Durations.Bounds, Counts: make([]uint64, len(t.Durations.Counts))}
		}
		one.before = before.tally
		growth := one.since(before.tally)
		one.activity, one.shown = .99*before.activity+float64(growth.requests), before.shown
		if t.ID == "" && t.Route == "" {
			growth.durations = gateway.Histogram{} // what no route has matched says nothing of speed
		}
		r.total.add(growth)
		routes[key] = one
		if one.requests > 0 {
			keys = append(keys, key)
		}
	}
	for key, before := range r.routes {
		if routes[key] == nil && before.shown {
			r.history.Forget(routeSeries + key + "/")
		}
	}
	r.routes = routes
	r.history.Level(allSeries+"open", float64(open))
	r.history.Total(allSeries+"requests", float64(r.total.requests))
	for i, class := range classes {
		r.history.Total(allSeries+class, float64(r.total.classes[i]))
	}
	r.distribution(allSeries, r.total.durations)
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(routes[b].activity, routes[a].activity), strings.Compare(a, b))
	})
	for _, key := range keys[:min(len(keys), plotted)] {
		if one := routes[key]; !one.shown {
			r.show(key, one.before) // so that its first requests count as growth
			one.shown = true
		}
		r.show(key, routes[key].tally)
	}
}

// show records the counts of a route.
func (r *recorder) show(key string, t tally) {
	name := routeSeries + key + "/"
	r.history.Total(name+"requests", float64(t.requests))
	r.history.Total(name+"4xx", float64(t.classes[3]))
	r.history.Total(name+"5xx", float64(t.classes[4]))
	r.distribution(name, t.durations)
}

// distribution records durations in milliseconds.
func (r *recorder) distribution(name string, h gateway.Histogram) {
	if len(h.Counts) == 0 {
		return
	}
	bounds := make([]float64, len(h.Bounds))
	for i, bound := range h.Bounds {
		bounds[i] = float64(bound) / float64(time.Millisecond)
	}
	r.history.Distribution(name+"latency", bounds, h.Counts)
}

func newTally(t gateway.RouteTraffic) tally {
	made := tally{requests: t.Requests, durations: t.Durations}
	for status, n := range t.Statuses {
		made.classes[min(max(status/100, 1), len(classes))-1] += n
	}
	return made
}

// since returns what was counted after another tally of the same route. One that counts
// less is a new beginning.
func (t tally) since(before tally) tally {
	if t.requests < before.requests {
		before = tally{}
	}
	made := tally{requests: t.requests - before.requests, durations: gateway.Histogram{Bounds: t.durations.Bounds,
		Counts: slices.Clone(t.durations.Counts)}}
	for i := range made.classes {
		made.classes[i] = t.classes[i] - min(t.classes[i], before.classes[i])
	}
	for i, n := range before.durations.Counts {
		made.durations.Counts[i] -= min(made.durations.Counts[i], n)
	}
	return made
}

func (t *tally) add(growth tally) {
	t.requests += growth.requests
	for i, n := range growth.classes {
		t.classes[i] += n
	}
	if len(t.durations.Counts) == 0 {
		t.durations = gateway.Histogram{Bounds: growth.durations.Bounds, Counts: make([]uint64, len(growth.durations.Counts))}
	}
	for i, n := range growth.durations.Counts {
		t.durations.Counts[i] += n
	}
}
