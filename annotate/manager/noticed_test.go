package manager_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
)

// datedConfig is a channel whose mapping takes the elements of an array and
// whose values are to be dates with a time.
func datedConfig(id string) manager.ChannelConfig {
	c := withSideTopics(config(id))
	c.Mapping.RML = strings.Replace(jsonMapping, `[ rml:reference "value" ]`,
		`[ rml:reference "value" ; rr:datatype <http://www.w3.org/2001/XMLSchema#dateTime> ]`, 1)
	return c
}

func send(t *testing.T, b *annotate.MemoryBroker, topic, message string) {
	t.Helper()
	require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: topic, Payload: []byte(message)}))
}

// A date where the mapping says xsd:dateTime is published as the original
// service published it, and the status counts it.
func TestChannel_illTypedLiteral_isPublishedAndCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	rest := newClientOf(t, m)
	create(t, m, datedConfig("workers"))
	send(t, b, "workers/in", `[{"id":"1","value":"2022-05-01"},{"id":"2","value":"2022-05-01T00:00:00Z"},{"id":"3","value":"2021-01-01"}]`)
	out := await(t, b, "workers/out", 1)
	require.Equal(t, 3, strings.Count(out[0], "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"))
	require.Contains(t, out[0], `<http://example.com/1> <http://example.com/value> "2022-05-01"^^`)
	require.Empty(t, b.Messages("workers/errors"))

	rest.json(rest.get("/channels/workers?status=true"), `{"status":{"isStopped":false,"errorTopicEnabled":true,
		"inputMonitorTopicEnabled":true,"outputMonitorTopicEnabled":true,"illTypedLiterals":2}}`)
	require.Contains(t, rest.get("/metrics").body, `annotator_literals_ill_typed_total{channel="workers"} 2`)
	require.Equal(t, uint64(2), m.Stats()["workers"].IllTyped)
}

func TestChannel_messageWithoutStatements_isCounted(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	m, _ := runManager(t, managerConfig(b, nil))
	rest := newClientOf(t, m)
	create(t, m, config("void"))
	for _, message := range []string{`[]`, `{"other":1}`, `{"id":1,"value":2}`} {
		send(t, b, "void/in", message)
	}
	await(t, b, "void/out", 3)
	rest.json(rest.get("/channels?status=true"), `{"void":{"status":{"isStopped":false,"messagesWithoutStatements":2,"unmatched":1}}}`)
	require.Contains(t, rest.get("/metrics").body, `annotator_messages_without_statements_total{channel="void"} 2`)
	require.Contains(t, rest.get("/metrics").body, `annotator_messages_unmatched_total{channel="void"} 1`)
	require.Equal(t, uint64(2), m.Stats()["void"].Empty)
	require.Equal(t, uint64(1), m.Stats()["void"].Unmatched)
}
