// Command annotator shows the annotator inside a program: one channel, one
// message in, RDF out. The broker is in memory, so it needs nothing else; with
// mqtt.Driver(mqtt.New(nil), nil) in its place, and topics of mqtt.Type, the
// topics are those of a real MQTT broker.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/examples/weather"
)

func main() {
	ctx := context.Background()
	broker := annotate.NewMemoryBroker(nil)

	channel, err := annotate.NewChannel(annotate.ChannelConfig{
		Input:  annotate.Topic{Name: "weather/json", Broker: annotate.Memory},
		Output: annotate.Topic{Name: "weather/rdf", Broker: annotate.Memory},
		Mapping: annotate.Mapping{
			InputFormat:  annotate.JSON,
			OutputFormat: annotate.Turtle,
			RML:          weather.JSONMapping(), // or any CARML mapping of yours
		},
	}, annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker)}})
	if err != nil {
		log.Fatal(err)
	}
	if err := channel.Start(ctx); err != nil { // returns when it is subscribed
		log.Fatal(err)
	}
	report := `{"station":"EWR","time":"2013-01-01T06:00:00Z","temp":39.02}`
	if err := broker.Publish(ctx, annotate.Message{Topic: "weather/json", Payload: []byte(report)}); err != nil {
		log.Fatal(err)
	}
	outputs, err := broker.Await(ctx, "weather/rdf", 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", outputs[0].Payload)
	if err := channel.Stop(ctx); err != nil { // finishes what it has
		log.Fatal(err)
	}
}
