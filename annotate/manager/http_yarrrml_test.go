package manager_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/storage"
)

// yarrrmlMapping makes the graph of jsonMapping.
const yarrrmlMapping = `mappings:
  observation:
    sources: [['~jsonpath', $]]
    s: http://example.com/$(id)
    po:
      - [http://www.w3.org/ns/sosa/hasSimpleResult, $(value)]
`

func yarrrmlMembers(rml string) map[string]any {
	return map[string]any{"mapping": map[string]any{
		"inputFormat": "JSON", "outputFormat": "NTRIPLES", "language": "YARRRML", "rml": rml}}
}

func TestNewHandler_takesMappingsInYARRRML(t *testing.T) {
	c := newClient(t, storage.NewMemoryDocuments())
	c.text(c.send("POST", "/channels", channelJSON(t, "c", nil, yarrrmlMembers(yarrrmlMapping), nil)), 200, "c")
	require.NoError(t, c.broker.Publish(t.Context(), annotate.Message{Topic: "c/in", Payload: []byte(`{"id":0,"value":"v0"}`)}))
	require.Equal(t, []string{`<http://example.com/0> <http://www.w3.org/ns/sosa/hasSimpleResult> "v0" .` + "\n"},
		await(t, c.broker, "c/out", 1))
	require.Contains(t, c.get("/channels/c?all=true").body, `"language":"YARRRML"`)

	body := strings.ReplaceAll(channelJSON(t, "d", nil, yarrrmlMembers(jsonMapping), nil), `"YARRRML"`, `"RML"`)
	c.text(c.send("POST", "/channels", body), 200, "d")
	c.text(c.send("POST", "/annotations", `{"inputFormat":"JSON","outputFormat":"TTL","language":"Turtle","rml":"x"}`), 400,
		"The request content was malformed:\n"+`language: expected one of RML, YARRRML, got "Turtle"`)
	a := c.send("POST", "/channels", channelJSON(t, "e", nil, yarrrmlMembers(yarrrmlMapping+"      - [p, 1]\n"), nil))
	require.Equal(t, 400, a.status)
	require.Contains(t, a.body, "metadata.mapping.rml: mapping line 7 column 10, mappings.observation.po[1][0]")
}

func TestManager_Page_workbenchReadsYARRRML(t *testing.T) {
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
	answer := try(yarrrmlMapping)
	require.Nil(t, answer.Fault)
	require.Len(t, answer.Statements, 1)
	require.Equal(t, 6, answer.Statements[0].Line, "that of the YAML text")
	answer = try(yarrrmlMapping + "      - [http://example.com/p, $(absent)]\n")
	require.Len(t, answer.Findings, 1)
	require.Equal(t, 7, answer.Findings[0].Line)
	answer = try(yarrrmlMapping + "      - [p, 1]\n")
	require.Equal(t, 7, answer.Fault.Line)
	require.Equal(t, 10, answer.Fault.Column)
}

func TestManager_Page_workbenchKeepsTheLanguage(t *testing.T) {
	s := newVisit(t, nil)
	form := url.Values{"action": {"run"}, "sample": {`{"id":1,"value":"v"}`}, "rml": {yarrrmlMapping},
		"inputFormat": {"JSON"}, "outputFormat": {"TTL"}, "language": {"YARRRML"}}
	page := s.post("/workbench", form)
	require.Equal(t, http.StatusOK, page.Code)
	require.Contains(t, page.Body.String(), "<option selected>YARRRML</option>")
	form.Set("action", "suggest")
	require.NotContains(t, s.post("/workbench", form).Body.String(), "<option selected>YARRRML</option>", "a mapping is suggested in Turtle")
}
