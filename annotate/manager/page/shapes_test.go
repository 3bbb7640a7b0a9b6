package page_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestNewHandler_shapes_areInTheFormAndOnTheWorkbench(t *testing.T) {
	s := newVisit(t, nil)
	form := channelForm("shaped")
	form.Set("shapes", managertest.Shapes+"ex:Wrong sh:targetNode ex:a ; sh:minCont 1 .")
	refused := s.post("/new", form)
	require.Equal(t, http.StatusUnprocessableEntity, refused.Code)
	require.Contains(t, refused.Body.String(), "line 5: shape")
	require.Regexp(t, `<textarea id="shapes"[^>]*aria-invalid="true"`, refused.Body.String())

	form.Set("shapes", strings.ReplaceAll(managertest.Shapes, "\n", "\r\n"))
	require.Equal(t, http.StatusSeeOther, s.post("/new", form).Code)
	c, err := s.manager.Get("shaped")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(managertest.Shapes), c.Mapping.Shapes)
	require.Contains(t, s.get("/channels/shaped/edit").Body.String(), "the value is too long")
	require.Contains(t, s.get("/workbench?channel=shaped").Body.String(), "the value is too long")

	request, err := json.Marshal(map[string]string{"sample": `{"id":2,"value":"x-too-long"}`, "mapping": managertest.Mapping,
		"shapes": managertest.Shapes, "inputFormat": "JSON", "outputFormat": "NTRIPLES"})
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

	shown := s.post("/workbench", url.Values{"action": {"run"}, "sample": {`{"id":2,"value":"x-too-long"}`}, "rml": {managertest.Mapping},
		"shapes": {managertest.Shapes}, "inputFormat": {"JSON"}, "outputFormat": {"TTL"}}).Body.String()
	require.Contains(t, shown, "The RDF violates the shapes; a channel does not publish it.")
	require.Contains(t, shown, "Violation, line 3 of the shapes: &lt;http://example.com/2&gt;")
}
