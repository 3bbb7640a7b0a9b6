package ha_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

// channels is how many there are. Each has a message every 20 ms, with QoS 1.
const channels = 6

// annotators are three on one database, with channels from Mosquitto to Mosquitto.
type annotators struct {
	fleet
	names []string
	lines map[string]*load.Line
	gaps  load.Gaps
}

func newAnnotators(p *platform) *annotators {
	a := &annotators{
		fleet: fleet{
			platform: p, program: interop.Build(p.t, "annotator"), servers: make([]*interop.Server, 3),
			arguments: []string{"-listen", "127.0.0.1:0", "-access", "none", "-log-to-file=false",
				"-store", p.store.URI + "/" + p.store.Database(p.t)},
			ready: func(int, *interop.Server) {},
		},
		names: []string{"one", "two", "three"}, lines: map[string]*load.Line{},
	}
	a.own = func(at int) []string { return []string{"-instance", a.names[at], "-data", p.t.TempDir()} }
	for at := range a.servers {
		a.start(at)
	}
	broker := mqtttest.StartMosquitto(p.t)
	for n := range channels {
		in, out := fmt.Sprintf("ha-%d-in", n), fmt.Sprintf("ha-%d-out", n)
		line := load.NewLine(p.t, in, mqtt.New(nil),
			broker.Topic(in, fmt.Sprint("sender-", n)), broker.Topic(out, fmt.Sprint("reader-", n)))
		settings := func(topic string) map[string]any {
			return map[string]any{"topic": topic, "brokerType": "MQTT",
				"mqttSettings": map[string]any{"protocol": "tcp", "host": broker.Host, "port": broker.Port}}
		}
		a.lines[load.AddChannel(p.t, a.servers[0].URL, in, settings(in), settings(out))] = line
	}
	return a
}

func (a *annotators) work(ctx context.Context) {
	for _, line := range a.lines {
		a.platform.work.Go(func() { line.Feed(ctx, a.platform.t) })
	}
	for _, line := range a.lines {
		line.Await(a.platform.t, 0)
	}
}

func (a *annotators) strike(random *rand.Rand) {
	t := a.platform.t
	victim := random.IntN(len(a.servers))
	witness := a.servers[(victim+1)%len(a.servers)].URL
	var held map[string]string
	await(t, "the annotator runs a channel", func() bool {
		held = load.Holders(t, witness)
		return slices.Contains(slices.Collect(maps.Values(held)), a.names[victim])
	})
	began := time.Now()
	a.servers[victim].Kill()
	marks := map[string]int{}
	for id, holder := range held {
		if holder == a.names[victim] {
			marks[id] = a.lines[id].Sent()
		}
	}
	for id, mark := range marks {
		// Messages from the one after the next on were sent after the kill.
		a.gaps = append(a.gaps, a.lines[id].Await(t, mark+2).Sub(began))
	}
	a.start(victim)
}

func (a *annotators) check() {
	t := a.platform.t
	var sent, outputs int
	for _, line := range a.lines {
		in, out, _ := line.Complete(t)
		sent, outputs = sent+in, outputs+out
	}
	require.NotZero(t, sent)
	t.Logf("annotators: %d messages, none lost, %d outputs more; channels went on after: %v", sent, outputs-sent, a.gaps)
}
