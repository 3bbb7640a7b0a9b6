package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// entityStore is a stand-in for an NGSI-LD broker that keeps the last value of each entity, and
// fails now and then.
type entityStore struct {
	mu       sync.Mutex
	requests int
	values   map[string]string
}

func (s *entityStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entities []struct {
		ID    string `json:"id"`
		Value struct {
			Value string `json:"value"`
		} `json:"https://example.org/value"`
	}
	user, password, _ := r.BasicAuth()
	switch s.requests++; {
	case r.URL.String() != "/ngsi-ld/v1/entityOperations/upsert?options=update" || user != "u" || password != "secret-password":
		w.WriteHeader(http.StatusNotFound)
		return
	case s.requests%7 == 0:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case json.NewDecoder(r.Body).Decode(&entities) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, e := range entities {
		s.values[e.ID] = e.Value.Value
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *entityStore) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}

// Every entity has the value of its last message, although the annotator is killed.
func TestAnnotator_writesEntitiesToAnNGSILDBrokerThroughKills(t *testing.T) {
	const messages, stations = 1000, 250
	entities := &entityStore{values: map[string]string{}}
	store := httptest.NewServer(entities)
	t.Cleanup(store.Close)
	broker := startMQTT(t)
	program, folder := interop.Build(t, "annotator"), t.TempDir()
	start := func() *interop.Server {
		return interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-data", folder, "-log-to-file",
			"-log-file", filepath.Join(folder, "log"))
	}
	server := start()
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "entities", "mapping": map[string]any{"name": "entities", "inputFormat": "JSON",
			"outputFormat": "TTL", "rml": storedMapping}},
		"settings": map[string]any{
			"channelId":          "entities",
			"inputTopicSettings": broker.settings("weather/in/+", noCable),
			"errorTopicSettings": broker.settings("weather/errors", noCable),
			"outputTopicSettings": map[string]any{"topic": "https://example.org/sets/", "brokerType": "NGSI-LD",
				"ngsildSettings": map[string]any{"url": store.URL, "user": "u", "password": "secret-password"}},
		},
		"status": map[string]any{"isStopped": false},
	})
	require.NoError(t, err)
	status, text := interop.Ask(t, http.MethodPost, server.URL+"/channels", body)
	require.Equal(t, http.StatusOK, status, text)
	_, text = interop.Ask(t, http.MethodGet, server.URL+"/channels/entities?all", nil)
	require.Contains(t, text, `"ngsildSettings"`)
	require.NotContains(t, text, "secret-password")

	publish := broker.publisher(t)
	for i := range messages {
		payload, err := json.Marshal(map[string]any{"n": i % stations, "text": fmt.Sprint(i)})
		require.NoError(t, err)
		require.NoError(t, publish(t.Context(), 0, payload))
		if i%(messages/4) == messages/8 {
			server.Kill()
			server = start()
		}
	}
	last := func(station int) string {
		entities.mu.Lock()
		defer entities.mu.Unlock()
		return entities.values[fmt.Sprint("https://example.org/", station)]
	}
	require.Eventually(t, func() bool { return last(stations-1) == fmt.Sprint(messages-1) }, patience, 10*time.Millisecond)
	server.Stop()
	require.Equal(t, stations, entities.size())
	for station := range stations {
		require.Equal(t, fmt.Sprint(messages-stations+station), last(station))
	}
}
