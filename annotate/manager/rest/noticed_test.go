package rest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/managertest"
)

// A date where the mapping says xsd:dateTime is published as the original
// service published it, and the status counts it.
func TestNewHandler_illTypedLiteral_isPublishedAndCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	api := newManagerClient(t, m)
	managertest.Create(t, m, managertest.Dated("workers"))
	managertest.Send(t, b, "workers/in",
		`[{"id":"1","value":"2022-05-01"},{"id":"2","value":"2022-05-01T00:00:00Z"},{"id":"3","value":"2021-01-01"}]`)
	out := managertest.Await(t, b, "workers/out", 1)
	require.Equal(t, 3, strings.Count(out[0], "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"))
	require.Contains(t, out[0], `<http://example.com/1> <http://example.com/value> "2022-05-01"^^`)
	require.Empty(t, b.Messages("workers/errors"))

	api.json(api.get("/channels/workers?status=true"), `{"status":{"isStopped":false,"errorTopicEnabled":true,
		"inputMonitorTopicEnabled":true,"outputMonitorTopicEnabled":true,"illTypedLiterals":2}}`)
	require.Contains(t, api.get("/metrics").body, `annotator_literals_ill_typed_total{channel="workers"} 2`)
	require.Equal(t, uint64(2), m.Stats()["workers"].IllTyped)
}

func TestNewHandler_messageWithoutStatements_isCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	api := newManagerClient(t, m)
	managertest.Create(t, m, managertest.Channel("void"))
	for _, message := range []string{`[]`, `{"other":1}`, `{"id":1,"value":2}`} {
		managertest.Send(t, b, "void/in", message)
	}
	managertest.Await(t, b, "void/out", 3)
	api.json(api.get("/channels?status=true"), `{"void":{"status":{"isStopped":false,"messagesWithoutStatements":2,"unmatched":1}}}`)
	require.Contains(t, api.get("/metrics").body, `annotator_messages_without_statements_total{channel="void"} 2`)
	require.Contains(t, api.get("/metrics").body, `annotator_messages_unmatched_total{channel="void"} 1`)
	require.Equal(t, uint64(2), m.Stats()["void"].Empty)
	require.Equal(t, uint64(1), m.Stats()["void"].Unmatched)
}

// A legacy mapping reads a row of CSV with a cell too many as the original service did. The status
// counts what it cut, filled up and passed over.
func TestNewHandler_irregularRows_areCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	api := newManagerClient(t, m)
	c := managertest.Channel("table")
	c.Mapping.InputFormat = annotate.CSV
	c.Mapping.RML = strings.Replace(strings.Replace(c.Mapping.RML, "ql:JSONPath", "ql:CSV", 1), `rml:iterator "$"`, "", 1)
	managertest.Create(t, m, c)
	managertest.Send(t, b, "table/in", "id,value\n1,2\n# a comment\n3,4,5\n6\n")
	out := managertest.Await(t, b, "table/out", 1)
	require.Contains(t, out[0], `<http://example.com/3> <http://example.com/value> "4"`)
	require.NotContains(t, out[0], "5")
	api.json(api.get("/channels/table?status=true"), `{"status":{"isStopped":false,"irregularRows":3}}`)
	require.Contains(t, api.get("/metrics").body, `annotator_rows_irregular_total{channel="table"} 3`)
}

// The dialect of a channel is a setting: without it, a mapping in the legacy vocabulary is read as
// CARML 0.3.2 did, which writes the escapes of IRIs in lower case.
func TestNewHandler_dialect_isThatOfItsVocabularyUnlessItIsSet(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := managertest.Start(t, managertest.Config(b, nil))
	api := newManagerClient(t, m)
	for dialect, want := range map[string]string{"": "6%3a00", "carml": "6%3a00", "rml": "6%3A00"} {
		id := "dialect" + dialect
		c := managertest.Channel(id)
		c.Dialect = dialect
		managertest.Create(t, m, c)
		managertest.Send(t, b, id+"/in", `{"id":"6:00","value":1}`)
		require.Contains(t, managertest.Await(t, b, id+"/out", 1)[0], want, "dialect %q", dialect)
		answer := api.get("/channels/" + id + "?settings=true").body
		if dialect == "" {
			require.NotContains(t, answer, `"dialect":`)
		} else {
			require.Contains(t, answer, `"dialect":"`+dialect+`"`)
		}
	}
	c := managertest.Channel("other")
	c.Dialect = "turtle"
	_, err := m.Create(t.Context(), c)
	require.ErrorContains(t, err, "dialect")
}
