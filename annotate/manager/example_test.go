package manager_test

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
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

func ExampleNew() {
	m, err := manager.New(manager.Config{Environment: annotate.Environment{
		Drivers: []annotate.Driver{annotate.MemoryDriver(annotate.NewMemoryBroker(nil))},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	<-m.Ready()

	id, err := m.Create(ctx, manager.ChannelConfig{ChannelConfig: annotate.ChannelConfig{
		ID:      "readings",
		Input:   annotate.Topic{Name: "readings/json", Broker: annotate.Memory},
		Output:  annotate.Topic{Name: "readings/rdf", Broker: annotate.Memory},
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: exampleMapping},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	channel, err := m.Get(id)
	fmt.Println(channel.Status.Stopped, err)
	cancel()
	fmt.Println(<-done)
	// Output:
	// false <nil>
	// <nil>
}
