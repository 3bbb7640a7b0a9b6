package annotate_test

import (
	"context"
	"fmt"

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
		ID:      "readings",
		Input:   annotate.Topic{Name: "readings/json", Broker: annotate.Memory},
		Output:  annotate.Topic{Name: "readings/rdf", Broker: annotate.Memory},
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: exampleMapping},
	}
}

func ExampleNewChannel() {
	ctx := context.Background()
	broker := annotate.NewMemoryBroker(nil)
	channel, err := annotate.NewChannel(exampleConfig(), annotate.Environment{
		Drivers: []annotate.Driver{annotate.MemoryDriver(broker)},
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
