package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// heap is what is in use after everything that can go has gone.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// publication is an API of its own: a service over an upstream, five routes, a
// consumer with a key, and plugins.
func publication(t testing.TB, n, version int, target string) entity.Config {
	t.Helper()
	name := fmt.Sprintf("api-%d", n)
	s := serviceAt(t, name, "http://"+name+".upstream")
	s.ReadTimeout = 60_000 + n%50 // other connections than its neighbours
	c := entity.Config{
		Services:  []entity.Service{s},
		Upstreams: []entity.Upstream{watched(name + ".upstream")},
		Targets:   []entity.Target{{Target: target, Upstream: &entity.Ref{Name: name + ".upstream"}}},
		Consumers: []entity.Consumer{{Username: name}},
		Keys:      []entity.Key{{Key: "key-of-" + name, Consumer: &entity.Ref{Name: name}}},
	}
	for i := range 5 {
		route := entity.Route{Name: fmt.Sprint(name, "-", i),
			Paths: []string{fmt.Sprintf(`~/%s/v%d/things%d/(?<id>[^#?/]+)$`, name, version, i)}, Service: &entity.Ref{Name: name}}
		c.Routes = append(c.Routes, route)
		c.Plugins = append(c.Plugins, entity.Plugin{Name: "key-auth", Route: &entity.Ref{Name: route.Name}})
	}
	return c
}

// with adds a configuration to another.
func with(c, more entity.Config) entity.Config {
	c.Services, c.Routes, c.Plugins = append(c.Services, more.Services...), append(c.Routes,
		more.Routes...), append(c.Plugins, more.Plugins...)
	c.Upstreams, c.Targets = append(c.Upstreams, more.Upstreams...), append(c.Targets, more.Targets...)
	c.Consumers, c.Keys = append(c.Consumers, more.Consumers...), append(c.Keys, more.Keys...)
	return c
}

// without removes a publication.
func without(c entity.Config, n int) entity.Config {
	name := fmt.Sprintf("api-%d", n)
	ids := map[string]bool{}
	for _, r := range c.Routes {
		if strings.HasPrefix(r.Name, name+"-") {
			ids[r.ID] = true
		}
	}
	for _, one := range c.Consumers {
		if one.Username == name {
			ids[one.ID] = true
		}
	}
	for _, u := range c.Upstreams {
		if u.Name == name+".upstream" {
			ids[u.ID] = true
		}
	}
	c.Services = slices.DeleteFunc(c.Services, func(s entity.Service) bool { return s.Name == name })
	c.Routes = slices.DeleteFunc(c.Routes, func(r entity.Route) bool { return ids[r.ID] })
	c.Plugins = slices.DeleteFunc(c.Plugins, func(p entity.Plugin) bool { return p.Route != nil && ids[p.Route.ID] })
	c.Upstreams = slices.DeleteFunc(c.Upstreams, func(u entity.Upstream) bool { return ids[u.ID] })
	c.Targets = slices.DeleteFunc(c.Targets, func(t entity.Target) bool { return ids[t.Upstream.ID] })
	c.Consumers = slices.DeleteFunc(c.Consumers, func(one entity.Consumer) bool { return ids[one.ID] })
	c.Keys = slices.DeleteFunc(c.Keys, func(k entity.Key) bool { return ids[k.Consumer.ID] })
	return c
}

func TestGateway_Replace_underLoadFailsNoRequestAndLeaksNothing(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	target := strings.TrimPrefix(service.URL, "http://")
	g, server := newGateway(t, gateway.Options{})
	require.NoError(t, g.Apply(routed(serviceAt(t, "steady", service.URL), entity.Route{Paths: []string{"/steady"}})))

	var load sync.WaitGroup
	done := make(chan struct{})
	var requests, failures atomic.Int64
	for range 2 {
		load.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for {
				select {
				case <-done:
					return
				default:
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/steady", nil)
				if err != nil {
					failures.Add(1)
					return
				}
				requests.Add(1)
				response, err := transport.RoundTrip(request)
				if err != nil {
					failures.Add(1)
					continue
				}
				body, err := io.ReadAll(response.Body)
				if _ = response.Body.Close(); err != nil || response.StatusCode != http.StatusOK || string(body) != "ok" {
					failures.Add(1)
				}
			}
		})
	}
	publish := func(n int) {
		require.NoError(t, g.Update(func(c entity.Config) (entity.Config, error) { return with(c, publication(t, n, 1, target)), nil }))
		if n%20 == 0 { // it is there at once, and needs its key
			response, _ := do(t, http.MethodGet, fmt.Sprintf("%s/api-%d/v1/things3/7", server.URL, n), "")
			require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			response, body := do(t, http.MethodGet, fmt.Sprintf("%s/api-%d/v1/things3/7", server.URL, n), "",
				fmt.Sprintf("apikey: key-of-api-%d", n))
			require.Equal(t, "200 ok", fmt.Sprint(response.StatusCode, " ", body))
		}
		require.NoError(t, g.Update(func(c entity.Config) (entity.Config, error) {
			return with(without(c, n), publication(t, n, 2, target)), nil
		}))
		require.NoError(t, g.Update(func(c entity.Config) (entity.Config, error) { return without(c, n), nil }))
	}
	for n := range 100 {
		publish(n)
	}
	before := heap()
	for n := range 1000 {
		publish(100 + n)
	}
	grown := heap() - before
	close(done)
	load.Wait()
	require.Zero(t, failures.Load(), "of %d requests", requests.Load())
	require.Positive(t, requests.Load())
	require.Less(t, grown, int64(2<<20), "bytes more after 1000 publications, each updated and deleted")
	t.Logf("%d requests, heap %+d KiB of %d KiB", requests.Load(), grown>>10, before>>10)

	config, _ := g.Config()
	require.Len(t, config.Routes, 1)
	require.Len(t, g.Traffic(), 2, "the route that is left, and requests without one")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() < 60 }, patience, 10*time.Millisecond)
}
