package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// sleeper is a kind that answers after the time in the header field X-Sleep.
func sleeper() gateway.Kind {
	return gateway.Kind{Name: "sleeper", Priority: 1000, Compile: func(gateway.Setup) (gateway.Plugin, error) {
		return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer {
			d, err := time.ParseDuration(x.Request().Header.Get("X-Sleep"))
			if err != nil {
				return gateway.Refuse(http.StatusBadRequest, err.Error())
			}
			time.Sleep(d)
			return gateway.Refuse(http.StatusTeapot, "slept")
		}}, nil
	}}
}

func TestGateway_Traffic_recentIsOfTheLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := gateway.New(&gateway.Options{Kinds: []gateway.Kind{sleeper()}, AllowUpstreams: loopback()})
		require.NoError(t, err)
		defer func() { require.NoError(t, g.Close()) }()
		require.NoError(t, g.Apply(routed(serviceAt(t, "s", "http://127.0.0.1:1"), anyPath(), entity.Plugin{Name: "sleeper"})))
		ask := func(times int, d time.Duration) {
			for range times {
				request := httptest.NewRequest(http.MethodGet, "/x", nil)
				request.Header.Set("X-Sleep", d.String())
				recorder := httptest.NewRecorder()
				g.ServeHTTP(recorder, request)
				require.Equal(t, http.StatusTeapot, recorder.Code)
			}
		}
		traffic := func() gateway.RouteTraffic { return g.Traffic()[1] }
		require.Zero(t, traffic().Recent)

		ask(300, 2*time.Millisecond)
		require.InDelta(t, .002, traffic().Recent.P50, .001)

		time.Sleep(time.Minute)
		require.Zero(t, traffic().Recent, "nothing was over in the last minute")
		require.InDelta(t, .002, traffic().P50, .001, "what is of all time stays")

		ask(20, 400*time.Millisecond)
		require.InDelta(t, .4, traffic().Recent.P50, .15, "300 fast requests before the minute do not count")
		require.InDelta(t, .002, traffic().P50, .001)

		time.Sleep(40 * time.Second)
		require.InDelta(t, .4, traffic().Recent.P50, .15, "they are still of the last minute")
		ask(1, 90*time.Second)
		require.GreaterOrEqual(t, traffic().Recent.P50, 60., "a request counts when it is over")

		time.Sleep(100 * time.Hour) // the slots take many turns
		require.Zero(t, traffic().Recent)
		ask(3, 2*time.Millisecond)
		require.InDelta(t, .002, traffic().Recent.P99, .001)
	})
}
