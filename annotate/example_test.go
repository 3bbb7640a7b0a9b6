package annotate_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/iotenablers/enablers/annotate"
)

func Example() {
	const mapping = `
mappings:
  reading:
    sources: [['~jsonpath', $]]
    s: http://example.com/sensor/$(id)
    po: [[http://example.com/celsius, $(celsius)]]`
	ctx, broker := context.Background(), annotate.NewMemoryBroker(nil) // or one of packages mqtt and kafka
	channel, err := annotate.NewChannel(annotate.ChannelConfig{
		Input:   annotate.Topic{Name: "readings/json", Broker: annotate.Memory},
		Output:  annotate.Topic{Name: "readings/rdf", Broker: annotate.Memory},
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, Language: "YARRRML", RML: mapping},
	}, annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker)}})
	if err != nil {
		log.Fatal(err)
	}
	defer channel.Close()
	reading := annotate.Message{Topic: "readings/json", Payload: []byte(`{"id": "a7", "celsius": 21.5}`)}
	if err := errors.Join(channel.Start(ctx), broker.Publish(ctx, reading)); err != nil {
		log.Fatal(err)
	}
	if annotated, err := broker.Await(ctx, "readings/rdf", 1); err == nil {
		fmt.Printf("%s", annotated[0].Payload)
	}
	// Output:
	// <http://example.com/sensor/a7> <http://example.com/celsius> "21.5" .
}
