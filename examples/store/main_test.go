package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func TestRun_writesEachObservation(t *testing.T) {
	const observations = 50
	for kind, written := range map[annotate.BrokerType]string{
		"SPARQL":  `(?m)^GRAPH <(https://example\.org/weather/[0-9a-f]{32})> \{$`,
		"NGSI-LD": `"id":"(http://example\.org/obs/[^"]*)","type":"http://www\.w3\.org/ns/sosa/Observation"`,
	} {
		names := map[string]bool{}
		var mu sync.Mutex
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			for _, match := range regexp.MustCompile(written).FindAllSubmatch(body, -1) {
				names[string(match[1])] = true
			}
			w.WriteHeader(http.StatusNoContent)
		}))
		t.Cleanup(store.Close)
		var printed bytes.Buffer
		require.NoError(t, run(t.Context(), kind, store.URL, observations, &printed))
		require.Equal(t, "written 50, failed 0\n", printed.String(), kind)
		require.Len(t, names, observations, kind)
	}
	require.ErrorContains(t, run(t.Context(), "ORACLE", "http://127.0.0.1:1", 1, io.Discard), "brokerType")
}
