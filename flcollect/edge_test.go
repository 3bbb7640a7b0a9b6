package flcollect_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// newNamed runs a server that names its clients as they name themselves.
func newNamed(t *testing.T, options flcollect.Config) *world {
	t.Helper()
	return newNamedOn(t, loopback{}, options)
}

// newNamedOn is newNamed on a network.
func newNamedOn(t *testing.T, n network, options flcollect.Config) *world {
	t.Helper()
	options.Documents, options.Blobs = storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	options.Dir = t.TempDir()
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle, Identify: func(p flower.Peer) (string, error) {
		name, err := flower.Identify(p)
		return cmp.Or(p.Label(), name), err
	}})
	require.NoError(t, err)
	return serve(t, n, options, server, flowers, n.listen(t))
}

// newEdge runs a server that follows another, on its network.
func newEdge(t *testing.T, upper *world, name string) *world {
	t.Helper()
	return newNamedOn(t, upper.network, flcollect.Config{
		Upstream: &flcollect.Upstream{Target: upper.address, Name: name, Dial: upper.dial},
	})
}

// bitsModel is a model with layers of several forms.
func bitsModel(context.Context, jobconfig.Config) (strategy.Model, error) {
	random := rand.New(rand.NewPCG(7, 7))
	return strategy.Map(strategy.Model{
		tensor.FromFloat32s(make([]float32, 2000), 40, 50), tensor.FromFloat64s(make([]float64, 700)),
		tensor.FromInt64s(make([]int64, 1)), tensor.FromFloat32s(nil, 0),
	}, func(values []float64, _, _ int) {
		for i := range values {
			values[i] = random.NormFloat64()
		}
	}), nil
}

// erratic is a client whose updates, weights and metrics are those of its number: the same
// at every collector.
func erratic(number int) trainer {
	noise := func(salt uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(number), salt)) }
	examples := 1 + noise(1).Int64N(1<<(number%30+5))
	return trainer{
		examples: examples,
		fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
			model, err := ins.Parameters.Decode()
			if err != nil {
				return err
			}
			random := noise(uint64(model[0].Float64s()[0] * 1e6))
			trained := strategy.Map(model, func(values []float64, layer, from int) {
				model[layer].ReadFloat64s(values, from)
				for i := range values {
					values[i] += 0.1 * random.NormFloat64()
				}
			})
			res.Parameters = flower.FromTensors(trained...)
			res.Metrics = flower.Config{"skill": random.Float64(), "count": random.Int64N(1000)}
			if number == 3 {
				delete(res.Metrics, "skill")
			}
			return nil
		},
		evaluate: func(_ context.Context, _ flower.EvaluateIns, res *flower.EvaluateRes) error {
			random := noise(2)
			res.Loss, res.Metrics = random.Float32(), flower.Config{"accuracy": random.Float64()}
			return nil
		},
	}
}

// finished returns the result and the rounds of a job once it has ended.
func (w *world) finished(t *testing.T, id string) (flcollect.Result, []report.Round) {
	t.Helper()
	status := w.untilState(t, id, report.Finished)
	require.Empty(t, status.Error)
	result, err := w.Result(t.Context(), id)
	require.NoError(t, err)
	rounds, err := w.Rounds(t.Context(), id, 0, 0)
	require.NoError(t, err)
	return result, rounds
}

// TestUpstream_threeLevelsHaveTheBitsOfOne trains with 30 clients at 6 edges, behind 3
// collectors, behind one, and with the same 30 at one collector.
func TestUpstream_threeLevelsHaveTheBitsOfOne(t *testing.T) {
	const clients, rounds = 30, 4
	for _, name := range []string{"FedAvg", "FedYogi"} {
		t.Run(name, func(t *testing.T) {
			of := func(clients int) jobconfig.Config {
				c := config(rounds, clients)
				c.Strategy = name
				return c
			}
			flat := newNamed(t, flcollect.Config{Initial: bitsModel})
			require.NoError(t, flat.Start(t.Context(), "job", of(clients)))
			top := newNamed(t, flcollect.Config{Initial: bitsModel})
			require.NoError(t, top.Start(t.Context(), "job", of(3)))
			var below []*world
			number := 0
			for m := range 3 {
				middle := newEdge(t, top, fmt.Sprint("middle-", m))
				require.NoError(t, middle.Start(t.Context(), "job", of(2)))
				below = append(below, middle)
				for e := range 2 {
					edge := newEdge(t, middle, fmt.Sprint("edge-", e))
					most := 3 + (2*m+e)%3*2 // 3, 5, 7, 3, 5, 7
					require.NoError(t, edge.Start(t.Context(), "job", of(most)))
					below = append(below, edge)
					for range most {
						own := fmt.Sprintf("client-%02d", (number*7)%clients) // in no order of edges
						edge.joinNamed(t, erratic((number*7)%clients), own)
						flat.joinNamed(t, erratic((number*7)%clients), own)
						number++
					}
				}
			}
			require.Equal(t, clients, number)
			want, wantRounds := flat.finished(t, "job")
			got, gotRounds := top.finished(t, "job")
			for i, layer := range want.Weights {
				require.Equal(t, layer.Chunks(), got.Weights[i].Chunks(), "layer %d", i)
			}
			require.Equal(t, want.FinalLoss, got.FinalLoss)
			require.Equal(t, want.Metrics, got.Metrics)
			require.Len(t, gotRounds, rounds)
			for i, r := range gotRounds {
				require.Equal(t, wantRounds[i].FitMetrics, r.FitMetrics)
				require.Equal(t, wantRounds[i].Metrics, r.Metrics)
				require.Equal(t, wantRounds[i].Loss, r.Loss)
				require.Equal(t, report.Phase{Clients: 3, Results: 3}, counts(r.Fit))
				require.EqualValues(t, 30, r.Fit.Below.Results)
				require.EqualValues(t, 30, r.Evaluate.Below.Clients)
				require.Contains(t, r.Note, `metric "skill" is without client-03 (not sent)`)
			}
			for _, w := range below {
				status := w.untilState(t, "job", report.Finished)
				require.Empty(t, status.Error)
				require.Equal(t, rounds, status.Round)
				own, err := w.Rounds(t.Context(), "job", 0, 0)
				require.NoError(t, err)
				require.Len(t, own, rounds)
				_, err = w.Result(t.Context(), "job")
				require.ErrorIs(t, err, flcollect.ErrNoResult)
			}
		})
	}
}

// TestUpstream_countsADyingEdgeAsAFailure ends an edge while its clients train, and another
// takes its place.
func TestUpstream_countsADyingEdgeAsAFailure(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		top := newNamedOn(t, lan, flcollect.Config{Initial: zeros})
		require.NoError(t, top.Start(t.Context(), "job", withAvailable(config(2, 1), 2, 1)))
		dies, lives := newEdge(t, top, "dies"), newEdge(t, top, "lives")
		training := make(chan struct{})
		dies.joinNamed(t, trainer{step: 100, examples: 1, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
			close(training)
			<-ctx.Done()
			return ctx.Err()
		}}, "a")
		for _, name := range []string{"b", "c"} {
			lives.joinNamed(t, trainer{step: 1, examples: 3}, name)
		}
		require.NoError(t, dies.Start(t.Context(), "job", config(9, 1)))
		require.NoError(t, lives.Start(t.Context(), "job", config(9, 2)))
		<-training
		dies.end()
		other := newEdge(t, top, "other")
		other.joinNamed(t, trainer{step: 1, examples: 1}, "d")
		require.NoError(t, other.Start(t.Context(), "job", config(9, 1)))
		_, rounds := top.finished(t, "job")
		require.Equal(t, report.Phase{Clients: 2, Results: 1, Failures: 1}, counts(rounds[0].Fit))
		require.EqualValues(t, 2, rounds[0].Fit.Below.Results)
		require.Equal(t, []float64{2, 2, 2, 3}, top.weights(t, "job"))
		require.Equal(t, report.Finished, lives.untilState(t, "job", report.Finished).State)
	})
}

// TestUpstream_goesOnAfterTheUpperServerCameBack restarts the upper server between rounds.
func TestUpstream_goesOnAfterTheUpperServerCameBack(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		options := flcollect.Config{Initial: zeros, Park: time.Second}
		top := newWorldOn(t, lan, options)
		require.NoError(t, top.Start(t.Context(), "job", config(3, 1)))
		edge := newEdge(t, top, "edge")
		slow, gate := gated(1, 1)
		ended, _ := edge.joinNamed(t, slow, "a")
		require.NoError(t, edge.Start(t.Context(), "job", config(3, 1)))
		gate <- struct{}{}
		top.until(t, "job", "in round 2", func(s flcollect.Status) bool { return s.Round == 1 })
		top = top.restart(t, options)
		close(gate)
		_, rounds := top.finished(t, "job")
		require.Len(t, rounds, 3)
		require.Equal(t, []float64{3, 3, 3, 4}, top.weights(t, "job"))
		edge.untilState(t, "job", report.Finished)
		require.NoError(t, <-ended, "the client was not disturbed")
	})
}

// TestUpstream_failsTheRoundOfAnEdgeWithTooFewResults leaves its session as it is.
func TestUpstream_failsTheRoundOfAnEdgeWithTooFewResults(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, top.Start(t.Context(), "job", config(2, 2)))
	poor, good := newEdge(t, top, "poor"), newEdge(t, top, "good")
	var fits atomic.Int64
	poor.joinNamed(t, trainer{step: 1, examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
		if fits.Add(1) == 1 {
			res.Parameters = flower.FromTensors(tensor.FromFloat32s([]float32{1, 2})) // a wrong shape
		}
		return nil
	}}, "a")
	good.joinNamed(t, trainer{step: 1, examples: 1}, "b")
	require.NoError(t, poor.Start(t.Context(), "job", config(9, 1)))
	require.NoError(t, good.Start(t.Context(), "job", config(9, 1)))
	_, rounds := top.finished(t, "job")
	require.Equal(t, report.Phase{Clients: 2, Results: 1, Failures: 1}, counts(rounds[0].Fit))
	require.Contains(t, rounds[0].Note, "fit has no results, 1 failures")
	require.Equal(t, report.Phase{Clients: 2, Results: 2}, counts(rounds[1].Fit))
	status := poor.untilState(t, "job", report.Finished)
	require.Len(t, status.Quarantined, 1)
	require.Equal(t, "a", status.Quarantined[0].Client)
}

// TestUpstream_reportsRefusalsUpwards has a client refused at an edge.
func TestUpstream_reportsRefusalsUpwards(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, top.Start(t.Context(), "job", config(1, 1)))
	edge := newEdge(t, top, "edge")
	for i, name := range []string{"a", "b"} {
		edge.joinNamed(t, trainer{step: 1, examples: int64(i)}, name) // a has none
	}
	require.NoError(t, edge.Start(t.Context(), "job", config(9, 2)))
	_, rounds := top.finished(t, "job")
	require.Equal(t, &report.Below{Collectors: 1, Clients: 2, Results: 1, Failures: 1, Refused: 1}, rounds[0].Fit.Below)
	status, err := top.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Len(t, status.Quarantined, 2) // of the fit and of the evaluation
	require.Equal(t, "edge/a", status.Quarantined[0].Client)
	require.Contains(t, status.Quarantined[0].Reason, "num_examples is 0")
	require.Contains(t, rounds[0].Note, "fit: of 2 clients behind 1 collectors 1 failed or were refused")
}

// TestUpstream_reportsFarUpdatesUpwards has norm bounding at an edge.
func TestUpstream_reportsFarUpdatesUpwards(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, top.Start(t.Context(), "job", config(1, 1)))
	middle := newEdge(t, top, "middle")
	require.NoError(t, middle.Start(t.Context(), "job", config(1, 1)))
	edge := newEdge(t, middle, "edge")
	for i, step := range []float64{1, 1, 1, 1, 96} {
		edge.joinNamed(t, trainer{step: step, examples: 1}, fmt.Sprint("client-", i))
	}
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 5)))
	_, rounds := top.finished(t, "job")
	require.Equal(t, &report.Below{Collectors: 1, Clients: 5, Results: 5, Far: 1}, rounds[0].Fit.Below)
	require.Contains(t, rounds[0].Note, "1 updates lay far from the model")
	require.Equal(t, []float64{20, 20, 20, 21}, top.weights(t, "job"), "they are part of the model all the same")
	own, err := edge.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, own[0].Updates.Far)
}

func TestUpstream_refusesStrategiesThatNeedEveryUpdate(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	krum := config(1, 1)
	krum.Strategy = "Krum"
	require.NoError(t, top.Start(t.Context(), "job", krum))
	edge := newEdge(t, top, "edge")
	for _, change := range []func(*jobconfig.Config){
		func(c *jobconfig.Config) { c.Strategy = "FedMedian" },
		func(c *jobconfig.Config) { c.StrategyConf["norm_factor"] = 5.0 },
		func(c *jobconfig.Config) {
			c.DPAdaptive = private(1).DPAdaptive
		},
	} {
		c := config(1, 1)
		change(&c)
		err := edge.Start(t.Context(), "other", c)
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "strategy", field.Field)
		require.ErrorContains(t, err, "needs the update of every client")
	}
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	status := edge.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, `job "job" with the strategy "Krum" takes no collectors as clients: it needs the update of every client`)
}

// newUpper serves the one client of an upper server, and returns its address.
func newUpper(t *testing.T, handle func(context.Context, *flower.Session) error) string {
	t.Helper()
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: handle})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- flowers.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

func TestUpstream_countsARepeatedRoundOnce(t *testing.T) {
	again := flower.Config{"enablers-edge": "enablers.sum/1", "enablers-round": int64(1)}
	upper := newUpper(t, func(ctx context.Context, s *flower.Session) error {
		for range 2 {
			res, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s([]float32{1})), Config: again})
			if err != nil {
				return err
			}
			res.Release()
		}
		return s.Reconnect(ctx, 0)
	})
	edge := newNamed(t, flcollect.Config{Upstream: &flcollect.Upstream{Target: upper}})
	edge.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	status := edge.untilState(t, "job", report.Finished)
	require.Equal(t, 1, status.Round)
	require.Equal(t, 1, status.Aggregated)
}

func TestUpstream_endsWithAnUpperServerThatKnowsNoEdges(t *testing.T) {
	answers := make(chan error, 1)
	upper := newUpper(t, func(ctx context.Context, s *flower.Session) error {
		res, err := s.Fit(ctx, flower.FitIns{Parameters: flower.FromTensors(tensor.FromFloat32s([]float32{1}))})
		if res != nil {
			res.Release()
		}
		answers <- err
		return errors.New("it failed")
	})
	edge := newNamed(t, flcollect.Config{Upstream: &flcollect.Upstream{Target: upper}})
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	status := edge.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "the upper collector does not take the sums of collectors")
	require.Error(t, <-answers, "and no mean")
}

func TestUpstream_endsWhenTheUpperServerIsAwayForTooLong(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		dropped := func(ctx context.Context, _ string) (net.Conn, error) { // as packets are
			timer := time.NewTimer(25 * time.Second)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
			return nil, errors.New("no answer")
		}
		edge := newNamedOn(t, lan, flcollect.Config{
			ClientTimeout: 10 * time.Second, Upstream: &flcollect.Upstream{Target: "192.0.2.1:8088", Dial: dropped},
		})
		require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
		status := edge.untilState(t, "job", report.Interrupted)
		require.Contains(t, status.Error, "no connection for 10s")
	})
}

func TestConfig_NoEdges_refusesCollectors(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros, NoEdges: true})
	require.NoError(t, top.Start(t.Context(), "job", config(1, 1)))
	edge := newEdge(t, top, "edge")
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	status := edge.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "this server takes no collectors as clients")
	top.join(t, trainer{step: 1, examples: 1})
	top.untilState(t, "job", report.Finished)
}

func TestUpstream_endsWhenTheUpperJobIsStopped(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, top.Start(t.Context(), "job", config(1, 2)))
	edge := newEdge(t, top, "edge")
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	top.until(t, "job", "joined by the edge", func(s flcollect.Status) bool { return s.Clients == 1 })
	require.NoError(t, top.StopJob(t.Context(), "job"))
	status := edge.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, `job "job" was interrupted`)
}

func TestUpstream_quarantinesRubbish(t *testing.T) {
	top := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, top.Start(t.Context(), "job", config(1, 2)))
	edge := newEdge(t, top, "edge")
	edge.joinNamed(t, trainer{step: 1, examples: 1}, "a")
	require.NoError(t, edge.Start(t.Context(), "job", config(9, 1)))
	client, err := flower.NewClient(flower.ClientConfig{Target: top.address, Trainer: hostileEdge{}, Name: "hostile",
		Header: map[string]string{"collector-edge-job": "am9i"}}) // "job"
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- client.Run(t.Context()) }()
	status := top.untilState(t, "job", report.Finished)
	require.NoError(t, <-ended)
	require.Equal(t, []float64{1, 1, 1, 2}, top.weights(t, "job"))
	require.Len(t, status.Quarantined, 2)
	require.Equal(t, "hostile", status.Quarantined[0].Client)
	require.Contains(t, status.Quarantined[0].Reason, "upstream: bad summary of an edge")
	require.Contains(t, status.Quarantined[1].Reason, "upstream: bad summary of an edge")
}

// hostileEdge sends rubbish in place of sums.
type hostileEdge struct{ trainer }

func (hostileEdge) Fit(context.Context, flower.FitIns) (*flower.FitRes, error) {
	rubbish := flower.Parameters{Type: "enablers.sum/1", Tensors: []flower.Blob{{[]byte("\x01rubbish")}}}
	return &flower.FitRes{Parameters: rubbish, NumExamples: 1 << 40}, nil
}

func (hostileEdge) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{NumExamples: 1 << 40, Metrics: flower.Config{"enablers.sum/1": []byte("rubbish")}}, nil
}
