package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// logBuffer keeps the log lines of several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestGateway_Traffic_countsByRoute(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(body) == 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write(append(body, body...))
	})
	registry := prometheus.NewRegistry()
	g, server := newGateway(t, gateway.Options{Registerer: registry})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), entity.Route{Paths: []string{"/in"}})))
	for range 3 {
		do(t, http.MethodPost, server.URL+"/in", "12345")
	}
	do(t, http.MethodGet, server.URL+"/in", "")
	do(t, http.MethodGet, server.URL+"/out", "")
	server.Close() // waits until all requests are counted
	all := g.Traffic()
	require.Len(t, all, 2)
	none, route := all[0], all[1]
	require.EqualValues(t, 4, route.Requests)
	require.EqualValues(t, 1, none.Requests)
	require.Zero(t, route.Open)
	require.Equal(t, "route", route.Route)
	require.Equal(t, "s", route.Service)
	require.Equal(t, map[int]uint64{200: 3, 418: 1}, route.Statuses)
	require.Equal(t, map[int]uint64{404: 1}, none.Statuses)
	require.EqualValues(t, 15, route.BytesIn)
	require.EqualValues(t, 30, route.BytesOut)
	require.Positive(t, route.P50)
	require.GreaterOrEqual(t, route.P99, route.P50)
	require.Len(t, route.PerSecond, 60)

	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := f.GetName()
			for _, label := range m.Label {
				key += " " + label.GetValue()
			}
			values[key] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	require.EqualValues(t, 3, values["gateway_requests_total route s 200"])
	require.EqualValues(t, 4, values["gateway_request_duration_seconds route s"])
	require.EqualValues(t, 4, values["gateway_upstream_duration_seconds route s"])
	require.EqualValues(t, 30, values["gateway_body_bytes_total out route s"])

	require.NoError(t, g.Apply(entity.Config{}))
	require.Len(t, g.Traffic(), 1, "routes that are gone are forgotten")
}

func TestGateway_Traffic_boundsTheNumberOfSeries(t *testing.T) {
	g, server := newGateway(t, gateway.Options{MaxMeasuredRoutes: 2})
	var config entity.Config
	for i := range 12 {
		name := fmt.Sprint("s", i%4)
		if i < 4 {
			config.Services = append(config.Services, serviceAt(t, name, "http://127.0.0.1:1"))
		}
		config.Routes = append(config.Routes, entity.Route{Name: fmt.Sprint("r", i),
			Paths: []string{fmt.Sprintf("/r%d", i)}, Service: &entity.Ref{Name: name}})
	}
	require.NoError(t, g.Apply(config))
	for i := range 12 {
		do(t, http.MethodGet, fmt.Sprintf("%s/r%d", server.URL, i), "")
	}
	all, total, others := g.Traffic(), uint64(0), map[string]uint64{}
	for _, r := range all {
		total += r.Requests
		if r.Route == "other" {
			others[r.Service] = r.Requests
		}
	}
	require.Len(t, all, 6, "none, two routes, the others of two services, and the others")
	require.EqualValues(t, 12, total)
	require.Len(t, others, 3)
	failed := map[string]uint64{}
	for _, f := range g.Failures() {
		if f.Account.Route == "other" {
			failed[f.Account.Service]++
		}
	}
	require.Equal(t, others, failed, "failures have the accounts of the requests")
	require.EqualValues(t, 10, others[""]+others["s0"]+others["s1"]+others["s2"]+others["s3"])
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(g.Metrics()))
	_, err := registry.Gather()
	require.NoError(t, err)

	for i := range config.Routes {
		config.Routes[i].Service = nil
	}
	require.NoError(t, g.Apply(config))
	require.Len(t, g.Traffic(), 4, "none, two routes, and the others without a service")
	_, err = registry.Gather()
	require.NoError(t, err)
	config.Routes = config.Routes[:2]
	require.NoError(t, g.Apply(config))
	server.Close()
	require.Len(t, g.Traffic(), 3, "accounts of routes that are gone are forgotten")
}

func TestGateway_accessLogHasNoSecrets(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Set-Cookie", "sid=secret-cookie") })
	var lines logBuffer
	logger := slog.New(slog.NewJSONHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g, server := newGateway(t, gateway.Options{AccessLog: logger, Logger: logger})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath())))
	do(t, http.MethodPost, server.URL+"/a?apikey=secret-query", "secret-body", "Authorization: Bearer secret-token",
		"Cookie: sid=secret-cookie")
	server.Close() // waits until the request is logged
	require.NotContains(t, lines.String(), "secret")
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines.String()), &line))
	require.Equal(t, "/a", line["path"])
	require.Equal(t, "route", line["route"])
	require.EqualValues(t, 200, line["status"])
	require.Equal(t, "127.0.0.1", line["client"])
}

func TestGateway_Health_isShownAndSet(t *testing.T) {
	var ill sync.Map
	handler := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if _, is := ill.Load(name); is {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(w, name)
		}
	}
	a, b := newService(t, handler("a")), newService(t, handler("b"))
	g, server := newGateway(t, gateway.Options{})
	config := routed(serviceAt(t, "s", "http://pool"), anyPath())
	config.Upstreams = []entity.Upstream{{Name: "pool", Healthchecks: &entity.Healthchecks{Passive: entity.PassiveCheck{
		Unhealthy: entity.Verdict{HTTPStatuses: []int{500}, HTTPFailures: 1},
	}}}}
	for _, s := range []string{a.URL, b.URL} {
		config.Targets = append(config.Targets, entity.Target{Target: strings.TrimPrefix(s, "http://"), Upstream: &entity.Ref{Name: "pool"}})
	}
	require.NoError(t, g.Apply(config))
	ill.Store("a", true)
	seen := map[int]int{}
	for range 10 {
		response, _ := do(t, http.MethodGet, server.URL, "")
		seen[response.StatusCode]++
	}
	require.Equal(t, map[int]int{200: 9, 500: 1}, seen, "passive checks take a target out")
	health, err := g.Health("pool")
	require.NoError(t, err)
	require.Len(t, health, 2)
	for _, h := range health {
		require.Equal(t, h.Target == strings.TrimPrefix(b.URL, "http://"), h.Healthy)
	}
	ill.Delete("a")
	require.NoError(t, g.SetHealth("pool", strings.TrimPrefix(a.URL, "http://"), true))
	bodies := map[string]bool{}
	for range 4 {
		_, body := do(t, http.MethodGet, server.URL, "")
		bodies[body] = true
	}
	require.Equal(t, map[string]bool{"a": true, "b": true}, bodies)
	require.ErrorIs(t, g.SetHealth("pool", "x:1", true), gateway.ErrNotFound)
	_, err = g.Health("other")
	require.ErrorIs(t, err, gateway.ErrNotFound)
}

func TestGateway_activeChecksProbeTheTargets(t *testing.T) {
	asked := make(chan string, 1)
	service := newService(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Method + " " + r.URL.Path + " " + r.Header.Get("X-Probe"):
		default: // the first is enough
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	g, _ := newGateway(t, gateway.Options{})
	config := routed(serviceAt(t, "s", "http://pool"), anyPath())
	config.Upstreams = []entity.Upstream{{Name: "pool", Healthchecks: &entity.Healthchecks{Active: entity.ActiveCheck{
		Timeout: 30, HTTPPath: "/healthz", Headers: map[string][]string{"X-Probe": {"1"}},
		Healthy: entity.Verdict{Interval: 0.01}, Unhealthy: entity.Verdict{HTTPStatuses: []int{500}, HTTPFailures: 1},
	}}}}
	config.Targets = []entity.Target{{Target: strings.TrimPrefix(service.URL, "http://"), Upstream: &entity.Ref{Name: "pool"}}}
	require.NoError(t, g.Apply(config))
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	require.Equal(t, "GET /healthz 1", <-asked)
	require.Eventually(t, func() bool {
		health, err := g.Health("pool")
		return err == nil && !health[0].Healthy
	}, patience, time.Millisecond)
	stop()
	require.NoError(t, <-ran)
}
