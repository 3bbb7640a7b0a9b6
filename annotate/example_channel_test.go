package annotate_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/iotenablers/enablers/annotate"
)

// A mapping of messages such as {"id": "a7", "celsius": 21.5}.
const exampleMapping = `
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix carml: <http://carml.taxonic.com/carml/> .
@prefix map: <http://example.com/map/> .

map:Reading a rr:TriplesMap ;
  rml:logicalSource [ rml:source [ a carml:Stream ] ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.com/sensor/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.com/celsius> ; rr:objectMap [ rml:reference "celsius" ] ] .
`

func exampleConfig() annotate.ChannelConfig {
	return annotate.ChannelConfig{
		Settings: annotate.Settings{
			ChannelID: "readings",
			Input:     annotate.TopicSettings{Topic: "readings/json", BrokerType: annotate.MQTT},
			Output:    annotate.TopicSettings{Topic: "readings/rdf", BrokerType: annotate.MQTT},
		},
		Metadata: annotate.Metadata{Mapping: annotate.Mapping{
			InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: exampleMapping,
		}},
	}
}

func ExampleNewChannel() {
	ctx := context.Background()
	broker := annotate.NewMemoryBroker(nil)
	channel, err := annotate.NewChannel(exampleConfig(), annotate.Environment{
		Brokers: map[annotate.BrokerType]annotate.Broker{annotate.MQTT: broker},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := channel.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer channel.Close()

	reading := annotate.Message{Topic: "readings/json", Payload: []byte(`{"id": "a7", "celsius": 21.5}`)}
	if err := broker.Publish(ctx, reading); err != nil {
		fmt.Println(err)
		return
	}
	annotated, err := broker.Await(ctx, "readings/rdf", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(annotated[0].Payload))
	// Output:
	// <http://example.com/sensor/a7> <http://example.com/celsius> "21.5" .
}

func ExampleNewManager() {
	manager, err := annotate.NewManager(annotate.Config{
		Environment: annotate.Environment{
			Brokers: map[annotate.BrokerType]annotate.Broker{annotate.MQTT: annotate.NewMemoryBroker(nil)},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- manager.Run(ctx) }()
	if err := manager.WaitReady(ctx); err != nil {
		fmt.Println(err)
		return
	}

	id, err := manager.Create(ctx, exampleConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(manager.Handler(nil))
	response, err := http.Get(server.URL + "/channels/" + id + "?status=true")
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	fmt.Println(string(body))

	server.Close()
	cancel()
	fmt.Println(<-done)
	// Output:
	// {"status":{"isStopped":false}}
	// <nil>
}
