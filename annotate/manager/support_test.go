package manager_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// jsonMapping gives one statement for a message {"id": …, "value": …}.
const jsonMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/map/> .
map:Observation a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.com/value> ; rr:objectMap [ rml:reference "value" ] ] .
`

// patience is how long a test waits for what must happen. It is long, for a
// busy machine is no fault of the code.
const patience = 2 * time.Minute

func config(id string) manager.ChannelConfig {
	topic := func(name string) annotate.Topic {
		return annotate.Topic{Name: name, Broker: mqtt.Type}
	}
	return manager.ChannelConfig{ChannelConfig: annotate.ChannelConfig{
		ID: id, Input: topic(id + "/in"), Output: topic(id + "/out"),
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: jsonMapping},
	}}
}

// withSideTopics adds the optional topics, all on.
func withSideTopics(c manager.ChannelConfig) manager.ChannelConfig {
	topic := func(name string) *annotate.Topic {
		return &annotate.Topic{Name: c.ID + "/" + name, Broker: mqtt.Type}
	}
	c.Error, c.MonitorInput, c.MonitorOutput = topic("errors"), topic("seen"), topic("sent")
	return c
}

func environment(b annotate.Broker) annotate.Environment {
	return annotate.Environment{
		Drivers: []annotate.Driver{mqtt.Driver(b, nil), kafka.Driver(b, nil)},
	}
}

func publish(t *testing.T, b *annotate.MemoryBroker, topic string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		payload := fmt.Appendf(nil, `{"id": %d, "value": "v%d"}`, i, i)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: topic, Payload: payload}))
	}
}

func await(t *testing.T, b *annotate.MemoryBroker, topic string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	messages, err := b.Await(ctx, topic, n)
	require.NoError(t, err)
	return texts(messages)
}

func texts(messages []annotate.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = string(m.Payload)
	}
	return texts
}

func triple(i int) string {
	return fmt.Sprintf("<http://example.com/%d> <http://example.com/value> \"v%d\" .\n", i, i)
}

func triples(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, triple(i))
	}
	return all
}
