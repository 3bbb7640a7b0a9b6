package apimgmt_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/storage"
)

func TestPublisher_Publish_failsNoRequestInFlight(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	defer service.Close()
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: loopback()})
	require.NoError(t, err)
	front := httptest.NewServer(g)
	defer func() {
		front.Close()
		require.NoError(t, g.Close())
	}()
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(),
		Blobs: storage.NewMemoryBlobs(), Gateway: embedded{g}, GatewayURL: front.URL,
		Upstreams: apimgmt.Upstreams{Private: loopback()}})
	require.NoError(t, err)
	record, err := p.Publish(t.Context(), apimgmt.Upload{
		Enabler: "steady", Definition: []byte(apitest.FileAt(service.URL, "1", "/steady/{id}"))})
	require.NoError(t, err)
	require.Equal(t, front.URL+"/steady/{id}", record.Routes[0].URL)

	ctx, stop := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var good atomic.Int64
	faults := make(chan string, 4)
	for range 4 {
		clients.Go(func() {
			for ctx.Err() == nil {
				path := fmt.Sprintf("/steady/%d", good.Load())
				if fault := fetch(front.URL+path, path); fault != "" {
					faults <- fault
					return
				}
				good.Add(1)
			}
		})
	}
	for i := range 200 {
		name := fmt.Sprintf("moving%d", i%7)
		path := fmt.Sprintf("/%s/%d", name, i)
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(apitest.FileAt(service.URL, "1", path))})
		require.NoError(t, err)
		require.Empty(t, fetch(front.URL+path, path), "what was published is served when the answer comes")
		if i%3 == 0 {
			require.NoError(t, p.Delete(t.Context(), name, "", apimgmt.Condition{}))
		}
	}
	stop()
	clients.Wait()
	close(faults)
	for fault := range faults {
		t.Error(fault)
	}
	require.Positive(t, good.Load())
	t.Logf("%d requests beside 200 changes", good.Load())
}

// fetch returns what is wrong with an answer.
func fetch(address, want string) string {
	resp, err := http.Get(address)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || string(body) != want {
		return fmt.Sprintf("%s: %d %q %v", address, resp.StatusCode, body, err)
	}
	return ""
}
