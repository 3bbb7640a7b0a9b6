package page_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestNewHandler_workbenchReadsYARRRML(t *testing.T) {
	s := newVisit(t, nil)
	try := func(mapping string) (answer struct {
		trial
		Fault *struct{ Line, Column int }
	}) {
		request, err := json.Marshal(map[string]string{"sample": `{"id":1,"value":"v"}`, "mapping": mapping, "language": "YARRRML"})
		require.NoError(t, err)
		w := s.postJSON("/workbench/run", string(request))
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		return answer
	}
	answer := try(managertest.YARRRML)
	require.Nil(t, answer.Fault)
	require.Len(t, answer.Statements, 1)
	require.Equal(t, 6, answer.Statements[0].Line, "that of the YAML text")
	answer = try(managertest.YARRRML + "      - [http://example.com/p, $(absent)]\n")
	require.Len(t, answer.Findings, 1)
	require.Equal(t, 7, answer.Findings[0].Line)
	answer = try(managertest.YARRRML + "      - [p, 1]\n")
	require.Equal(t, 7, answer.Fault.Line)
	require.Equal(t, 10, answer.Fault.Column)
}

func TestNewHandler_workbenchKeepsTheLanguage(t *testing.T) {
	s := newVisit(t, nil)
	form := url.Values{"action": {"run"}, "sample": {`{"id":1,"value":"v"}`}, "rml": {managertest.YARRRML},
		"inputFormat": {"JSON"}, "outputFormat": {"TTL"}, "language": {"YARRRML"}}
	page := s.post("/workbench", form)
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "<option selected>YARRRML</option>")
	form.Set("action", "suggest")
	require.NotContains(t, s.post("/workbench", form).Body.String(), "<option selected>YARRRML</option>", "a mapping is suggested in Turtle")
}
