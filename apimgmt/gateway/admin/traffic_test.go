package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/storage"
)

// shownTraffic is the answer of the page's history.
type shownTraffic struct {
	Prefix string
	Series map[string][]*float64
	Whole  map[string]struct{ P50, P99 float64 }
	Routes []struct {
		Key, Route string
		Requests   float64
		Client     float64 `json:"4xx"`
		P50, P99   *float64
	}
	Failures []gateway.Failure
}

func TestStore_Run_recordsTheTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		store, g := openStore(t, storage.NewMemoryDocuments())
		api, err := admin.New(admin.Config{Store: store, Authorize: byHeader})
		require.NoError(t, err)
		answering := func(name string, status string) entity.Config {
			return entity.Config{Routes: []entity.Route{{Name: name, Paths: []string{"/" + name}}},
				Plugins: []entity.Plugin{{Name: "request-termination", Route: &entity.Ref{Name: name},
					Config: json.RawMessage(`{"status_code":` + status + `}`)}}}
		}
		require.NoError(t, store.Publish(ctx, "a", answering("good", "200")))
		require.NoError(t, store.Publish(ctx, "b", answering("bad", "418")))
		done := make(chan error, 1)
		go func() { done <- store.Run(ctx) }()
		call := func(path string, n int) {
			for range n {
				g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
			}
		}
		shown := func(query string) shownTraffic {
			w := visit(api.Page(), "reader", "/history"+query, nil)
			require.Equal(t, http.StatusOK, w.Code)
			var made shownTraffic
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
			return made
		}
		sum := func(of shownTraffic, name string) (total float64) {
			for _, value := range of.Series[of.Prefix+name] {
				if value != nil {
					total += *value * 2
				}
			}
			return total
		}
		synctest.Wait()
		call("/good", 40)
		call("/bad", 10)
		call("/nowhere", 3)
		time.Sleep(5 * time.Second)
		all := shown("")
		require.Equal(t, "all/", all.Prefix)
		require.InDelta(t, 53, sum(all, "requests"), .01)
		require.InDelta(t, 13, sum(all, "4xx"), .01)
		require.Zero(t, sum(all, "5xx"))
		require.Positive(t, all.Whole["all/latency"].P99)
		require.Len(t, all.Routes, 3)
		require.Equal(t, "good", all.Routes[0].Route)
		require.NotNil(t, all.Routes[0].P50)
		require.InDelta(t, 10, all.Routes[1].Client, .01)
		require.Len(t, all.Failures, 13)
		require.Equal(t, gateway.ReasonNoRoute, all.Failures[0].Reason)
		require.Equal(t, "/nowhere", all.Failures[0].Path)
		require.Len(t, shown("?route=none").Failures, 3)
		bad := shown("?route=" + all.Routes[1].Key)
		require.Len(t, bad.Failures, 10)
		require.Equal(t, "request-termination", bad.Failures[0].Plugin)
		require.InDelta(t, 10, sum(bad, "4xx"), .01)

		// What a route had stays counted when it goes, and is not a burst.
		require.NoError(t, store.Publish(ctx, "a", entity.Config{}))
		time.Sleep(5 * time.Second)
		require.InDelta(t, 53, sum(shown(""), "requests"), .01)
		require.Len(t, shown("").Routes, 2)
		time.Sleep(11 * time.Minute)
		require.Empty(t, shown("?range=10m").Routes, "of another window")
		require.Empty(t, shown("?range=10m").Whole)
		require.Len(t, shown("?range=1h").Routes, 2)
		stop()
		require.NoError(t, <-done)
	})
}
