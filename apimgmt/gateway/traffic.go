package gateway

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// traffic keeps account of what passes, by route.
type traffic struct {
	limit int // of routes with an account of their own

	mu     sync.Mutex
	routes map[string]*routeStats // by id of the route
	others map[string]*routeStats // of the routes beyond the limit, by service
	other  *routeStats            // of those without a service, or whose service is beyond the limit as well
	shared bool                   // whether a route that is served has the account other
	none   *routeStats            // of requests without a route
}

func newTraffic(limit int) *traffic {
	return &traffic{
		limit: limit, routes: map[string]*routeStats{}, others: map[string]*routeStats{},
		other: &routeStats{route: otherRoutes}, none: &routeStats{},
	}
}

// routeStats is the account of a route. All of it is counted without locks.
type routeStats struct {
	id, route, service string

	open     atomic.Int64 // requests in flight
	statuses [600]atomic.Uint32
	total    histogram // whole requests
	recent   recent    // whole requests, of the last minute
	upstream histogram // services up to the head of their response
	in, out  atomic.Uint64
	seconds  [window]second
}

const window = 64 // seconds that are cached; a power of two

// second counts the requests of one second.
type second struct {
	at    atomic.Int64 // since 1970
	count atomic.Uint32
}

// bucketBounds are the upper bounds of the buckets of histograms, in seconds.
var bucketBounds = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// histogram counts durations.
type histogram struct {
	buckets [len(bucketBounds) + 1]atomic.Uint64
	nanos   atomic.Uint64
}

func (h *histogram) observe(d time.Duration) {
	i, _ := slices.BinarySearch(bucketBounds[:], d.Seconds())
	h.buckets[i].Add(1)
	h.nanos.Add(uint64(max(d, 0)))
}

// counts are those of the buckets.
func (h *histogram) counts() counts {
	var made counts
	for i := range h.buckets {
		made[i] = h.buckets[i].Load()
	}
	return made
}

// counts are the numbers of durations in the buckets of a histogram.
type counts [len(bucketBounds) + 1]uint64

// quantile estimates the duration that a share q of all do not exceed, in seconds.
func (c *counts) quantile(q float64) float64 {
	var total uint64
	for _, n := range c {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank, seen, low := q*float64(total), 0.0, 0.0
	for i, bound := range bucketBounds {
		n := float64(c[i])
		if seen+n >= rank {
			return low + (bound-low)*(rank-seen)/math.Max(n, 1)
		}
		seen, low = seen+n, bound
	}
	return low
}

func (c *counts) quantiles() Quantiles {
	return Quantiles{P50: c.quantile(.5), P90: c.quantile(.9), P99: c.quantile(.99)}
}

// histogram returns the counts with the bounds of their buckets.
func (c *counts) histogram() Histogram {
	h := Histogram{Bounds: make([]time.Duration, len(bucketBounds)), Counts: c[:]}
	for i, bound := range bucketBounds {
		h.Bounds[i] = time.Duration(math.Round(bound * float64(time.Second)))
	}
	return h
}

// route returns the account of a route, which a route of the same id had before.
func (t *traffic) route(e *entity.Route, s *service) *routeStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, serviceName := cmp.Or(e.Name, e.ID), ""
	if s != nil {
		serviceName = cmp.Or(s.entity.Name, s.entity.ID)
	}
	stats := t.routes[e.ID]
	if stats != nil && stats.route == name && stats.service == serviceName {
		return stats
	}
	if stats == nil && len(t.routes) >= t.limit {
		return t.otherLocked(serviceName)
	}
	stats = &routeStats{id: e.ID, route: name, service: serviceName}
	t.routes[e.ID] = stats
	return stats
}

// otherLocked returns the account of the routes of a service that have none of their own.
func (t *traffic) otherLocked(service string) *routeStats {
	stats := t.others[service]
	if service == "" || (stats == nil && len(t.others) >= t.limit) {
		return t.other
	}
	if stats == nil {
		stats = &routeStats{route: otherRoutes, service: service}
		t.others[service] = stats
	}
	return stats
}

// otherRoutes is the name of the routes that are counted together.
const otherRoutes = "other"

// keep drops the routes that a table does not have.
func (t *traffic) keep(served *table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, together := make(map[string]bool, len(served.routes)), map[*routeStats]bool{}
	for _, r := range served.routes {
		kept[r.entity.ID], together[r.stats] = true, true
	}
	for id := range t.routes {
		if !kept[id] {
			delete(t.routes, id)
		}
	}
	t.shared = together[t.other]
	for service, stats := range t.others {
		if !together[stats] {
			delete(t.others, service)
		}
	}
}

func (s *routeStats) begin() { s.open.Add(1) }

// counted is the account of the request.
func (x *Exchange) counted() *routeStats {
	if x.route != nil {
		return x.route.stats
	}
	return x.gateway.traffic.none
}

// done counts a request that is over.
func (t *traffic) done(x *Exchange) {
	s := x.counted()
	if x.route != nil {
		s.open.Add(-1)
	}
	if status := x.response.Status; status > 0 && status < len(s.statuses) {
		s.statuses[status].Add(1)
	}
	if x.response.Status != 101 { // how long a tunnel is open says nothing of speed
		s.total.observe(x.timing.Total)
		s.recent.observe(x.timing.Total, x.received.Add(x.timing.Total).Unix())
	}
	if x.timing.Upstream > 0 {
		s.upstream.observe(x.timing.Upstream)
	}
	s.in.Add(uint64(x.read))
	s.out.Add(uint64(x.sent))
	now := x.received.Unix()
	slot := &s.seconds[now&(window-1)]
	if at := slot.at.Load(); at != now && slot.at.CompareAndSwap(at, now) {
		slot.count.Store(0)
	}
	slot.count.Add(1)
}

// RouteTraffic is the traffic of a route.
type RouteTraffic struct {
	// ID, Route and Service name the route and its service. Requests that no route
	// has matched have none; those of routes beyond Options.MaxMeasuredRoutes are
	// together under the route "other" of their service, and under "other" without a service
	// where they have none or there are as many such services.
	ID      string `json:"id,omitempty"`
	Route   string `json:"route,omitempty"`
	Service string `json:"service,omitempty"`
	// Requests is how many are over, Open how many are not.
	Requests uint64 `json:"requests"`
	Open     int64  `json:"open"`
	// Statuses counts the requests by status. 499 is a client that went away.
	Statuses map[int]uint64 `json:"statuses,omitempty"`
	// PerSecond is the number of requests in each of the last 60 whole seconds, the
	// oldest first.
	PerSecond []uint32 `json:"per_second,omitempty"`
	// Quantiles are those of all requests since the route is served.
	Quantiles
	// Durations counts the same requests by their duration: the difference of two counts is
	// the distribution between them.
	Durations Histogram `json:"-"`
	// Recent has the estimates for the requests that were over in the last minute. It is
	// zero if there were none.
	Recent Quantiles `json:"recent"`
	// BytesIn and BytesOut count the bodies of requests and responses.
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
}

// Histogram counts durations. Counts has a number for each bound, of durations up to it and
// above the one before, and one more for those above all. It only grows while a route is
// served. The slices are the caller's.
type Histogram struct {
	// Bounds are the upper bounds of the buckets, ascending.
	Bounds []time.Duration
	// Counts are the numbers in the buckets.
	Counts []uint64
}

// Quantiles are estimates, in seconds, of the time within which half, nine tenths and
// all but one in a hundred of the requests were answered.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// Traffic returns what has passed on each route that is served, by name, and what
// no route has matched.
func (g *Gateway) Traffic() []RouteTraffic {
	now := time.Now().Unix()
	var all []RouteTraffic
	for _, s := range g.traffic.accounts() {
		all = append(all, s.snapshot(now))
	}
	return all
}

// accounts returns the accounts that are not empty by definition, in order.
func (t *traffic) accounts() []*routeStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := []*routeStats{t.none}
	for _, s := range t.routes {
		all = append(all, s)
	}
	for _, s := range t.others {
		all = append(all, s)
	}
	if t.shared {
		all = append(all, t.other)
	}
	slices.SortFunc(all, func(a, b *routeStats) int {
		return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.route, b.route), cmp.Compare(a.id, b.id))
	})
	return all
}

func (s *routeStats) snapshot(now int64) RouteTraffic {
	total, recent := s.total.counts(), s.recent.counts(now)
	r := RouteTraffic{
		ID: s.id, Route: s.route, Service: s.service, Open: s.open.Load(),
		Quantiles: total.quantiles(), Recent: recent.quantiles(),
		BytesIn: s.in.Load(), BytesOut: s.out.Load(), PerSecond: make([]uint32, 60), Durations: total.histogram(),
	}
	for status := range s.statuses {
		if n := s.statuses[status].Load(); n > 0 {
			if r.Statuses == nil {
				r.Statuses = map[int]uint64{}
			}
			r.Statuses[status] = uint64(n)
			r.Requests += uint64(n)
		}
	}
	for i := range r.PerSecond {
		at := now - 60 + int64(i)
		if slot := &s.seconds[at&(window-1)]; slot.at.Load() == at {
			r.PerSecond[i] = slot.count.Load()
		}
	}
	return r
}
