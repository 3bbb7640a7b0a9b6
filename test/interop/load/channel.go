package load

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// mapping makes one statement with the number of the message.
const mapping = `@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix ex: <http://example.org/> . @prefix carml: <http://carml.taxonic.com/carml/> .
<#m> a rr:TriplesMap ; rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/message/{n}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:number ; rr:objectMap [ rml:reference "n" ] ] .`

// AddChannel adds a running channel between topics with these settings at an annotator, and
// returns its identifier.
func AddChannel(t *testing.T, annotator, name string, input, output map[string]any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": name, "mapping": map[string]any{
			"name": "number", "inputFormat": "JSON", "outputFormat": "NTRIPLES", "rml": mapping}},
		"settings": map[string]any{"inputTopicSettings": input, "outputTopicSettings": output},
		"status":   map[string]any{"isStopped": false},
	})
	require.NoError(t, err)
	response, err := http.Post(annotator+"/channels", "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

// Holders returns the instance that runs each channel, as an annotator shows it.
func Holders(t *testing.T, annotator string) map[string]string {
	t.Helper()
	response, err := http.Get(annotator + "/channels?status")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var all map[string]struct {
		Status struct {
			Stopped  bool   `json:"isStopped"`
			Instance string `json:"instance"`
		} `json:"status"`
	}
	require.NoError(t, json.Unmarshal(text, &all), string(text))
	found := map[string]string{}
	for id, c := range all {
		if !c.Status.Stopped {
			found[id] = c.Status.Instance
		}
	}
	return found
}
