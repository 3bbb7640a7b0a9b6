package takeover_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/kafka/kafkatest"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

// rounds is the environment variable with the number of kills. A few are enough to see a
// fault of the ordinary way; a record needs many.
const (
	rounds        = "TAKEOVERS"
	roundsDefault = 5
	channels      = 6
)

// peer is a kind of broker with the topics of the channels.
type peer struct {
	annotate.Broker
	// topic returns a topic of this side, settings those of a channel's topic.
	topic    func(name, client string) annotate.Topic
	settings func(name string) map[string]any
}

func TestAnnotator_threeOnOneStore_killedUnderLoad(t *testing.T) {
	killUnderLoad(t, mosquitto(mqtttest.StartMosquitto(t)))
}

func mosquitto(broker *mqtttest.Mosquitto) peer {
	return peer{mqtt.New(nil), broker.Topic, func(name string) map[string]any {
		return map[string]any{"topic": name, "brokerType": "MQTT",
			"mqttSettings": map[string]any{"protocol": "tcp", "host": broker.Host, "port": broker.Port}}
	}}
}

// A member of a consumer group that was killed is replaced at once: the cluster waits for none.
func TestAnnotator_threeOnOneStore_killedUnderLoadFromKafka(t *testing.T) {
	cluster := kafkatest.Embedded(t)
	for n := range channels {
		cluster.Topic(input(n), 1, 0) // one order of all messages
		cluster.Topic(output(n), 1, 0)
	}
	killUnderLoad(t, peer{kafka.New(nil), cluster.Settings, func(name string) map[string]any {
		return map[string]any{"topic": name, "brokerType": "KAFKA",
			"kafkaSettings": map[string]any{"host": cluster.Host, "port": cluster.Port, "offsetReset": "earliest"}}
	}})
}

func input(channel int) string  { return fmt.Sprintf("takeover-%d-in", channel) }
func output(channel int) string { return fmt.Sprintf("takeover-%d-out", channel) }

func killUnderLoad(t *testing.T, broker peer) {
	t.Helper()
	underLoad(t, broker, (*interop.Server).Kill, nil)
}

// underLoad strikes annotators that run channels, again and again, and has them recover, or
// starts them again, when the others have taken their channels over.
func underLoad(t *testing.T, broker peer, strike, recover func(*interop.Server)) {
	t.Helper()
	store := mongotest.Start(t)
	program := interop.Build(t, "annotator")
	names := []string{"one", "two", "three"}
	fleet := map[string]*interop.Server{}
	database := store.Database(t)
	start := func(name string) {
		fleet[name] = interop.StartServer(t, program, "-listen", "127.0.0.1:0", "-instance", name, "-access", "none",
			"-data", t.TempDir(), "-db-uri", store.URI, "-db-database", database, "-log-to-file=false")
	}
	for _, name := range names {
		start(name)
	}

	lines := map[string]*load.Line{}
	for n := range channels {
		in, out := input(n), output(n)
		l := load.NewLine(t, in, broker,
			broker.topic(in, fmt.Sprintf("sender-%d", n)), broker.topic(out, fmt.Sprintf("reader-%d", n)))
		lines[load.AddChannel(t, fleet["one"].URL, in, broker.settings(in), broker.settings(out))] = l
	}
	var work sync.WaitGroup
	ctx, over := context.WithCancel(t.Context())
	finish := func() {
		over()
		work.Wait()
	}
	t.Cleanup(finish)
	for _, l := range lines {
		work.Go(func() { l.Feed(ctx, t) })
	}
	for _, l := range lines {
		l.Await(t, 0)
	}

	var gaps load.Gaps
	takeovers := map[string]int{}
	kills := load.Number(t, rounds, roundsDefault)
	for range kills {
		<-time.After(rand.N(1500 * time.Millisecond)) // a kill at any phase of leases and looks
		dead, witness := victim(t, fleet, names)
		owned := load.Holders(t, witness.URL)
		marks := map[string]int{}
		at := time.Now()
		strike(fleet[dead])
		for id, holder := range owned {
			if holder == dead {
				marks[id] = lines[id].Sent()
				takeovers[id]++
			}
		}
		for id, mark := range marks {
			// Messages from the one after the next on were sent after the kill.
			gaps = append(gaps, lines[id].Await(t, mark+2).Sub(at))
		}
		if recover != nil {
			recover(fleet[dead])
		} else {
			start(dead)
		}
	}
	finish()
	for id, l := range lines {
		// Of two annotators that publish at once, the one repeats what the other did, again and again.
		_, _, back := l.Complete(t)
		require.LessOrEqual(t, back, takeovers[id]+settling, "channel %q went back more often than it was taken over", l.Name)
	}
	require.NotEmpty(t, gaps)
	t.Logf("%d times, channels taken over, and their gaps: %v", kills, gaps)
}

// settling is how often a channel may change instances besides: shares are made even again
// when an annotator comes back.
const settling = 2

// victim returns an annotator that runs channels, and another one.
func victim(t *testing.T, fleet map[string]*interop.Server, names []string) (dead string, witness *interop.Server) {
	t.Helper()
	late := time.After(load.Patience)
	for {
		dead = names[rand.N(len(names))]
		for _, name := range names {
			if name != dead {
				witness = fleet[name]
			}
		}
		if found := load.Holders(t, witness.URL); len(found) == channels {
			for _, holder := range found {
				if holder == dead {
					return dead, witness
				}
			}
		}
		select {
		case <-late:
			t.Fatalf("not every channel runs within %s: %v", load.Patience, load.Holders(t, witness.URL))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
