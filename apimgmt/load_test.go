package apimgmt_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/storage"
)

func TestNoRequestFailsWhileOthersArePublished(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	defer service.Close()
	g, front := embedded(t, storage.NewMemoryDocuments())
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: g, GatewayURL: front.URL,
		Upstreams: apimgmt.Upstreams{Private: loopback()}})
	require.NoError(t, err)
	record, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: "steady", Definition: []byte(fileAt(service.URL, "1", "/steady/{id}"))})
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
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: name, Definition: []byte(fileAt(service.URL, "1", path))})
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

func TestADeprecatedVersionIsServedWithTheNoticeOfItsEnd(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	defer service.Close()
	g, front := embedded(t, storage.NewMemoryDocuments())
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: g, GatewayURL: front.URL,
		Upstreams: apimgmt.Upstreams{Private: loopback()}})
	require.NoError(t, err)
	for _, version := range []string{"1", "2"} {
		_, err := p.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(fileAt(service.URL, version, "/v"+version))})
		require.NoError(t, err)
	}
	record, err := p.SetState(t.Context(), "a", "1", apimgmt.Transition{State: apimgmt.Deprecated,
		Sunset: time.Date(2199, 12, 31, 0, 0, 0, 0, time.UTC), Link: "https://docs.example/end"})
	require.NoError(t, err)
	require.Equal(t, "2", record.Version.Version)
	head := func(path string) (int, http.Header) {
		resp, err := http.Get(front.URL + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode, resp.Header
	}
	status, header := head("/v1")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "@"+strconv.FormatInt(record.Versions[0].DeprecatedAt.Unix(), 10), header.Get("Deprecation"))
	require.Equal(t, "Tue, 31 Dec 2199 00:00:00 GMT", header.Get("Sunset"))
	require.Equal(t, `<https://docs.example/end>; rel="deprecation"`, header.Get("Link"))
	status, header = head("/v2")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, header.Get("Deprecation"))
	_, err = p.SetState(t.Context(), "a", "1", apimgmt.Transition{State: apimgmt.Sunset})
	require.NoError(t, err)
	status, _ = head("/v1")
	require.Equal(t, http.StatusNotFound, status)
	require.NoError(t, p.Recover(t.Context()))
	require.Zero(t, p.Totals().Healed, "gateway and catalogue agree all along")
}

func TestAPluginThatIsSetWronglyIsRefusedAsAWhole(t *testing.T) {
	g, front := embedded(t, storage.NewMemoryDocuments())
	p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Gateway: g, GatewayURL: front.URL})
	require.NoError(t, err)
	faulty := strings.Replace(file("1", "/a", "/b"), `"paths"`, `"x-kong-plugin-cors":{"config":{"max_age":-1}},"paths"`, 1)
	_, err = p.Publish(t.Context(), apimgmt.Upload{Enabler: "a", Definition: []byte(faulty)})
	require.ErrorIs(t, err, apimgmt.ErrInvalid)
	require.ErrorContains(t, err, "config.max_age")
	require.Empty(t, served(t, g, "a"))
	list, _, err := p.List(t.Context(), apimgmt.Query{})
	require.NoError(t, err)
	require.Empty(t, list)
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
