package tour_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/cmd/internal/demo/tour"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/storage"
)

// patience is how long a test waits for what must happen. It ends a test that hangs.
const patience = time.Minute

func TestModels_keepsTheLastVersions(t *testing.T) {
	store, err := modelrepo.New(modelrepo.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	require.NoError(t, err)
	at := modelrepo.Path{Namespace: tour.Namespace, Model: tour.Model}
	number := 0
	for range 2 { // the second time it finds what is there
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- tour.Models(ctx, store, time.Millisecond) }()
		want := number + 8
		require.Eventually(t, func() bool {
			model, err := store.Model(t.Context(), at, nil)
			if err == nil && model.LatestVersion != "" {
				number, err = strconv.Atoi(strings.TrimPrefix(model.LatestVersion, "1."))
			}
			return err == nil && number >= want
		}, patience, time.Millisecond)
		cancel()
		require.NoError(t, <-done)
		model, err := store.Model(t.Context(), at, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(model.Versions.Items), tour.KeptVersions+1, "one may be under way")
	}
}

func TestLinks_cutsALinkAndLeavesItInOrder(t *testing.T) {
	m, err := pair.NewMemory()
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.NoError(t, tour.Links(ctx, m.Network, func() string { return m.Links[0].Name }, 20*time.Millisecond))
	require.Error(t, tour.Links(t.Context(), m.Network, func() string { return "nix0" }, time.Millisecond))
}

func TestCalls_callsThroughTheGatewayAndRemovesTheAPI(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback})
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	entities, err := admin.Open(t.Context(), admin.StoreConfig{Gateway: g, Documents: storage.NewMemoryDocuments()})
	require.NoError(t, err)
	var fine, failed atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, r)
		if recorder.Code < 400 {
			fine.Add(1)
		} else {
			failed.Add(1)
		}
		w.WriteHeader(recorder.Code)
	}))
	defer front.Close()
	publisher, err := apimgmt.NewPublisher(apimgmt.Config{
		Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
		Gateway: entities, GatewayURL: front.URL, Upstreams: apimgmt.Upstreams{Private: loopback},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- tour.Calls(ctx, tour.CallsConfig{Publisher: publisher, Gateway: front.URL, Client: front.Client(), Every: time.Millisecond})
	}()
	require.Eventually(t, func() bool { return fine.Load() > 10 && failed.Load() > 1 }, patience, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	_, err = publisher.Get(t.Context(), tour.API)
	require.ErrorIs(t, err, apimgmt.ErrNotFound)
}
