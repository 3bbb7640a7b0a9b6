package manager_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

const shortShapes = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.com/> .
ex:Short a sh:NodeShape ; sh:targetSubjectsOf ex:value ;
  sh:property [ sh:path ex:value ; sh:maxLength 4 ; sh:message "the value is too long" ] ;
  sh:property [ sh:path ex:value ; sh:pattern "^v" ; sh:severity sh:Warning ] .
`

func TestChannel_shapes_areStoredAndCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	rest := newClientOf(t, m)
	c := withSideTopics(config("shaped"))
	c.Mapping.Shapes = shortShapes
	create(t, m, c)
	for _, message := range []string{`{"id":1,"value":"v1"}`, `{"id":2,"value":"v-too-long"}`, `{"id":3,"value":"x"}`} {
		send(t, b, "shaped/in", message)
	}
	await(t, b, "shaped/out", 2)
	require.Contains(t, await(t, b, "shaped/errors", 1)[0], "<http://example.com/2> <http://example.com/value>: the value is too long")

	rest.json(rest.get("/channels/shaped?status=true"), `{"status":{"isStopped":false,"errorTopicEnabled":true,
		"inputMonitorTopicEnabled":true,"outputMonitorTopicEnabled":true,"invalid":1,"warned":1}}`)
	metrics := rest.get("/metrics").body
	require.Contains(t, metrics, `annotator_messages_invalid_total{channel="shaped"} 1`)
	require.Contains(t, metrics, `annotator_messages_warned_total{channel="shaped"} 1`)
	require.NotContains(t, rest.get("/channels/shaped?metadata=true").body, "shapes")
	var shown struct {
		Metadata struct{ Mapping struct{ Shapes string } }
	}
	require.NoError(t, json.Unmarshal([]byte(rest.get("/channels/shaped?metadata=true&rml=true").body), &shown))
	require.Equal(t, shortShapes, shown.Metadata.Mapping.Shapes)
}

func TestNewHandler_shapes_areRefusedWithTheirLine(t *testing.T) {
	m, _ := runManager(t, managerConfig(annotate.NewMemoryBroker(nil), nil))
	c := config("bad")
	c.Mapping.Shapes = shortShapes + "ex:Wrong sh:targetNode ex:a ; sh:minCont 1 ."
	_, err := m.Create(t.Context(), c)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "metadata.mapping.shapes", field.Field)
	require.ErrorContains(t, err, "line 5: shape <http://example.com/Wrong>: sh:minCont is not a property of shapes in SHACL Core")
}

func TestPages_shapes_areInTheFormAndOnTheWorkbench(t *testing.T) {
	s := newVisit(t, nil)
	form := channelForm("shaped")
	form.Set("shapes", shortShapes+"ex:Wrong sh:targetNode ex:a ; sh:minCont 1 .")
	refused := s.post("/new", form)
	require.Equal(t, http.StatusUnprocessableEntity, refused.Code)
	require.Contains(t, refused.Body.String(), "line 5: shape")
	require.Regexp(t, `<textarea id="shapes"[^>]*aria-invalid="true"`, refused.Body.String())

	form.Set("shapes", strings.ReplaceAll(shortShapes, "\n", "\r\n"))
	require.Equal(t, http.StatusSeeOther, s.post("/new", form).Code)
	c, err := s.manager.Get("shaped")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(shortShapes), c.Mapping.Shapes)
	require.Contains(t, s.get("/channels/shaped/edit").Body.String(), "the value is too long")
	require.Contains(t, s.get("/workbench?channel=shaped").Body.String(), "the value is too long")

	request, err := json.Marshal(map[string]string{"sample": `{"id":2,"value":"x-too-long"}`, "mapping": jsonMapping,
		"shapes": shortShapes, "inputFormat": "JSON", "outputFormat": "NTRIPLES"})
	require.NoError(t, err)
	var answer struct {
		Output     string
		Statements []any
		Invalid    int
		Unchecked  bool
		Violations []struct {
			Text, Severity, Shape string
			Line                  int
		}
		Fault *struct{ Text, Node string }
	}
	run := func() {
		t.Helper()
		w := s.postJSON("/workbench/run", string(request))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	}
	run()
	require.Empty(t, answer.Output)
	require.Len(t, answer.Statements, 1)
	require.Equal(t, 1, answer.Invalid)
	require.Len(t, answer.Violations, 2)
	require.Equal(t, `<http://example.com/2> <http://example.com/value>: the value is too long, value "x-too-long"`, answer.Violations[0].Text)
	require.Equal(t, []any{"Violation", 3, "Warning", 4}, []any{answer.Violations[0].Severity, answer.Violations[0].Line,
		answer.Violations[1].Severity, answer.Violations[1].Line})

	request = []byte(strings.Replace(string(request), `targetSubjectsOf ex:value`, `targetClass ex:Never`, 1))
	run()
	require.True(t, answer.Unchecked)
	request = []byte(strings.Replace(string(request), `sh:maxLength 4`, `sh:maxLength true`, 1))
	run()
	require.Equal(t, "shapes", answer.Fault.Node)
	require.Contains(t, answer.Fault.Text, "line 3")

	shown := s.post("/workbench", url.Values{"action": {"run"}, "sample": {`{"id":2,"value":"x-too-long"}`}, "rml": {jsonMapping},
		"shapes": {shortShapes}, "inputFormat": {"JSON"}, "outputFormat": {"TTL"}}).Body.String()
	require.Contains(t, shown, "The RDF violates the shapes; a channel does not publish it.")
	require.Contains(t, shown, "Violation, line 3 of the shapes: &lt;http://example.com/2&gt;")
}
