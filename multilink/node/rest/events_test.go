package rest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/multilink/status"
)

// sentEvent is an event as a client reads it.
type sentEvent struct{ kind, id, data string }

// stream reads events until the test ends.
func stream(i *nodetest.Instance, web *httptest.Server, query, after string) <-chan sentEvent {
	i.T.Helper()
	r, err := http.NewRequestWithContext(i.T.Context(), http.MethodGet, web.URL+"/events"+query, nil)
	require.NoError(i.T, err)
	r.Header.Set("Authorization", "Bearer "+nodetest.Token)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	response, err := web.Client().Do(r)
	require.NoError(i.T, err)
	require.Equal(i.T, http.StatusOK, response.StatusCode)
	require.Equal(i.T, "text/event-stream", response.Header.Get("Content-Type"))
	i.T.Cleanup(func() { _ = response.Body.Close() })
	events := make(chan sentEvent, 4096)
	go func() {
		defer close(events)
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		var e sentEvent
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				e.kind = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.kind != "" {
					events <- e
				}
				e = sentEvent{}
			}
		}
	}()
	return events
}

func next(t *testing.T, events <-chan sentEvent) sentEvent {
	t.Helper()
	select {
	case e, ok := <-events:
		require.True(t, ok, "the stream ended")
		return e
	case <-time.After(nodetest.Patience):
		require.Fail(t, "no event came")
		return sentEvent{}
	}
}

func TestNewHandler_resumesEventsAfterTheLastID(t *testing.T) {
	i := nodetest.Server(t)
	web := httptest.NewServer(i.Web)
	t.Cleanup(web.Close)
	events := stream(i, web, "", "")
	for n := range 5 {
		i.Plane.Sent <- status.Event{Time: time.Unix(int64(n), 0), Type: "failover", Peer: "gw-1", Link: "mesh0",
			From: "wlan0", Reason: fmt.Sprint(n)}
	}
	var third sentEvent
	for n := range 5 {
		e := next(t, events)
		require.Equal(t, "failover", e.kind)
		require.JSONEq(t, fmt.Sprintf(`{"time":"1970-01-01T00:00:0%dZ","type":"failover","peer":"gw-1","link":"mesh0",
			"from":"wlan0","reason":"%d"}`, n, n), e.data)
		if n == 2 {
			third = e
		}
	}
	again := stream(i, web, "", third.id)
	require.Contains(t, next(t, again).data, `"reason":"3"`)
	require.Contains(t, next(t, again).data, `"reason":"4"`)
	other := stream(i, web, "", "of-another-process-7")
	require.Contains(t, next(t, other).data, `"reason":"0"`, "who has seen another process has seen nothing of this one")
	last := stream(i, web, "?last=2", "")
	require.Contains(t, next(t, last).data, `"reason":"3"`)

	i.Do(http.StatusOK, "PUT", "/bond", `{"policy":"redundant"}`)
	require.Equal(t, "policy", next(t, events).kind)
	for e := range func(yield func(sentEvent) bool) {
		for yield(next(t, last)) {
			continue
		}
	} {
		if e.kind == "policy" {
			break
		}
	}
	require.NoError(t, i.Stop())
	for range last { // streams end with the instance
		continue
	}
}

func TestNewHandler_countsTheEventsThatASlowReaderMissed(t *testing.T) {
	i := nodetest.Server(t)
	web := httptest.NewServer(i.Web)
	t.Cleanup(web.Close)
	first := stream(i, web, "", "")
	i.Plane.Sent <- status.Event{Type: "link"}
	id := next(t, first).id
	for range 3000 {
		i.Plane.Sent <- status.Event{Type: "link"}
	}
	i.Do(http.StatusOK, "PUT", "/bond", `{}`)
	seen, missed := 0, 0
	require.Eventually(t, func() bool { return len(i.Plane.Sent) == 0 }, nodetest.Patience, time.Millisecond)
	late := stream(i, web, "", id)
	for missed+seen < 3001 {
		e := next(t, late)
		var record struct{ Missed int }
		require.NoError(t, json.Unmarshal([]byte(e.data), &record))
		if e.kind == "missed" {
			missed += record.Missed
		} else {
			seen++
		}
	}
	require.Equal(t, 1024, seen)
	require.Equal(t, 1977, missed)
}

func TestNewHandler_streamsTheStatus(t *testing.T) {
	i := nodetest.Server(t)
	i.Three(true)
	web := httptest.NewServer(i.Web)
	t.Cleanup(web.Close)
	events := stream(i, web, "?status=true", "")
	for range 2 {
		e := next(t, events)
		require.Equal(t, "status", e.kind)
		require.Empty(t, e.id, "it does not move the place of the reader")
		var status struct{ Links []nodetest.Object }
		require.NoError(t, json.Unmarshal([]byte(e.data), &status))
		require.Len(t, status.Links, 3)
	}
}

func TestNewHandler_limitsTheNumberOfStreams(t *testing.T) {
	i := nodetest.Server(t)
	web := httptest.NewServer(i.Web)
	t.Cleanup(web.Close)
	for range 64 {
		stream(i, web, "", "")
	}
	status, text := i.Ask("GET", "/events", nil)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
}
