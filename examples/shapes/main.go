// Command shapes runs a channel whose output is checked by SHACL shapes. A message
// that violates them goes to the error topic, in place of the output topic.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/iotenablers/enablers/annotate"
)

//go:embed mapping.ttl
var mapping string

//go:embed shapes.ttl
var shapes string

func run(ctx context.Context, out io.Writer) error {
	broker := annotate.NewMemoryBroker(nil)
	topic := func(name string) annotate.Topic { return annotate.Topic{Name: name, Broker: annotate.Memory} }
	failures := topic("failures")
	channel, err := annotate.NewChannel(annotate.ChannelConfig{
		Input: topic("readings"), Output: topic("graphs"), Error: &failures, ErrorFormat: annotate.ErrorJSON,
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: mapping, Shapes: shapes},
	}, annotate.Environment{Drivers: []annotate.Driver{annotate.MemoryDriver(broker)}})
	if err != nil {
		return err
	}
	defer channel.Close()
	if err := channel.Start(ctx); err != nil {
		return err
	}
	for _, reading := range []string{
		`{"id": 1, "celsius": 21.5, "room": "kitchen"}`,
		`{"id": 2, "celsius": 215.5, "room": "kitchen"}`, // a sensor with the wrong scale
		`{"id": 3, "celsius": 20.9}`,
	} {
		if err := broker.Publish(ctx, annotate.Message{Topic: "readings", Payload: []byte(reading)}); err != nil {
			return err
		}
	}
	graphs, err := broker.Await(ctx, "graphs", 2)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "graphs:")
	for _, m := range graphs {
		fmt.Fprintf(out, "%s\n", m.Payload)
	}
	failed, err := broker.Await(ctx, "failures", 1)
	if err != nil {
		return err
	}
	if err := report(out, failed[0].Payload); err != nil {
		return err
	}
	if err := channel.Stop(ctx); err != nil {
		return err
	}
	stats := channel.Stats()
	fmt.Fprintf(out, "received %d, invalid %d, warned of %d\n", stats.Received, stats.Invalid, stats.Warned)
	return nil
}

// report writes what an error message says about shapes.
func report(out io.Writer, failure []byte) error {
	var f struct {
		Violations []struct {
			Focus, Path, Message, Value string
			Line                        int
		}
	}
	if err := json.Unmarshal(failure, &f); err != nil {
		return err
	}
	fmt.Fprintln(out, "failures:")
	for _, v := range f.Violations {
		fmt.Fprintf(out, "%s %s\n  %s, but it is %s (shapes, line %d)\n", v.Focus, v.Path, v.Message, v.Value, v.Line)
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
