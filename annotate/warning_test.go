package annotate_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rml"
)

// decimalConfig is a channel whose values are to be decimals.
func decimalConfig(id string) annotate.ChannelConfig {
	c := config(id)
	c.Mapping.RML = strings.Replace(jsonMapping, `[ rml:reference "value" ]`,
		`[ rml:reference "value" ; rr:datatype <http://www.w3.org/2001/XMLSchema#decimal> ]`, 1)
	return c
}

func TestWarnings_Newest_isAboutTheNewestMessages(t *testing.T) {
	for payload, reason := range map[string]string{
		`{"id": 1, "value": "4,5"}`: "literals have a text that their datatype does not have, 1 of them, " +
			`such as "4,5" at /value, which xsd:decimal does not have`,
		`{"id": 1}`: "no statements from 1 records",
		`[]`:        `its iterator "$" selects no record`,
	} {
		b := annotate.NewMemoryBroker(nil)
		channel := newChannel(t, decimalConfig("warned"), environment(b))
		require.NoError(t, channel.Start(t.Context()))
		send := func(payload string) {
			require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "warned/in", Payload: []byte(payload)}))
		}
		published := 0
		publish := func(n int, payload string) {
			t.Helper()
			for range n {
				send(payload)
			}
			published += n
			await(t, b, "warned/out", published)
		}
		publish(1, `{"id": 1, "value": 4.5}`)
		require.Empty(t, channel.Warnings().Newest())
		publish(1, payload)
		require.Contains(t, channel.Warnings().Newest().Reason, reason)
		require.False(t, channel.Warnings().Newest().Time.IsZero())
		publish(99, `{"id": 1, "value": 4.5}`)
		require.Contains(t, channel.Warnings().Newest().Reason, reason, "it is one of the newest 100 messages")
		publish(1, `{"id": 1, "value": 4.5}`)
		require.Empty(t, channel.Warnings().Newest())

		warned := channel.Warnings().Messages()
		require.Len(t, warned, 1, "the message is kept")
		require.Equal(t, payload, string(warned[0].Payload))
		require.Contains(t, warned[0].Reason, reason)
		require.Equal(t, "warned/in", warned[0].Topic)
		require.Empty(t, channel.Failures())

		publish(1, payload)
		require.NotEmpty(t, channel.Warnings().Newest())
		require.NoError(t, channel.SetMapping(decimalConfig("warned").Mapping))
		require.Empty(t, channel.Warnings().Newest(), "another mapping may be right")
		require.NotEmpty(t, channel.Warnings().Messages())
	}
}

func TestWarnings_Newest_isAboutIrregularRows(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	c := config("table")
	c.Mapping.InputFormat = annotate.CSV
	c.Mapping.RML = strings.Replace(jsonMapping, "ql:JSONPath", "ql:CSV", 1)
	channel := newChannel(t, c, environment(b))
	require.NoError(t, channel.Start(t.Context()))
	send := func(payload string, published int) {
		t.Helper()
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "table/in", Payload: []byte(payload)}))
		await(t, b, "table/out", published)
	}
	send("id,value\n1,2\n# a comment\n", 1)
	require.Empty(t, channel.Warnings().Newest())
	send("id,value\n1,2\n3,4,5\n", 2)
	require.Equal(t, "one row of CSV with more cells than the header, which are not read, such as row 2 (line 3), "+
		"with 3 cells where the header has 2", channel.Warnings().Newest().Reason)
	send("id,value\n1,2\n3", 3)
	send("id,value\n1,\"2\n3,\"4\"\n", 4)
	require.Equal(t, uint64(4), channel.Stats().IrregularRows)
	require.Equal(t, "row 2 (line 3)", channel.Warnings().Messages()[len(channel.Warnings().Messages())-1].Place)
}

func TestWarnings_Messages_areBounded(t *testing.T) {
	b := annotate.NewMemoryBroker(nil)
	channel := newChannel(t, decimalConfig("many"), environment(b))
	require.NoError(t, channel.Start(t.Context()))
	for i := range 1000 {
		payload := fmt.Appendf(nil, `{"id": %d, "value": "x"}`, i)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "many/in", Payload: payload}))
	}
	await(t, b, "many/out", 1000)
	require.NotEmpty(t, channel.Warnings().Messages())
	require.LessOrEqual(t, len(channel.Warnings().Messages()), 20)
	require.Equal(t, uint64(1000), channel.Stats().IllTyped)
	require.Contains(t, channel.Warnings().Newest().Reason, "xsd:decimal")
}

// TestWarnings_Newest_isNotOfAMessageOfTheMappingBefore replaces the mapping while a message is mapped by it.
func TestWarnings_Newest_isNotOfAMessageOfTheMappingBefore(t *testing.T) {
	entered, proceed := make(chan struct{}, 2), make(chan struct{})
	resume := sync.OnceFunc(func() { close(proceed) })
	defer resume()
	b := annotate.NewMemoryBroker(nil)
	env := environment(b)
	env.Functions = []rml.Function{{IRI: "http://example.com/answer", Apply: func(rml.Call) ([]string, error) {
		entered <- struct{}{}
		<-proceed
		return nil, nil
	}}}
	c := config("late")
	c.Mapping.RML = functionMapping
	channel := newChannel(t, c, env)
	require.NoError(t, channel.Start(t.Context()))
	send := func() {
		t.Helper()
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: "late/in", Payload: []byte("{}")}))
		<-entered
	}
	send()
	require.NoError(t, channel.SetMapping(channel.Config().Mapping))
	resume()
	await(t, b, "late/out", 1)
	require.Empty(t, channel.Warnings().Newest())
	require.Len(t, channel.Warnings().Messages(), 1, "it was published with a warning all the same")
	send()
	await(t, b, "late/out", 2)
	require.Contains(t, channel.Warnings().Newest().Reason, "no statements from 1 records")
	require.Len(t, channel.Warnings().Messages(), 2)
}
