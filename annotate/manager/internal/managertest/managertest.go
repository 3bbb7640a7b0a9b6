// Package managertest has what the tests of the manager, its REST interface and its pages
// share: channels, brokers in memory, and managers that run until a test ends.
package managertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// Mapping gives one statement for a message {"id": …, "value": …}.
const Mapping = `
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

// Renamed returns Mapping with another predicate.
func Renamed() string {
	return strings.ReplaceAll(Mapping, "http://example.com/value", "http://example.com/renamed")
}

// Patience is how long a test waits for what must happen. It is long, for a
// busy machine is not a fault.
const Patience = 2 * time.Minute

// Channel returns a channel between topics of MQTT.
func Channel(id string) manager.ChannelConfig {
	topic := func(name string) annotate.Topic {
		return annotate.Topic{Name: name, Broker: mqtt.Type}
	}
	return manager.ChannelConfig{ChannelConfig: annotate.ChannelConfig{
		ID: id, Input: topic(id + "/in"), Output: topic(id + "/out"),
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: Mapping},
	}}
}

// WithSideTopics adds the optional topics, all on.
func WithSideTopics(c manager.ChannelConfig) manager.ChannelConfig {
	topic := func(name string) *annotate.Topic {
		return &annotate.Topic{Name: c.ID + "/" + name, Broker: mqtt.Type}
	}
	c.Error = topic("errors")
	c.MonitorInput = topic("seen")
	c.MonitorOutput = topic("sent")
	return c
}

// environment returns drivers of MQTT and Kafka over one broker.
func environment(b annotate.Broker) annotate.Environment {
	return annotate.Environment{
		Drivers: []annotate.Driver{mqtt.Driver(b, nil), kafka.Driver(b, nil)},
	}
}

// Publish publishes messages that Mapping maps.
func Publish(t *testing.T, b *annotate.MemoryBroker, topic string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		payload := fmt.Appendf(nil, `{"id": %d, "value": "v%d"}`, i, i)
		require.NoError(t, b.Publish(t.Context(), annotate.Message{Topic: topic, Payload: payload}))
	}
}

// Await returns the first n messages of a topic.
func Await(t *testing.T, b *annotate.MemoryBroker, topic string, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	messages, err := b.Await(ctx, topic, n)
	require.NoError(t, err)
	return Texts(messages)
}

// Texts returns the payloads of messages.
func Texts(messages []annotate.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = string(m.Payload)
	}
	return texts
}

// triple returns the output of Mapping for a message of Publish.
func triple(i int) string {
	return fmt.Sprintf("<http://example.com/%d> <http://example.com/value> \"v%d\" .\n", i, i)
}

// Triples returns the outputs for messages of Publish.
func Triples(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, triple(i))
	}
	return all
}

// Shapes are shapes that Mapping can violate.
const Shapes = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://example.com/> .
ex:Short a sh:NodeShape ; sh:targetSubjectsOf ex:value ;
  sh:property [ sh:path ex:value ; sh:maxLength 4 ; sh:message "the value is too long" ] ;
  sh:property [ sh:path ex:value ; sh:pattern "^v" ; sh:severity sh:Warning ] .
`

// YARRRML generates the graph of Mapping.
const YARRRML = `mappings:
  observation:
    sources: [['~jsonpath', $]]
    s: http://example.com/$(id)
    po:
      - [http://www.w3.org/ns/sosa/hasSimpleResult, $(value)]
`
