package node_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/storage"
)

// slowly runs a node whose plane takes its time for the first state, sends it a change
// at once, and returns the answer.
func slowly(t *testing.T, takes time.Duration, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	p := nodetest.NewPlane("wlan0")
	p.Before = func(multilink.State) error {
		time.Sleep(takes) // of the bubble's clock
		takes = 0
		return nil
	}
	n, err := node.Open(t.Context(), nodetest.NewConfig(node.Server, p, storage.NewMemoryDocuments()).Config)
	require.NoError(t, err)
	handler, err := rest.NewHandler(n, &rest.HandlerOptions{Token: nodetest.Token})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	synctest.Wait()
	select {
	case <-n.Ready():
		require.Fail(t, "ready before the plane has answered")
	default:
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+nodetest.Token)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	stop()
	require.NoError(t, <-done)
	return w
}

func TestNode_change_waitsForTheStart(t *testing.T) {
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/interfaces/add", `{"name":"wlan0","endpoint":"192.0.2.1:1"}`},
		{"PUT", "/bond", `{"policy":"redundant"}`},
		{"POST", "/bond/switch", `{"link":""}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := slowly(t, 9*time.Second, c.method, c.path, c.body)
			require.Less(t, w.Code, 300, w.Body)
		})
	}
}

func TestNode_change_givesUpWaitingForTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := slowly(t, 25*time.Second, "PUT", "/bond", `{"policy":"redundant"}`)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		var problem map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
		require.Equal(t, "the instance is starting", problem["detail"])
		require.Equal(t, "2", w.Header().Get("Retry-After"))
		require.Equal(t, 25*time.Second, time.Since(began), "until it has started, it cannot end")
	})
}
