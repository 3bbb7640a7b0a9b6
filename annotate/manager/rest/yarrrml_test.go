package rest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
	"github.com/iotenablers/enablers/storage"
)

func yarrrmlMembers(rml string) map[string]any {
	return map[string]any{"mapping": map[string]any{
		"inputFormat": "JSON", "outputFormat": "NTRIPLES", "language": "YARRRML", "rml": rml}}
}

func TestNewHandler_takesMappingsInYARRRML(t *testing.T) {
	c := newClient(t, storage.NewMemoryDocuments())
	c.text(c.send("POST", "/channels", channelJSON(t, "c", nil, yarrrmlMembers(managertest.YARRRML), nil)), 200, "c")
	require.NoError(t, c.broker.Publish(t.Context(), annotate.Message{Topic: "c/in", Payload: []byte(`{"id":0,"value":"v0"}`)}))
	require.Equal(t, []string{`<http://example.com/0> <http://www.w3.org/ns/sosa/hasSimpleResult> "v0" .` + "\n"},
		managertest.Await(t, c.broker, "c/out", 1))
	require.Contains(t, c.get("/channels/c?all=true").body, `"language":"YARRRML"`)

	body := strings.ReplaceAll(channelJSON(t, "d", nil, yarrrmlMembers(managertest.Mapping), nil), `"YARRRML"`, `"RML"`)
	c.text(c.send("POST", "/channels", body), 200, "d")
	c.text(c.send("POST", "/annotations", `{"inputFormat":"JSON","outputFormat":"TTL","language":"Turtle","rml":"x"}`), 400,
		"The request content was malformed:\n"+`language: expected one of RML, YARRRML, got "Turtle"`)
	a := c.send("POST", "/channels", channelJSON(t, "e", nil, yarrrmlMembers(managertest.YARRRML+"      - [p, 1]\n"), nil))
	require.Equal(t, 400, a.status)
	require.Contains(t, a.body, "metadata.mapping.rml: mapping line 7 column 10, mappings.observation.po[1][0]")
}
