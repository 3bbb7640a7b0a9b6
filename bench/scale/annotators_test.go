package scale_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/bench/stream/workload"
	"github.com/iotenablers/enablers/storage"
)

// The settings of cmd/annotator, and how long a store takes to answer.
const (
	annotatorLease = 1500 * time.Millisecond
	annotatorPoll  = 2 * time.Second
	answer         = 2 * time.Millisecond
)

// What annotators ask of the store that they share, once all channels run and nothing changes.
func TestAnnotators_readWhatTheFormulaSays(t *testing.T) {
	heading("Annotators on one store, at rest: a second of virtual time",
		"annotators", "channels", "writes", "lists", "documents read", "of the formula", "MB read", "of the formula",
		"a record, B", "a lease, B",
		"processor time, ms", "kB of memory, a channel and annotator")
	for _, size := range sizes([][2]int{{1, 30}, {3, 30}, {10, 30}},
		[][2]int{{1, 100}, {3, 100}, {10, 100}, {30, 100}, {100, 100}, {3, 1000}}) {
		t.Run(fmt.Sprintf("%d annotators, %d channels", size[0], size[1]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { annotatorTrial(t, size[0], size[1]) })
		})
	}
}

// wait takes the time of an answer.
func (m *meter) wait() { time.Sleep(m.delay) }

func annotatorTrial(t *testing.T, servers, channels int) {
	counted := &meter{delay: answer}
	store := storage.NewMemoryDocuments()
	broker := annotate.NewMemoryBroker(nil)
	before := heap()
	var all []*manager.Manager
	ctx, stop := context.WithCancel(t.Context())
	for i := range servers {
		m, err := manager.New(manager.Config{
			Environment: annotate.Environment{
				Drivers: []annotate.Driver{mqtt.Driver(broker, nil)}, Instance: fmt.Sprintf("annotator-%d", i),
			},
			Documents: counted.documents(store), Shared: true, LeaseDuration: annotatorLease, PollInterval: annotatorPoll,
		})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		defer func() { require.NoError(t, <-ended) }()
		<-m.Ready()
		all = append(all, m)
	}
	defer stop()
	for i := range channels {
		_, err := all[i%servers].Create(ctx, weatherChannel(i))
		require.NoError(t, err)
	}
	time.Sleep(time.Minute) // all shares are even
	running := 0
	for c := range all[0].All() {
		if !c.Status.Stopped {
			running++
		}
	}
	require.Equal(t, channels, running)
	memory := heap() - before

	const span = time.Minute
	began, cpu := counted.read(), processorTime()
	time.Sleep(span)
	rate := counted.read().minus(began).over(span.Seconds())
	cpu = processorTime() - cpu

	record, claim, instance := storedSize(t, store, "channels/"), storedSize(t, store, "claims/"), storedSize(t, store, "instances/")
	documents, bytes := annotatorFormula(servers, channels, record, claim, instance)
	require.InEpsilon(t, float64(servers)*6/annotatorLease.Seconds(), rate.writes, 0.05)
	require.InEpsilon(t, documents, rate.documents, 0.1)
	require.InEpsilon(t, bytes, rate.bytesRead, 0.1)
	row(servers, channels, rate.writes, rate.lists, rate.documents, percent(rate.documents/documents),
		rate.bytesRead/1e6, percent(rate.bytesRead/bytes), record, claim,
		float64(cpu.Milliseconds())/span.Seconds(), memory/1e3/float64(servers*channels))
}

// annotatorFormula is what the code says that annotators read in a second: each the leases of
// all of them eight times in a lease, with pauses that are a twentieth shorter in the mean,
// and at each look at everything; and at each look every channel and its lease.
func annotatorFormula(servers, channels int, record, claim, instance float64) (documents, bytes float64) {
	watch := 1 / (annotatorLease.Seconds()/8*0.95 + answer.Seconds())
	look := 1 / annotatorPoll.Seconds()
	s, c := float64(servers), float64(channels)
	return s * ((watch+look)*s + 2*look*c), s * ((watch+look)*s*instance + look*c*(record+claim))
}

// storedSize returns the mean size of the documents below a prefix.
func storedSize(t *testing.T, store storage.Documents, prefix string) float64 {
	bytes, n := 0, 0
	for document, err := range storage.All(t.Context(), store, prefix) {
		require.NoError(t, err)
		bytes += len(document.Data)
		n++
	}
	return math.Round(float64(bytes) / float64(max(n, 1)))
}

// weatherChannel is a channel with the mapping of bench/stream.
func weatherChannel(i int) manager.ChannelConfig {
	topic := func(name string) annotate.Topic { return annotate.Topic{Name: name, Broker: mqtt.Type} }
	id := fmt.Sprintf("weather-%06d", i)
	return manager.ChannelConfig{ChannelConfig: annotate.ChannelConfig{
		ID: id, Input: topic(id + "/in"), Output: topic(id + "/out"),
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: annotate.NTriples, RML: workload.Mapping},
	}}
}
