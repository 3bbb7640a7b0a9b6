// Command kafka annotates from one Kafka topic to another, exactly once: every
// output is published in one transaction with the acknowledgement of its
// input, so that a consumer that reads committed messages sees no output twice
// and misses none, whatever crashes.
//
//	go run ./examples/kafka -host 127.0.0.1 -port 9092 -in weather-json -out weather-rdf -errors weather-errors
//
// The topics must be there. It runs until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/examples/weather"
)

// topics has the topics of the messages.
type topics struct {
	host            string
	port            int
	in, out, errors string
}

func main() {
	var t topics
	flag.StringVar(&t.host, "host", "127.0.0.1", "host of one broker of the cluster")
	flag.IntVar(&t.port, "port", 9092, "its port")
	flag.StringVar(&t.in, "in", "weather-json", "topic of the messages")
	flag.StringVar(&t.out, "out", "weather-rdf", "topic of what they mean")
	flag.StringVar(&t.errors, "errors", "weather-errors", "topic of what is wrong with messages")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, t, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run annotates until ctx ends.
func run(ctx context.Context, t topics, stdout io.Writer) error {
	channel, err := annotate.NewChannel(config(t), annotate.Environment{
		Drivers: []annotate.Driver{kafka.Driver(kafka.New(nil), nil)},
	})
	if err != nil {
		return err
	}
	defer func() { _ = channel.Close() }() // stopped by then, or started in vain
	if err := channel.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "annotating %s to %s\n", t.in, t.out)
	<-ctx.Done()
	if err := channel.Stop(context.Background()); err != nil { // finishes what it has
		return err
	}
	stats := channel.Stats()
	fmt.Fprintf(stdout, "annotated %d, failed %d\n", stats.Published, stats.Failed)
	return nil
}

// config is the channel. Its group begins with the oldest messages, and its
// error messages are JSON objects.
func config(t topics) annotate.ChannelConfig {
	topic := func(name string) annotate.Topic {
		return annotate.Topic{Name: name, Broker: kafka.Type, Settings: kafka.Settings{
			Host: t.host, Port: t.port, GroupID: "annotator", OffsetReset: kafka.Earliest,
		}}
	}
	failures := topic(t.errors)
	return annotate.ChannelConfig{
		Input: topic(t.in), Output: topic(t.out), Error: &failures,
		ExactlyOnce: true,
		ErrorFormat: annotate.ErrorJSON,
		Mapping:     annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: weather.JSONMapping()},
	}
}
