package admin

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/internal/history"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// trafficPlot is what the page of the traffic draws: the history of everything, or of one
// route, over a range.
type trafficPlot struct {
	history.Plot
	// Prefix is the prefix of the names of the series.
	Prefix string `json:"prefix"`
	// Routes are those that were the busiest, with what they had in the range.
	Routes []routeWindow `json:"routes"`
	// Failures are the last requests that have failed, of everything or of the route, the latest first.
	Failures []gateway.Failure `json:"failures"`
	// Health has the state of the targets of upstreams, by the names of both.
	Health map[string]map[string]string `json:"health"`
}

// routeWindow is what a route had in a range.
type routeWindow struct {
	Key      string   `json:"key"`
	Route    string   `json:"route"` // its name
	Service  string   `json:"service"`
	Requests float64  `json:"requests"`
	Rate     float64  `json:"rate"` // requests per second, over the last ten
	Client   float64  `json:"4xx"`
	Server   float64  `json:"5xx"`
	P50      *float32 `json:"p50"` // milliseconds, null without a request, as P99 is
	P99      *float32 `json:"p99"`
}

// shownUpstreams is the number of upstreams that the page of the traffic lists.
const shownUpstreams = 50

// history answers with the plots of a range.
func (p *pages) history(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	key := q.Get("route")
	made := trafficPlot{Prefix: allSeries, Failures: p.failures(key), Health: map[string]map[string]string{}}
	if key != "" {
		made.Prefix = routeSeries + key + "/"
	}
	made.Plot = p.store.traffic.history.Query(made.Prefix, q.Get("range"))
	made.Routes = p.windows(p.store.traffic.history.Query(routeSeries, q.Get("range")))
	config := p.store.state.Load().config
	targets := groupTargets(&config)
	for i := range config.Upstreams[:min(len(config.Upstreams), shownUpstreams)] {
		u, health := &config.Upstreams[i], map[string]string{}
		for _, t := range p.store.healthOfTargets(u, targets[u.ID]) {
			health[t.Target] = t.Health
		}
		made.Health[u.Name] = health
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, made)
}

// shownFailures is the number of failed requests that the page of the traffic lists.
const shownFailures = 50

// failures returns the last requests that have failed: all, or those of a route.
func (p *pages) failures(key string) []gateway.Failure {
	shown := []gateway.Failure{}
	for _, f := range p.store.gateway.Failures() {
		if (key == "" || trafficKey(f.Account) == key) && len(shown) < shownFailures {
			shown = append(shown, f)
		}
	}
	return shown
}

// windows sums up the series of routes, the busiest first. Routes without a request in the
// range are left out.
func (p *pages) windows(plot history.Plot) []routeWindow {
	made := []routeWindow{}
	for _, t := range p.store.gateway.Traffic() {
		w := routeWindow{Key: trafficKey(t), Route: cmp.Or(t.Route, "no route"), Service: t.Service}
		name := routeSeries + w.Key + "/"
		sum := func(series string) float64 {
			total := 0.0
			for _, value := range plot.Series[name+series] {
				if value != nil {
					total += float64(*value) * plot.Step
				}
			}
			return total
		}
		if w.Requests = sum("requests"); w.Requests <= 0 {
			continue
		}
		w.Client, w.Server = sum("4xx"), sum("5xx")
		for _, n := range t.PerSecond[max(len(t.PerSecond)-10, 0):] {
			w.Rate += float64(n) / 10
		}
		if q, ok := plot.Whole[name+"latency"]; ok {
			w.P50, w.P99 = &q.P50, &q.P99
		}
		made = append(made, w)
	}
	slices.SortStableFunc(made, func(a, b routeWindow) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), strings.Compare(a.Route, b.Route))
	})
	return made
}

// overviewView is the page of the traffic.
type overviewView struct {
	frame
	// Route is the key of the route that the page is about, and Name its name. Both are
	// empty for everything.
	Route, Name string
	// Known reports that the key is that of one route, which has settings.
	Known bool
	// Empty reports that the gateway serves nothing.
	Empty     bool
	Upstreams []upstreamView
	// More is the number of upstreams that are not listed.
	More int
}

type upstreamView struct {
	ID, Name string
	Targets  []targetHealth
}

// overview shows the traffic and the health of the upstreams.
func (p *pages) overview(w http.ResponseWriter, r *http.Request) error {
	config, err := p.loadConfig(r.Context())
	if err != nil {
		return err
	}
	v := overviewView{frame: p.frame(r, "Gateway", ""), Empty: len(config.Routes) == 0}
	if v.Route = r.URL.Query().Get("route"); v.Route != "" {
		v.Name = v.Route
		if found, ok := tableFor("route").find(config, v.Route); ok {
			v.Name, v.Known = found.label(), true
		}
		v.frame = p.frame(r, "Traffic of "+v.Name, "", gatewayCrumb())
		return p.part.Show(w, r, http.StatusOK, "overview.html", &v)
	}
	targets := groupTargets(config)
	v.More = max(len(config.Upstreams)-shownUpstreams, 0)
	for i := range config.Upstreams[:len(config.Upstreams)-v.More] {
		u := &config.Upstreams[i]
		v.Upstreams = append(v.Upstreams, upstreamView{ID: u.ID, Name: u.Name, Targets: p.store.healthOfTargets(u, targets[u.ID])})
	}
	return p.part.Show(w, r, http.StatusOK, "overview.html", &v)
}
