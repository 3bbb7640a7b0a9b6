package node_test

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

	"github.com/iotenablers/enablers/multilink/status"
)

// sentEvent is an event as a client reads it.
type sentEvent struct{ kind, id, data string }

// stream reads events until the test ends.
func (i *instance) stream(web *httptest.Server, query, after string) <-chan sentEvent {
	i.t.Helper()
	r, err := http.NewRequestWithContext(i.t.Context(), http.MethodGet, web.URL+"/events"+query, nil)
	require.NoError(i.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	response, err := web.Client().Do(r)
	require.NoError(i.t, err)
	require.Equal(i.t, http.StatusOK, response.StatusCode)
	require.Equal(i.t, "text/event-stream", response.Header.Get("Content-Type"))
	i.t.Cleanup(func() { _ = response.Body.Close() })
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
	case <-time.After(patience):
		require.Fail(t, "no event came")
		return sentEvent{}
	}
}

func TestNode_Handler_resumesEventsAfterTheLastID(t *testing.T) {
	i := server(t)
	web := httptest.NewServer(i.web)
	t.Cleanup(web.Close)
	events := i.stream(web, "", "")
	for n := range 5 {
		i.plane.events <- status.Event{Time: time.Unix(int64(n), 0), Type: "failover", Peer: "gw-1", Link: "mesh0",
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
	again := i.stream(web, "", third.id)
	require.Contains(t, next(t, again).data, `"reason":"3"`)
	require.Contains(t, next(t, again).data, `"reason":"4"`)
	other := i.stream(web, "", "of-another-process-7")
	require.Contains(t, next(t, other).data, `"reason":"0"`, "who has seen another process has seen nothing of this one")
	last := i.stream(web, "?last=2", "")
	require.Contains(t, next(t, last).data, `"reason":"3"`)

	i.do(http.StatusOK, "PUT", "/bond", `{"policy":"redundant"}`)
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
	require.NoError(t, i.stop())
	for range last { // streams end with the instance
		continue
	}
}

func TestNode_Handler_countsTheEventsThatASlowReaderMissed(t *testing.T) {
	i := server(t)
	web := httptest.NewServer(i.web)
	t.Cleanup(web.Close)
	first := i.stream(web, "", "")
	i.plane.events <- status.Event{Type: "link"}
	id := next(t, first).id
	for range 3000 {
		i.plane.events <- status.Event{Type: "link"}
	}
	i.do(http.StatusOK, "PUT", "/bond", `{}`)
	seen, missed := 0, 0
	require.Eventually(t, func() bool { return len(i.plane.events) == 0 }, patience, time.Millisecond)
	late := i.stream(web, "", id)
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

func TestNode_Handler_streamsTheStatus(t *testing.T) {
	i := server(t)
	i.three(true)
	web := httptest.NewServer(i.web)
	t.Cleanup(web.Close)
	events := i.stream(web, "?status=true", "")
	for range 2 {
		e := next(t, events)
		require.Equal(t, "status", e.kind)
		require.Empty(t, e.id, "it does not move the place of the reader")
		var status struct{ Links []object }
		require.NoError(t, json.Unmarshal([]byte(e.data), &status))
		require.Len(t, status.Links, 3)
	}
}

func TestNode_Handler_limitsTheNumberOfStreams(t *testing.T) {
	i := server(t)
	web := httptest.NewServer(i.web)
	t.Cleanup(web.Close)
	for range 64 {
		i.stream(web, "", "")
	}
	status, text := i.ask("GET", "/events", nil)
	require.Equal(t, http.StatusServiceUnavailable, status, text)
}
