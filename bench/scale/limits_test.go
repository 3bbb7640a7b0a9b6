package scale_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/storage"
)

// A rate limit that gateways share costs one write a second for each caller and gateway, however
// many calls there are, and with several gateways one read as well.
func TestLimits_writeOnceASecondForEachCallerAndGateway(t *testing.T) {
	heading("Rate limits that gateways share, far from the limit: a second of virtual time",
		"gateways", "callers", "calls", "writes", "refused, of them", "reads")
	for _, size := range sizes([][3]int{{1, 10, 4}, {1, 10, 40}, {3, 10, 4}},
		[][3]int{{1, 100, 4}, {1, 1000, 4}, {3, 100, 4}, {10, 100, 4}, {30, 100, 4}}) {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { limitTrial(t, size[0], size[1], size[2]) })
		})
	}
}

func limitTrial(t *testing.T, gateways, callers, callsEach int) {
	counted := &meter{delay: answer}
	documents := counted.documents(storage.NewMemoryDocuments())
	ctx, stop := context.WithCancel(t.Context())
	var all []*gateway.Gateway
	for i := range gateways {
		counts, err := plugin.NewCounts(plugin.CountsConfig{Documents: documents})
		require.NoError(t, err)
		g, err := gateway.New(&gateway.Options{Kinds: plugin.SharedKinds(plugin.Options{Counts: counts})})
		require.NoError(t, err)
		config := entity.Config{Routes: []entity.Route{{Name: "r", Paths: []string{"/"}}}, Plugins: []entity.Plugin{
			{Name: "rate-limiting", Config: []byte(`{"hour":100000000,"policy":"cluster","limit_by":"ip"}`)},
			{Name: "request-termination", Config: []byte(`{"status_code":200}`)},
		}}
		require.NoError(t, g.Apply(config))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			time.Sleep(time.Duration(i) * time.Second / time.Duration(gateways)) // they do not start at the same moment
			_ = counts.Run(ctx)
		}()
		defer func() {
			<-ended
			require.NoError(t, g.Close())
		}()
		all = append(all, g)
	}
	defer stop()
	second := func() {
		began := time.Now()
		for range callsEach {
			for caller := range callers {
				for _, g := range all {
					request := httptest.NewRequest(http.MethodGet, "/", nil)
					request.RemoteAddr = fmt.Sprintf("10.%d.%d.1:4000", caller/250, caller%250)
					g.ServeHTTP(httptest.NewRecorder(), request)
				}
			}
			time.Sleep(time.Second / time.Duration(callsEach+1))
		}
		time.Sleep(time.Second - time.Since(began))
	}
	for range 5 {
		second()
	}
	const span = 20
	began := counted.read()
	for range span {
		second()
	}
	rate := counted.read().minus(began).over(span)
	require.InEpsilon(t, float64(gateways*callers), rate.writes-rate.refused, 0.1)
	require.LessOrEqual(t, rate.refused, rate.writes/5)
	row(gateways, callers, gateways*callers*callsEach, rate.writes, percent(rate.refused/rate.writes), rate.gets)
}
