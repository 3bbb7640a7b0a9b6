package page_test

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

func TestNewHandler_warnsOfWhatAChannelPublishes(t *testing.T) {
	s := newVisit(t, nil)
	managertest.Create(t, s.manager, managertest.Dated("c"))
	managertest.Create(t, s.manager, managertest.Channel("well"))
	state := func(id string) (one struct {
		State, Warning, WarningTime string
		HasWarned                   bool
	}) {
		require.NoError(t, json.Unmarshal(s.get("/channels/"+id+"/state").Body.Bytes(), &one))
		return one
	}
	require.Equal(t, "running", state("c").State)
	require.Contains(t, s.get("/channels/c/warnings").Body.String(), "No message was published with a warning.")
	require.Regexp(t, `data-field="warned-messages" hidden`, s.get("/channels/c").Body.String())

	managertest.Send(t, s.broker, "c/in", `[{"id":"1","value":"2022-05-01 <b>"}]`)
	managertest.Await(t, s.broker, "c/out", 1)
	const reason = `such as "2022-05-01 <b>" at /0/value, which xsd:dateTime does not have`
	now := state("c")
	require.Equal(t, "warning", now.State)
	require.Contains(t, now.Warning, reason)
	require.NotEmpty(t, now.WarningTime)
	require.True(t, now.HasWarned)
	page := s.get("/channels/c").Body.String()
	require.Contains(t, page, `data-state="warning"`)
	require.Contains(t, html.UnescapeString(page), reason)
	require.NotContains(t, page, "<b>")
	require.Contains(t, page, `href="../channels/c/warnings"`)
	require.NotContains(t, page, `data-field="warned-messages" hidden`)
	require.Regexp(t, `/channels/c/start"><button data-for="stopped failed" disabled>`, page)

	list := s.get("/?state=warning").Body.String()
	require.Contains(t, list, "1 channel matches")
	require.Contains(t, html.UnescapeString(list), reason)
	require.Contains(t, s.get("/?state=running").Body.String(), "2 channels match", "it runs")

	page = s.get("/channels/c/warnings").Body.String()
	require.Contains(t, page, "<mark>&#34;2022-05-01 &lt;b&gt;&#34;</mark>")
	require.Contains(t, page, `href="../../channels/c/warnings/1/workbench"`)
	var one struct{ Payload, Reason, Place, Node string }
	require.NoError(t, json.Unmarshal(s.get("/channels/c/warnings/1").Body.Bytes(), &one))
	require.Equal(t, `[{"id":"1","value":"2022-05-01 <b>"}]`, one.Payload)
	require.Equal(t, "/0/value", one.Place)
	require.Contains(t, one.Node, "map:Observation")
	require.Equal(t, http.StatusNotFound, s.get("/channels/c/warnings/2").Code)
	bench := s.get("/channels/c/warnings/1/workbench").Body.String()
	require.Contains(t, bench, "This message was published with a warning at")
	require.Contains(t, bench, "xsd:dateTime does not have this text")

	mapping := managertest.Channel("c").Mapping
	require.NoError(t, s.manager.SetMapping(t.Context(), "c", mapping))
	require.Equal(t, "running", state("c").State)
	managertest.Send(t, s.broker, "c/in", `[]`)
	managertest.Await(t, s.broker, "c/out", 2)
	require.True(t, strings.HasPrefix(state("c").Warning, "no statements: triples map map:Observation"), state("c").Warning)
}
