package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestNewHandler_shapes_areStoredAndCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	api := newManagerClient(t, m)
	c := managertest.WithSideTopics(managertest.Channel("shaped"))
	c.Mapping.Shapes = managertest.Shapes
	managertest.Create(t, m, c)
	for _, message := range []string{`{"id":1,"value":"v1"}`, `{"id":2,"value":"v-too-long"}`, `{"id":3,"value":"x"}`} {
		managertest.Send(t, b, "shaped/in", message)
	}
	managertest.Await(t, b, "shaped/out", 2)
	require.Contains(t, managertest.Await(t, b, "shaped/errors", 1)[0],
		"<http://example.com/2> <http://example.com/value>: the value is too long")

	api.json(api.get("/channels/shaped?status=true"), `{"status":{"isStopped":false,"errorTopicEnabled":true,
		"inputMonitorTopicEnabled":true,"outputMonitorTopicEnabled":true,"invalid":1,"warned":1}}`)
	metrics := api.get("/metrics").body
	require.Contains(t, metrics, `annotator_messages_invalid_total{channel="shaped"} 1`)
	require.Contains(t, metrics, `annotator_messages_warned_total{channel="shaped"} 1`)
	require.NotContains(t, api.get("/channels/shaped?metadata=true").body, "shapes")
	var shown struct {
		Metadata struct{ Mapping struct{ Shapes string } }
	}
	require.NoError(t, json.Unmarshal([]byte(api.get("/channels/shaped?metadata=true&rml=true").body), &shown))
	require.Equal(t, managertest.Shapes, shown.Metadata.Mapping.Shapes)
}

func TestNewHandler_shapes_areRefusedWithTheirLine(t *testing.T) {
	m, _ := managertest.Start(t, managertest.Config(annotate.NewMemoryBroker(nil), nil))
	c := managertest.Channel("bad")
	c.Mapping.Shapes = managertest.Shapes + "ex:Wrong sh:targetNode ex:a ; sh:minCont 1 ."
	_, err := m.Create(t.Context(), c)
	var field *annotate.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "metadata.mapping.shapes", field.Field)
	require.ErrorContains(t, err, "line 5: shape <http://example.com/Wrong>: sh:minCont is not a property of shapes in SHACL Core")
}
