// Command store writes weather observations into a SPARQL 1.1 store or to an NGSI-LD broker. A
// message that is written again, after a crash or an outage, is there once.
//
//	go run ./examples/store -url http://127.0.0.1:7878/update
//	go run ./examples/store -kind NGSI-LD -url http://127.0.0.1:1026
//
// The messages come from a broker in memory. With a broker over the network they
// would be acknowledged when the store has confirmed them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/ngsild"
	"github.com/iotenablers/enablers/annotate/sparql"
	"github.com/iotenablers/enablers/examples/weather"
)

func main() {
	kind := flag.String("kind", string(sparql.Type), "kind of the store: SPARQL, by SPARQL Update, or NGSI-LD")
	url := flag.String("url", "http://127.0.0.1:7878/update", "its address")
	count := flag.Int("count", 100, "number of observations")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, annotate.BrokerType(*kind), *url, *count, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run writes the first observations.
func run(ctx context.Context, kind annotate.BrokerType, url string, count int, stdout io.Writer) error {
	output := annotate.Topic{Name: "https://example.org/weather/", Broker: kind}
	switch kind {
	case sparql.Type:
		output.Settings = sparql.Settings{Protocol: sparql.Update, URL: url}
	case ngsild.Type:
		output.Settings = ngsild.Settings{URL: url}
	}
	broker := annotate.NewMemoryBroker(nil)
	channel, err := annotate.NewChannel(annotate.ChannelConfig{
		ID:      "weather", // part of the names of graphs, so it stays the same
		Input:   annotate.Topic{Name: "weather", Broker: annotate.Memory},
		Output:  output,
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: weather.JSONMapping()},
	}, annotate.Environment{Drivers: []annotate.Driver{
		annotate.MemoryDriver(broker), sparql.Driver(sparql.New(nil)), ngsild.Driver(ngsild.New(nil)),
	}})
	if err != nil {
		return err
	}
	defer func() { _ = channel.Close() }() // stopped by then, or started in vain
	if err := channel.Start(ctx); err != nil {
		return err
	}
	sent := 0
	for observation, err := range weather.Observations() {
		if err != nil {
			return err
		}
		if sent == count {
			break
		}
		message := annotate.Message{Topic: "weather", Payload: weather.AppendJSON(nil, observation)}
		if err := broker.Publish(ctx, message); err != nil {
			return err
		}
		sent++
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	stats := channel.Stats()
	for ; stats.Published+stats.Failed < uint64(sent); stats = channel.Stats() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := channel.Stop(ctx); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "written %d, failed %d\n", stats.Published, stats.Failed)
	return nil
}
