package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/internal/httpapi"
)

const (
	streamTime   = 10 * time.Minute // after which a browser connects again
	streamRoutes = 50               // in each event, the busiest
)

// moment is the traffic of all routes at one time.
type moment struct {
	At        int64                  `json:"at"`         // seconds since 1970
	PerSecond []uint32               `json:"per_second"` // requests in each of the last 60 seconds
	Statuses  [6]uint64              `json:"statuses"`   // requests ever, by the first digit of the status
	Open      int64                  `json:"open"`
	Routes    []routeMoment          `json:"routes"`
	Health    map[string]*poolHealth `json:"health"`
}

type routeMoment struct {
	Route    string    `json:"route"`
	Service  string    `json:"service"`
	Rate     float64   `json:"rate"` // requests a second, over the last 10
	Requests uint64    `json:"requests"`
	Open     int64     `json:"open"`
	P50      float64   `json:"p50"` // seconds, over the last minute, as P99 is
	P99      float64   `json:"p99"`
	Statuses [6]uint64 `json:"statuses"`
}

// poolHealth is the health of the targets of an upstream.
type poolHealth struct {
	Targets map[string]string `json:"targets"`
}

func momentOf(all []gateway.RouteTraffic, now time.Time) moment {
	m := moment{At: now.Unix(), PerSecond: make([]uint32, 60), Routes: []routeMoment{}, Health: map[string]*poolHealth{}}
	for _, t := range all {
		r := routeMoment{Route: cmp.Or(t.Route, "no route"), Service: t.Service, Requests: t.Requests, Open: t.Open,
			P50: t.Recent.P50, P99: t.Recent.P99}
		for status, n := range t.Statuses {
			class := min(max(status/100, 0), 5)
			r.Statuses[class] += n
			m.Statuses[class] += n
		}
		for i, n := range t.PerSecond {
			m.PerSecond[i] += n
			if i >= len(t.PerSecond)-10 {
				r.Rate += float64(n) / 10
			}
		}
		m.Open += t.Open
		if t.Requests > 0 || t.Open > 0 {
			m.Routes = append(m.Routes, r)
		}
	}
	slices.SortStableFunc(m.Routes, func(a, b routeMoment) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Route, b.Route))
	})
	m.Routes = m.Routes[:min(len(m.Routes), streamRoutes)]
	return m
}

// moment is the traffic of all routes now, with the health of all targets.
func (p *pages) moment() moment {
	m := momentOf(p.store.gateway.Traffic(), time.Now())
	now := p.store.state.Load()
	for i := range now.config.Upstreams {
		u, pool := &now.config.Upstreams[i], &poolHealth{Targets: map[string]string{}}
		for _, t := range p.store.healthOf(&now.config, u) {
			pool.Targets[t.Target] = t.Health
		}
		m.Health[u.Name] = pool
	}
	return m
}

// traffic answers with a stream of events: a moment each second, as long as the login
// session lasts.
func (p *pages) traffic(w http.ResponseWriter, r *http.Request, _ session) error {
	release, err := p.streams.Take()
	if err != nil {
		return err
	}
	defer release()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	stream := httpapi.NewEventStream(w)
	if r.Method == http.MethodHead {
		return nil
	}
	stream.Begin()
	tick, end := time.NewTicker(time.Second), time.NewTimer(streamTime)
	defer tick.Stop()
	defer end.Stop()
	for {
		if err := stream.Event("message", "", p.moment()); err != nil {
			return fmt.Errorf("write traffic: %w", err)
		}
		if err := stream.Flush(); err != nil {
			return nil // the client has closed the connection
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-end.C:
			return nil
		case <-tick.C:
		}
		if _, ok := p.admin.find(secretOf(r), false); !ok {
			return nil
		}
	}
}
