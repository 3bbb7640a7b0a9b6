package flcollect_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// custom makes strategies of a user, over FedAvg.
type custom struct {
	neighbours
	begin func(round strategy.Round) error
	wrap  func(strategy.Aggregation) strategy.Aggregation
}

func (c *custom) Strategy(_ context.Context, _ string, conf strategy.Conf) (strategy.Strategy, error) {
	made, err := strategy.New("FedAvg", conf)
	return customStrategy{made, c}, err
}

type customStrategy struct {
	strategy.Strategy
	custom *custom
}

func (s customStrategy) Begin(round strategy.Round) (strategy.Aggregation, error) {
	if s.custom.begin != nil {
		if err := s.custom.begin(round); err != nil {
			return nil, err
		}
	}
	sums, err := s.Strategy.Begin(round)
	if err == nil && s.custom.wrap != nil && round.Number == 2 {
		sums = s.custom.wrap(sums)
	}
	return sums, err
}

// faulty fails in one of its methods.
type faulty struct {
	strategy.Aggregation
	add    error
	finish strategy.Model
}

func (f faulty) Add(ctx context.Context, u strategy.Update) error {
	if f.add != nil {
		return f.add
	}
	return f.Aggregation.Add(ctx, u)
}

func (f faulty) Finish(ctx context.Context) (strategy.Model, error) {
	if f.finish != nil {
		return f.finish, nil
	}
	return f.Aggregation.Finish(ctx)
}

func TestServer_Result_isTheLastRoundBeforeAFailedAggregation(t *testing.T) {
	ours := config(3, 1)
	ours.Strategy = "ours"
	for name, c := range map[string]struct {
		fails  faulty
		reason string
	}{
		"disk full": {faulty{add: errors.New("no space left on device")}, "no space left on device"},
		"not finite": {faulty{finish: strategy.Model{tensor.FromFloat32s([]float32{0, float32(math.Inf(1)), 0}),
			tensor.FromFloat32s([]float32{1})}},
			"aggregate round 2: unsound model: element 1 of tensor 0 is +Inf"},
		"another form": {faulty{finish: strategy.Model{tensor.FromFloat32s([]float32{0})}}, "it has 1 tensors instead of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			n := &custom{wrap: func(sums strategy.Aggregation) strategy.Aggregation {
				c.fails.Aggregation = sums
				return c.fails
			}}
			w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n})
			w.join(t, trainer{step: 1, examples: 1})
			require.NoError(t, w.Start(t.Context(), "job", ours))
			status := w.untilState(t, "job", report.Interrupted)
			require.Contains(t, status.Error, c.reason)
			require.Equal(t, 1, status.Round)
			require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "job"))
			_, stored := n.stored("job")
			require.False(t, stored)
		})
	}
}

func TestConfig_Dir_thatIsGoneInterruptsTheJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Dir: filepath.Join(t.TempDir(), "gone")})
	w.join(t, trainer{step: 1, examples: 1})
	conf := config(1, 1)
	conf.Strategy = "FedMedian"
	require.NoError(t, w.Start(t.Context(), "job", conf))
	require.Contains(t, w.untilState(t, "job", report.Interrupted).Error, "gone")
}

func TestConfig_Strategies_getTheLastAggregatedLoss(t *testing.T) {
	var losses []any
	n := &custom{begin: func(round strategy.Round) error {
		if round.Loss == nil {
			losses = append(losses, nil)
		} else {
			losses = append(losses, *round.Loss)
		}
		return nil
	}}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n})
	w.join(t, trainer{step: 1, examples: 1})
	conf := config(3, 1)
	conf.Strategy = "ours"
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []any{nil, 1.0, 2.0}, losses)
}

func TestServer_Start_trainsWithEveryBuiltInStrategy(t *testing.T) {
	needs := map[string]strategy.Conf{"FedProx": {"proximal_mu": 1}, "QFedAvg": {"qffl_learning_rate": 1}}
	for _, name := range strategy.Names() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flcollect.Config{Initial: zeros})
			conf := config(2, 3)
			conf.Strategy = name
			for field, v := range needs[name] {
				conf.StrategyConf[field] = v
			}
			for range 3 {
				client := trainer{step: 1, examples: 1}
				if name == "QFedAvg" {
					client.fit = withLoss
				}
				w.join(t, client)
			}
			require.NoError(t, w.Start(t.Context(), "job", conf))
			status := w.untilState(t, "job", report.Finished)
			require.Empty(t, status.Quarantined)
			rounds, err := w.Rounds(t.Context(), "job", 0, 0)
			require.NoError(t, err)
			for _, r := range rounds {
				require.True(t, r.Aggregated, r.Note)
			}
			require.NotEqual(t, []float64{0, 0, 0, 1}, w.weights(t, "job"))
		})
	}
}
