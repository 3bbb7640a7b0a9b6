package scale_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

const collectorLease = 10 * time.Second // of cmd/flcollector

// What collectors ask of their store while jobs wait for clients: each renews its lease three
// times in a lease, and reads five times all leases and all jobs that have something to do.
func TestCollectors_readWhatTheFormulaSays(t *testing.T) {
	heading("Collectors on one store, jobs that wait for clients: a second of virtual time",
		"collectors", "jobs", "writes", "lists", "documents read", "of the formula", "kB read")
	for _, size := range sizes([][2]int{{1, 10}, {3, 10}, {10, 10}}, [][2]int{{3, 100}, {10, 100}, {30, 100}, {10, 500}}) {
		t.Run(fmt.Sprintf("%d collectors, %d jobs", size[0], size[1]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { collectorTrial(t, size[0], size[1]) })
		})
	}
}

func collectorTrial(t *testing.T, servers, jobs int) {
	counted := &meter{delay: answer}
	documents, blobs := counted.documents(storage.NewMemoryDocuments()), counted.blobs(storage.NewMemoryBlobs())
	var all []*flcollect.Server
	ctx, stop := context.WithCancel(t.Context())
	for i := range servers {
		s, err := flcollect.NewServer(flcollect.Config{
			Documents: documents, Blobs: blobs, Name: fmt.Sprintf("collector-%d", i), Lease: collectorLease, Initial: zeros(10),
		})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		defer func() { require.NoError(t, <-ended) }()
		require.Eventually(t, func() bool { return s.Ready() == nil }, time.Minute, 10*time.Millisecond)
		all = append(all, s)
	}
	defer stop()
	for i := range jobs {
		require.NoError(t, all[i%servers].Start(ctx, fmt.Sprintf("job-%d", i), averaging(1, 1)))
	}
	time.Sleep(time.Minute)
	const span = 5 * time.Minute
	began := counted.read()
	time.Sleep(span)
	rate := counted.read().minus(began).over(span.Seconds())

	s, look := float64(servers), 1/(collectorLease.Seconds()/5+2*answer.Seconds())
	formula := s * look * (s + float64(jobs))
	require.InEpsilon(t, s*3/collectorLease.Seconds(), rate.writes, 0.05)
	require.InEpsilon(t, formula, rate.documents, 0.1)
	row(servers, jobs, rate.writes, rate.lists, rate.documents, percent(rate.documents/formula), rate.bytesRead/1e3)
}

// What a round costs at the store, one of several servers' or not: it does not grow with the
// size of the model, but for the one blob, nor with the clients, but for the bytes.
func TestCollectors_storeAFewDocumentsARound(t *testing.T) {
	heading("A round of training at the store", "clients", "numbers of the model", "document writes", "document reads",
		"kB of documents written", "blobs written")
	const first, last = 2, 12
	for _, size := range sizes([][2]int{{1, 100}, {10, 100}}, [][2]int{{10, 100_000}, {100, 100}, {300, 100}}) {
		short, long := training(t, size[0], size[1], first), training(t, size[0], size[1], last)
		round := long.minus(short).over(last - first)
		require.Less(t, round.writes, 12.0)
		require.InDelta(t, 1, round.blobs, 0.3)
		row(size[0], size[1], round.writes, round.gets+round.lists, round.bytesStored/1e3, round.blobs)
	}
}

// training trains for some rounds and returns what the store was asked.
func training(t *testing.T, clients, numbers, rounds int) tally {
	counted := &meter{}
	s, err := flcollect.NewServer(flcollect.Config{
		Documents: counted.documents(storage.NewMemoryDocuments()), Blobs: counted.blobs(storage.NewMemoryBlobs()), Initial: zeros(numbers),
	})
	require.NoError(t, err)
	pool, err := flower.NewServer(flower.ServerConfig{Handle: s.Handle})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	serving, hangUp := context.WithCancel(t.Context())
	ran, served := make(chan error, 1), make(chan error, 1)
	go func() { ran <- s.Run(running) }()
	go func() { served <- pool.Serve(serving, listener) }()
	require.Eventually(t, func() bool { return s.Ready() == nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, s.Start(t.Context(), "job", averaging(rounds, clients)))
	ended := make(chan error, clients)
	for range clients {
		c, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: echo{}})
		require.NoError(t, err)
		go func() { ended <- c.Run(t.Context()) }()
	}
	for range clients {
		require.NoError(t, <-ended)
	}
	stop()
	require.NoError(t, <-ran)
	hangUp()
	require.NoError(t, <-served)
	return counted.read()
}

func averaging(rounds, clients int) jobconfig.Config {
	return jobconfig.Config{Strategy: "avg", Rounds: rounds, StrategyConf: strategy.Conf{
		"min_available_clients": clients, "min_fit_clients": clients, "min_evaluate_clients": clients,
	}}
}

func zeros(numbers int) func(context.Context, jobconfig.Config) (strategy.Model, error) {
	return func(context.Context, jobconfig.Config) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat32s(make([]float32, numbers))}, nil
	}
}

// echo is a client that learns nothing.
type echo struct{}

func (echo) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (echo) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.Parameters{}, flower.ErrNotImplemented
}

func (echo) Fit(_ context.Context, in flower.FitIns) (*flower.FitRes, error) {
	return &flower.FitRes{Parameters: in.Parameters, NumExamples: 100, Metrics: flower.Config{"loss": 0.5}}, nil
}

func (echo) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{Loss: 0.5, NumExamples: 100, Metrics: flower.Config{"accuracy": 0.75}}, nil
}
