package flcollect_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func randomModel(elements int) strategy.Model {
	values := make([]float32, elements)
	for i := range values {
		values[i] = rand.Float32()
	}
	return strategy.Model{tensor.FromFloat32s(values)}
}

// BenchmarkUpdate is what an update of a million parameters costs: adding it up,
// measuring its norm besides, and its digest alone.
func BenchmarkUpdate(b *testing.B) {
	const elements = 1_000_000
	base, sent := randomModel(elements), randomModel(elements)
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(b, err)
	around, err := strategy.NewBounded(fedAvg, strategy.Conf{"norm_clip": false})
	require.NoError(b, err)
	for name, made := range map[string]strategy.Strategy{"folded": fedAvg, "bounded and folded": around} {
		b.Run(name, func(b *testing.B) {
			round, err := made.Begin(strategy.Round{Number: 1, Model: base})
			require.NoError(b, err)
			b.SetBytes(4 * elements)
			for i := 0; b.Loop(); i++ {
				require.NoError(b, round.Add(b.Context(), strategy.Update{Client: fmt.Sprint(i), Examples: 1, Model: sent}))
			}
			require.NoError(b, round.Close())
		})
	}
	b.Run("digested", func(b *testing.B) {
		parameters := flower.FromTensors(sent...)
		b.SetBytes(4 * elements)
		for b.Loop() {
			parameters.Digest()
		}
	})
}

// BenchmarkJob is a round of eight clients that answer at once, over the loopback
// interface, without an evaluation, so that the server is all that takes time.
func BenchmarkJob(b *testing.B) {
	const elements, clients = 2_500_000, 8
	initial := func(context.Context, jobconfig.Config) (strategy.Model, error) { return randomModel(elements), nil }
	for _, c := range []struct {
		name    string
		options flcollect.Config
	}{
		{"trusted, no audit", flcollect.Config{TrustClients: true, NoAudit: true}},
		{"bounded, no audit", flcollect.Config{NoAudit: true}},
		{"trusted, audited", flcollect.Config{TrustClients: true}},
		{"bounded, audited", flcollect.Config{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.options.Initial, c.options.Dir = initial, b.TempDir()
			w := newWorld(b, c.options)
			for range clients {
				parameters := flower.FromTensors(randomModel(elements)...)
				client, err := flower.NewClient(flower.ClientConfig{Target: w.address, Trainer: fixed{parameters},
					Dial: w.dial})
				require.NoError(b, err)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = client.Run(ctx) // ends with the benchmark
				}()
				defer func() { cancel(); <-done }()
			}
			conf := config(b.N, clients)
			conf.StrategyConf["fraction_evaluate"] = 0
			b.SetBytes(4 * elements * clients)
			require.NoError(b, w.Start(b.Context(), "job", conf))
			for status := (flcollect.Status{}); status.State != report.Finished; {
				changed := w.Changed("job")
				var err error
				status, err = w.Status(b.Context(), "job")
				require.NoError(b, err)
				if status.State != report.Finished {
					<-changed
				}
			}
		})
	}
}

// fixed is a client that always sends the same.
type fixed struct{ parameters flower.Parameters }

func (f fixed) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

func (f fixed) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return f.parameters, nil
}

func (f fixed) Fit(context.Context, flower.FitIns) (*flower.FitRes, error) {
	return &flower.FitRes{Parameters: f.parameters, NumExamples: 1}, nil
}

func (f fixed) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{NumExamples: 1}, nil
}
