package interop_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/test/interop"
)

const storedMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
<#m> rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "https://example.org/{n}" ; rr:class <https://example.org/Reading> ] ;
  rr:predicateObjectMap [ rr:predicate <https://example.org/value> ; rr:objectMap [ rml:reference "text" ] ] ;
  rr:predicateObjectMap [ rr:predicate <https://example.org/at> ;
    rr:objectMap [ rr:template "place{n}" ; rr:termType rr:BlankNode ] ] .
`

// Every message is in the store once, although the annotator and the store are killed at
// random while the messages flow. The blank node of each message shows statements that were
// written twice.
func TestAnnotator_writesEachMessageOnceIntoAStoreThroughKills(t *testing.T) {
	for _, protocol := range []string{sparql.Update, sparql.GraphStore} {
		t.Run("Oxigraph/"+protocol, func(t *testing.T) { storeThroughKills(t, startOxigraph(t), protocol, true) })
		// Its dataset is in memory, so it is not killed itself.
		t.Run("Fuseki/"+protocol, func(t *testing.T) { storeThroughKills(t, startFuseki(t), protocol, false) })
	}
}

func storeThroughKills(t *testing.T, store *store, protocol string, durable bool) {
	const messages, kills, statements = 4000, 6, 3
	broker := startMQTT(t)
	program, folder := interop.Build(t, "annotator"), t.TempDir()
	start := func() *interop.Server {
		return interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-data", folder, "-log-to-file",
			"-log-file", filepath.Join(folder, "log"))
	}
	server := start()
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": "store", "mapping": map[string]any{"name": "store", "inputFormat": "JSON",
			"outputFormat": "TTL", "rml": storedMapping}},
		"settings": map[string]any{
			"channelId":          "store",
			"inputTopicSettings": broker.settings("weather/in/+", noCable),
			"errorTopicSettings": broker.settings("weather/errors", noCable),
			"outputTopicSettings": map[string]any{"topic": "https://example.org/graphs/", "brokerType": "SPARQL",
				"sparqlSettings": map[string]any{"protocol": protocol, "url": store.endpoint(protocol)}},
		},
		"status": map[string]any{"isStopped": false},
	})
	require.NoError(t, err)
	status, text := interop.Ask(t, http.MethodPost, server.URL+"/channels", body)
	require.Equal(t, http.StatusOK, status, text)

	// The text has what must be escaped in an update.
	publish := broker.publisher(t)
	sent := make(chan error, 1)
	go func() {
		for i := range messages {
			payload, err := json.Marshal(map[string]any{"n": i, "text": fmt.Sprintf("%d } \\u0022 \"'\n\t<>&ü\\", i)})
			if err == nil {
				err = publish(t.Context(), 0, payload)
			}
			if err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	const graphs = "SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s ?p ?o } }"
	for k := range kills {
		limit := (k+1)*messages/(kills+2) + rand.IntN(messages/20)
		require.Eventually(t, func() bool { return store.count(graphs) >= limit }, patience, time.Millisecond)
		if durable && k%3 == 1 {
			store.restart()
			continue
		}
		server.Kill()
		server = start()
	}
	require.NoError(t, <-sent)
	require.Eventually(t, func() bool { return store.count(graphs) >= messages }, patience, 20*time.Millisecond)
	server.Stop() // what is in flight is written
	require.Equal(t, messages, store.count(graphs))
	require.Equal(t, statements*messages, store.count("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }"))
	require.Equal(t, messages, store.count("SELECT (COUNT(DISTINCT ?v) AS ?n) { GRAPH ?g { ?s <https://example.org/value> ?v } }"))
	require.Equal(t, messages, store.count(`SELECT (COUNT(DISTINCT ?b) AS ?n) { GRAPH ?g { ?s <https://example.org/at> ?b
		FILTER(isBlank(?b)) } }`))
	require.Zero(t, store.count("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"), "the default graph")
	// Stores differ in whether \\u is an escape or an escaped backslash and a u; \\\u0075 is the same for all.
	require.Equal(t, 1, store.count(`SELECT (COUNT(*) AS ?n) { GRAPH ?g {
		<https://example.org/123> <https://example.org/value> "123 } \\\u00750022 \"'\n\t<>&ü\\" } }`))
}
