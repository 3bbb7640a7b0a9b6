package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/annotate/rdf/rdftest"
	"github.com/iotenablers/enablers/internal/conformance"
	"github.com/iotenablers/enablers/test/interop"
)

// The sample channel of the original annotator, created over REST as it is but for the
// address of the broker, maps the original's sample message. Its dates stand where
// the mapping says xsd:dateTime, which neither fails nor changes them. The classes are text
// with the term type of an IRI.
func TestAnnotator_mapsTheSampleOfTheOriginal(t *testing.T) {
	dir := conformance.Dir(t, "../reproductions")
	read := func(name string, into any) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
		return data
	}
	var channel map[string]any
	read("a1-channel-pracownicy.json", &channel)
	var workers []map[string]any
	message := read("a1-message.json", &workers)
	require.NotEmpty(t, workers)

	broker := mqtttest.StartMosquitto(t)
	server := interop.StartServer(t, interop.Build(t, "annotator"), "-listen", "127.0.0.1:0", "-data", t.TempDir())
	settings := channel["settings"].(map[string]any)
	topics := map[string]string{}
	for name, s := range settings {
		topic := s.(map[string]any)
		at := topic["mqttSettings"].(map[string]any)
		at["host"], at["port"] = broker.Host, broker.Port
		topics[name] = topic["topic"].(string)
	}
	output, failures := connect(t, broker, "output"), connect(t, broker, "failures")
	output.subscribe(t, topics["outputTopicSettings"])
	failures.subscribe(t, topics["errorTopicSettings"])
	body, err := json.Marshal(channel)
	require.NoError(t, err)
	status, text := interop.Ask(t, http.MethodPost, server.URL+"/channels", body)
	require.Equal(t, http.StatusOK, status, text)

	_, err = connect(t, broker, "input").Publish(t.Context(),
		&paho.Publish{Topic: topics["inputTopicSettings"], QoS: 1, Payload: message})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(output.messages())+len(failures.messages()) > 0 },
		patience, 10*time.Millisecond)
	require.Empty(t, failures.messages())
	var got []rdf.Quad
	classes := map[rdf.Term]int{}
	for _, q := range parse(t, output.messages()[0]) {
		if q.Predicate.Value == rdf.Type {
			classes[q.Object]++
			continue
		}
		got = append(got, q)
	}
	require.Equal(t, map[rdf.Term]int{
		rdf.NewIRI("https://assist-iot.eu/ontologies/aiot#User"):      len(workers),
		rdf.NewIRI("http://schema.org/Person"):                        len(workers),
		rdf.NewIRI("https://assist-iot.eu/ontologies/aiot_p2#Worker"): len(workers),
	}, classes)
	want := wantedWorkers(workers)
	require.True(t, rdftest.Isomorphic(got, want), rdftest.Diff(got, want))
}

// wantedWorkers returns the statements about workers, without their types.
func wantedWorkers(workers []map[string]any) []rdf.Quad {
	const xsd = "http://www.w3.org/2001/XMLSchema#"
	var want []rdf.Quad
	for _, worker := range workers {
		subject := rdf.NewIRI(fmt.Sprintf("https://assist-iot.eu/ontologies/aiot_p2/worker#%v", worker["worker_id"]))
		for _, p := range [][3]string{
			{"givenName", "first_name", "string"}, {"familyName", "last_name", "string"}, {"worksFor", "company", "string"},
			{"identifier", "worker_id", "integer"},
			{"hasTrainingExpirationDate", "expiration_date_of_training", "dateTime"},
			{"hasPermissionsExpirationDate", "expiration_date_of_permissions", "dateTime"},
			{"hasMedicalTestsExpirationDate", "expiration_date_of_medical_tests", "dateTime"},
		} {
			want = append(want, rdf.Quad{Subject: subject, Predicate: rdf.NewIRI("http://schema.org/" + p[0]),
				Object: rdf.NewTyped(fmt.Sprint(worker[p[1]]), xsd+p[2])})
		}
	}
	return want
}
