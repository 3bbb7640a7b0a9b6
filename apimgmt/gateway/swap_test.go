package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// watched is an upstream whose targets are asked how they are.
func watched(name string) entity.Upstream {
	return entity.Upstream{Name: name, Healthchecks: &entity.Healthchecks{Active: entity.ActiveCheck{
		Healthy: entity.Verdict{Interval: 3600, Successes: 1}, Unhealthy: entity.Verdict{Interval: 3600, HTTPFailures: 1},
	}}}
}

func TestGateway_Apply_underLoadFailsNoRequestAndLeaksNothing(t *testing.T) {
	service := newService(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	var open atomic.Int64
	stateful := gateway.Kind{Name: "stateful", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		open.Add(1)
		return gateway.Plugin{
			Head:  func(x *gateway.Exchange) { x.Response().Header.Set("X-Open", fmt.Sprint(open.Load() > 0)) },
			Close: func() error { open.Add(-1); return nil },
		}, nil
	}}
	g, err := gateway.New(&gateway.Options{AllowUpstreams: loopback(), Kinds: []gateway.Kind{stateful}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- g.Run(ctx) }()
	configAt := func(i int) entity.Config {
		s := serviceAt(t, "s", "http://pool")
		s.ReadTimeout = 60_000 + i%7 // another client each
		config := routed(s, anyPath(), entity.Plugin{Name: "stateful", InstanceName: fmt.Sprint(i % 3)})
		config.Upstreams = []entity.Upstream{watched("pool"), watched(fmt.Sprintf("pool%d", i))}
		config.Targets = []entity.Target{{Target: strings.TrimPrefix(service.URL, "http://"), Upstream: &entity.Ref{Name: "pool"}}}
		return config
	}
	require.NoError(t, g.Apply(configAt(0)))
	server := httptest.NewServer(g)
	before := runtime.NumGoroutine()

	var load sync.WaitGroup
	done := make(chan struct{})
	var requests, failures atomic.Int64
	for range 4 {
		load.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for {
				select {
				case <-done:
					return
				default:
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
				if err != nil {
					failures.Add(1)
					return
				}
				response, err := transport.RoundTrip(request)
				if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("X-Open") != "true" {
					failures.Add(1)
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				requests.Add(1)
			}
		})
	}
	for i := range 1000 {
		require.NoError(t, g.Apply(configAt(i)))
	}
	close(done)
	load.Wait()
	require.Zero(t, failures.Load())
	require.Positive(t, requests.Load())
	require.EqualValues(t, 1, open.Load(), "plugins that are served no longer are closed")

	require.NoError(t, g.Apply(configAt(0)))
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+10 }, patience, 10*time.Millisecond,
		"health checks and connections of configurations before have ended")
	stop()
	require.NoError(t, <-ran)
	server.Close()
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	require.Zero(t, open.Load())
	require.ErrorIs(t, g.Apply(entity.Config{}), gateway.ErrClosed)
}

func TestGateway_Apply_keepsPluginsOfRequestsInFlight(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	service := newService(t, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-proceed
	})
	var closed, logged atomic.Bool
	kind := gateway.Kind{Name: "slow", Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{
			Log:   func(*gateway.Exchange) { logged.Store(!closed.Load()) },
			Close: func() error { closed.Store(true); return nil },
		}, nil
	}}
	g, server := newGateway(t, gateway.Options{Kinds: []gateway.Kind{kind}})
	require.NoError(t, g.Apply(routed(serviceAt(t, "s", service.URL), anyPath(), entity.Plugin{Name: "slow"})))
	status := make(chan int)
	go func() {
		response, err := http.Get(server.URL)
		if err != nil {
			status <- 0
			return
		}
		_ = response.Body.Close()
		status <- response.StatusCode
	}()
	<-arrived
	require.NoError(t, g.Apply(entity.Config{}))
	require.False(t, closed.Load(), "a request still uses the plugin")
	close(proceed)
	require.Equal(t, http.StatusOK, <-status)
	require.Eventually(t, closed.Load, patience, time.Millisecond)
	require.True(t, logged.Load())
}
