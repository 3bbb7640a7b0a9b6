package dp_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/strategytest"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// key is a source of the same key for every round, so that the noise is known.
type key byte

func (k key) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(k) + byte(i)
	}
	return len(p), nil
}

// quiet are settings with next to no noise.
func quiet(more strategy.Conf) strategy.Conf {
	conf := strategy.Conf{"num_sampled_clients": 10, "noise_multiplier": 1e-12, "clip_count_stddev": 1e-9}
	for field, v := range more {
		conf[field] = v
	}
	return conf
}

func wrap(t *testing.T, inner string, innerConf, conf strategy.Conf) *dp.Adaptive {
	t.Helper()
	made, err := strategy.New(inner, innerConf)
	require.NoError(t, err)
	private, err := dp.New(made, conf, &dp.Options{Random: key(1)})
	require.NoError(t, err)
	return private
}

// obeying is a strategy whose clients all answer with a norm bit, as those of
// the suite do not.
type obeying struct{ strategy.Strategy }

func (o obeying) Begin(round strategy.Round) (strategy.Aggregation, error) {
	aggregation, err := o.Strategy.Begin(round)
	return withBits{aggregation}, err
}

type withBits struct{ strategy.Aggregation }

func (w withBits) Add(ctx context.Context, update strategy.Update) error {
	metrics := map[string]any{"dpfedavg_norm_bit": true}
	for name, v := range update.Metrics {
		metrics[name] = v
	}
	update.Metrics = metrics
	return w.Aggregation.Add(ctx, update)
}

func TestAdaptive_conforms(t *testing.T) {
	for _, inner := range []string{"FedAvg", "FedAvgM", "FedAdam", "FedProx", "FaultTolerantFedAvg"} {
		confs := map[string]strategy.Conf{"FedProx": {"proximal_mu": 0.5}, "FedAvgM": {"server_momentum": 0.9}}
		t.Run(inner, func(t *testing.T) {
			strategytest.Run(t, func() strategy.Strategy {
				return obeying{wrap(t, inner, confs[inner], strategy.Conf{
					"num_sampled_clients": 11, "init_clip_norm": 1000, "noise_multiplier": 0.01,
				})}
			})
		})
	}
}

func model(values ...float32) strategy.Model {
	return strategy.Model{tensor.FromFloat32s(values)}
}

func answer(client string, within any, values ...float32) strategy.Update {
	return strategy.Update{Client: client, Examples: 1, Model: model(values...),
		Metrics: map[string]any{"dpfedavg_norm_bit": within}}
}

func begin(t *testing.T, s strategy.Strategy, number int, from strategy.Model) strategy.Aggregation {
	t.Helper()
	aggregation, err := s.Begin(strategy.Round{Number: number, Model: from, Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, aggregation.Close()) })
	return aggregation
}

func finish(t *testing.T, aggregation strategy.Aggregation) strategy.Model {
	t.Helper()
	made, err := aggregation.Finish(t.Context())
	require.NoError(t, err)
	return made
}

func TestAdaptive_sendsTheConfigurationOfFlower(t *testing.T) {
	settings := strategy.Conf{"num_sampled_clients": "4", "noise_multiplier": 0.3, "init_clip_norm": 0.5}
	server := wrap(t, "FedProx", strategy.Conf{"proximal_mu": 0.5}, settings)
	fit, evaluate := map[string]any{"epochs": int64(2)}, map[string]any{}
	server.Configure(strategy.Fit, 1, fit)
	server.Configure(strategy.Evaluate, 1, evaluate)
	require.Equal(t, map[string]any{
		"epochs": int64(2), "proximal_mu": 0.5, "dpfedavg_clip_norm": 0.5, "dpfedavg_adaptive_clip_enabled": true,
	}, fit)
	require.Empty(t, evaluate)

	fit = map[string]any{"dpfedavg_noise_stddev": 3.0, "dpfedavg_clip_norm": 9.0}
	server.Configure(strategy.Fit, 1, fit)
	require.NotContains(t, fit, "dpfedavg_noise_stddev", "a job's own settings do not add noise a second time")
	require.Equal(t, 0.5, fit["dpfedavg_clip_norm"])

	settings["server_side_noising"] = "false"
	clients := wrap(t, "FedAvg", nil, settings)
	fit = map[string]any{}
	clients.Configure(strategy.Fit, 1, fit)
	effective := math.Pow(math.Pow(0.3, -2)-math.Pow(2*0.2, -2), -0.5)
	require.InDelta(t, effective*0.5/2, fit["dpfedavg_noise_stddev"], 1e-12)
	require.InDelta(t, effective, clients.Privacy().Multiplier, 1e-12)
	delete(fit, "dpfedavg_noise_stddev")
	require.Equal(t, map[string]any{"dpfedavg_clip_norm": 0.5, "dpfedavg_adaptive_clip_enabled": true}, fit)
}

func TestAdaptive_weighsClientsEqually(t *testing.T) {
	aggregation := begin(t, wrap(t, "FedAvg", nil, quiet(strategy.Conf{"init_clip_norm": 100})), 1, model(0, 0))
	heavy := answer("a", true, 4, 8)
	heavy.Examples = 1_000_000
	require.NoError(t, aggregation.Add(t.Context(), heavy))
	require.NoError(t, aggregation.Add(t.Context(), answer("b", true, 0, 0)))
	require.InDeltaSlice(t, []float64{2, 4}, finish(t, aggregation)[0].Float64s(), 1e-6)
}

func TestAdaptive_clipsALargeUpdate(t *testing.T) {
	private := wrap(t, "FedAvg", nil, quiet(strategy.Conf{"init_clip_norm": 5, "clip_norm_lr": 1}))
	aggregation := begin(t, private, 1, model(1, 1))
	require.NoError(t, aggregation.Add(t.Context(), answer("liar", true, 3001, 4001)))
	require.NoError(t, aggregation.Add(t.Context(), answer("honest", true, 1, 3)))
	require.InDeltaSlice(t, []float64{1 + 3./2, 1 + (4.+2)/2}, finish(t, aggregation)[0].Float64s(), 5e-3,
		"5 away, in its own direction")
	p := private.Privacy()
	require.InDelta(t, 0.5, p.Fraction, 1e-6, "the liar was beyond")
	require.Equal(t, 1, p.Rounds)

	verdicts := private.Verdicts()
	require.Len(t, verdicts, 2)
	require.Equal(t, strategy.Verdict{Client: "honest", Outcome: strategy.Kept, Norm: 2, Bound: 5 * (1 + 0x1p-10)},
		verdicts[0])
	require.Equal(t, strategy.Clipped, verdicts[1].Outcome)
	require.Contains(t, verdicts[1].Reason, "its norm is 5000, the bound 5.005")
}

func TestAdaptive_addsNoServerNoiseToClientNoise(t *testing.T) {
	private := wrap(t, "FedAvg", nil,
		strategy.Conf{"num_sampled_clients": 2, "noise_multiplier": 0.1, "server_side_noising": false, "init_clip_norm": 1})
	aggregation := begin(t, private, 1, model(0, 0))
	wide := answer("a", true)
	wide.Model = strategy.Model{tensor.FromFloat64s([]float64{0.25, 0.5})} // noise makes wide numbers of narrow ones
	require.NoError(t, aggregation.Add(t.Context(), wide))
	require.NoError(t, aggregation.Add(t.Context(), answer("b", int64(0), 0.75, 0)))
	require.Equal(t, []float64{0.5, 0.25}, finish(t, aggregation)[0].Float64s())
}

func TestAdaptive_clipsNoisyUpdatesBeyondTheNoise(t *testing.T) {
	private := wrap(t, "FedAvg", nil,
		strategy.Conf{"num_sampled_clients": 4, "noise_multiplier": 0.3, "server_side_noising": false, "init_clip_norm": 1})
	deviation := private.Privacy().Multiplier / 2
	bound := 1 + 0x1p-10 + deviation*(math.Sqrt(2)+7)
	aggregation := begin(t, private, 1, model(0, 0))
	for client, norm := range map[string]float64{"a": 0.99 * bound, "b": -0.99 * bound, "c": 0, "liar": 1e6} {
		require.NoError(t, aggregation.Add(t.Context(), answer(client, true, float32(norm), 0)))
	}
	require.InDeltaSlice(t, []float64{bound / 4, 0}, finish(t, aggregation)[0].Float64s(), 1e-6)
	require.Equal(t, strategy.Clipped, private.Verdicts()[3].Outcome)
}

func TestAdaptive_refusesTooFewNoisyClients(t *testing.T) {
	private := wrap(t, "FedAvg", nil,
		strategy.Conf{"num_sampled_clients": 20, "noise_multiplier": 0.5, "server_side_noising": false})
	aggregation := begin(t, private, 1, model(0, 0))
	require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)))
	_, err := aggregation.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
	require.ErrorContains(t, err, "num_sampled_clients, 20")
	require.Zero(t, private.Privacy().Rounds)
	require.Zero(t, private.Privacy().Epsilon)
}

func TestAdaptive_quarantinesAnUpdateWithoutANormBit(t *testing.T) {
	private := wrap(t, "FedAvg", nil, quiet(nil))
	aggregation := begin(t, private, 1, model(0, 0))
	for reason, metrics := range map[string]map[string]any{
		`no metric "dpfedavg_norm_bit"`:                 {"norm_bit": true},
		`metric "dpfedavg_norm_bit" is 7`:               {"dpfedavg_norm_bit": int64(7)},
		`metric "dpfedavg_norm_bit" is NaN`:             {"dpfedavg_norm_bit": math.NaN()},
		`metric "dpfedavg_norm_bit" is yes, no truth v`: {"dpfedavg_norm_bit": "yes"},
	} {
		update := answer("a", true, 0, 0)
		update.Metrics = metrics
		err := aggregation.Add(t.Context(), update)
		require.ErrorIs(t, err, strategy.ErrQuarantined)
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, err, `"a"`)
	}
	require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)), "the client may answer as it should")
	require.Len(t, private.Verdicts(), 5)
	require.Equal(t, strategy.Kept, private.Verdicts()[0].Outcome)
	require.Equal(t, strategy.Refused, private.Verdicts()[4].Outcome)
}

func TestAdaptive_doesNotCountAFailedRound(t *testing.T) {
	p := wrap(t, "FaultTolerantFedAvg", nil, quiet(nil)).Policy()
	require.ErrorIs(t, p.Accept(strategy.Fit, 10, 1), strategy.ErrTooFew)
	require.NoError(t, p.Accept(strategy.Fit, 10, 0))
	require.NoError(t, p.Accept(strategy.Evaluate, 10, 1))
}

// noised returns the mean of two clients that have learnt nothing.
func noised(t *testing.T, elements int, conf strategy.Conf) []float64 {
	t.Helper()
	aggregation := begin(t, wrap(t, "FedAvg", nil, conf), 1,
		strategy.Model{tensor.FromFloat64s(make([]float64, elements))})
	for _, client := range []string{"a", "b"} {
		update := answer(client, true)
		update.Model = strategy.Model{tensor.FromFloat64s(make([]float64, elements))}
		require.NoError(t, aggregation.Add(t.Context(), update))
	}
	return finish(t, aggregation)[0].Float64s()
}

func TestAdaptive_addsGaussianNoiseOnce(t *testing.T) {
	const elements = 200_000
	values := noised(t, elements, strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "init_clip_norm": 3})
	effective := 2 / math.Sqrt(1-math.Pow(2/(2*5.), 2))
	deviation := effective * 3 * (1 + 0x1p-10) / 2 // two clients
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum, squares = sum+v, squares+v*v
	}
	require.InDelta(t, 0, sum/elements/deviation, 0.01)
	require.InDelta(t, 1, math.Sqrt(squares/elements)/deviation, 0.005)

	slices.Sort(values)
	distance := 0.0 // of Kolmogorov and Smirnov
	for i, v := range values {
		expected := (1 + math.Erf(v/deviation/math.Sqrt2)) / 2
		distance = max(distance, math.Abs(expected-float64(i)/elements), math.Abs(expected-float64(i+1)/elements))
	}
	require.Less(t, distance, 1.95/math.Sqrt(elements), "the level of 0.1 %")
	require.Greater(t, values[elements-1]/deviation, 4., "there are tails")
}

func TestAdaptive_roundsToTheGridOfTheNoise(t *testing.T) {
	values := noised(t, 5000, strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "init_clip_norm": 3})
	const grid = 0x1p-19 // the deviation is a little above 3
	for _, v := range values {
		require.Zero(t, math.Mod(v, grid))
	}
}

func TestAdaptive_drawsOtherNoiseForEveryKey(t *testing.T) {
	first := noised(t, 100, strategy.Conf{"num_sampled_clients": 100})
	require.Equal(t, first, noised(t, 100, strategy.Conf{"num_sampled_clients": 100}))
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	var different [][]float64
	for _, options := range []*dp.Options{nil, {}, {Random: key(2)}} {
		private, err := dp.New(fedAvg, strategy.Conf{"num_sampled_clients": 100}, options)
		require.NoError(t, err)
		aggregation := begin(t, private, 1, strategy.Model{tensor.FromFloat64s(make([]float64, 100))})
		update := answer("a", true)
		update.Model = strategy.Model{tensor.FromFloat64s(make([]float64, 100))}
		require.NoError(t, aggregation.Add(t.Context(), update))
		different = append(different, finish(t, aggregation)[0].Float64s())
	}
	for i, one := range different {
		for _, other := range different[:i] {
			require.NotEqual(t, one, other)
		}
	}
}

// noKey is a source that has no key.
type noKey struct{}

func (noKey) Read([]byte) (int, error) { return 0, fmt.Errorf("no entropy") }

func TestAdaptive_withholdsAModelWithoutNoise(t *testing.T) {
	fedAvg, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	private, err := dp.New(fedAvg, strategy.Conf{"num_sampled_clients": 100}, &dp.Options{Random: noKey{}})
	require.NoError(t, err)
	aggregation := begin(t, private, 3, model(0, 0))
	require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)))
	_, err = aggregation.Finish(t.Context())
	require.ErrorContains(t, err, "finish round 3: read the key of the noise: no entropy")
	require.Zero(t, private.Privacy().Rounds)
}

// population trains with clients whose steps have known norms, and returns the
// clip norm in the end.
func population(t *testing.T, conf strategy.Conf, rounds int) float64 {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 8))
	private := wrap(t, "FedAvg", nil, conf)
	for number := 1; number <= rounds; number++ {
		clip := private.Privacy().ClipNorm
		aggregation := begin(t, private, number, model(0, 0))
		for k := range 100 {
			norm := math.Exp(random.NormFloat64()) // the median is 1
			length, angle := min(norm, clip), 2*math.Pi*random.Float64()
			update := answer(fmt.Sprint(k), norm <= clip, float32(length*math.Cos(angle)), float32(length*math.Sin(angle)))
			require.NoError(t, aggregation.Add(t.Context(), update))
		}
		finish(t, aggregation)
	}
	return private.Privacy().ClipNorm
}

func TestAdaptive_movesTheClipNormToTheQuantile(t *testing.T) {
	for _, c := range []struct{ quantile, begin, norm float64 }{
		{0.5, 0.01, 1}, {0.5, 50, 1}, {0.9, 0.1, math.Exp(1.2816)}, {0.2, 1, math.Exp(-0.8416)},
	} {
		got := population(t, strategy.Conf{
			"num_sampled_clients": 100, "init_clip_norm": c.begin, "clip_norm_target_quantile": c.quantile,
		}, 150)
		require.InDelta(t, 1, got/c.norm, 0.12, "%+v", c)
	}
}

func TestAdaptive_boundsTheClipNorm(t *testing.T) {
	private := wrap(t, "FedAvg", nil, quiet(strategy.Conf{"clip_norm_lr": 1000, "clip_norm_target_quantile": 1}))
	aggregation := begin(t, private, 1, model(0))
	require.NoError(t, aggregation.Add(t.Context(), answer("a", false, 0)))
	finish(t, aggregation)
	require.Equal(t, 0x1p100, private.Privacy().ClipNorm)
}

func TestAdaptive_stopsBeforeTheBudgetIsExceeded(t *testing.T) {
	private := wrap(t, "FedAvg", nil, strategy.Conf{
		"num_sampled_clients": 100, "noise_multiplier": 2, "epsilon_budget": 8, "delta": 1e-6})
	rounds := 0
	for private.Affords(1) {
		rounds++
		aggregation := begin(t, private, rounds, model(0, 0))
		require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)))
		finish(t, aggregation)
	}
	p := private.Privacy()
	require.Equal(t, rounds, p.Rounds)
	epsilon, _ := spent(t, 1, 2, rounds, 1e-6)
	require.InDelta(t, epsilon, p.Epsilon, 1e-9)
	require.LessOrEqual(t, p.Epsilon, 8.)
	more, _ := spent(t, 1, 2, rounds+1, 1e-6)
	require.Greater(t, more, 8.)
	require.Greater(t, rounds, 1)

	_, err := private.Begin(strategy.Round{Number: rounds + 1, Model: model(0, 0)})
	require.ErrorIs(t, err, dp.ErrBudget)
}

func TestAdaptive_keepsTheAccountAfterARestart(t *testing.T) {
	conf := strategy.Conf{"num_sampled_clients": 100, "epsilon_budget": 20}
	one := wrap(t, "FedAvgM", strategy.Conf{"server_momentum": 0.5}, conf)
	for number := 1; number <= 3; number++ {
		aggregation := begin(t, one, number, model(0, 0))
		require.NoError(t, aggregation.Add(t.Context(), answer("a", true, 0, 0)))
		finish(t, aggregation)
	}
	two := wrap(t, "FedAvgM", strategy.Conf{"server_momentum": 0.5}, conf)
	require.NoError(t, two.Restore(one.State()))
	want, got := one.Privacy(), two.Privacy()
	require.InDelta(t, want.Epsilon, got.Epsilon, 1e-9)
	want.Epsilon, got.Epsilon = 0, 0
	require.Equal(t, want, got)
	require.Equal(t, one.State(), two.State())

	require.NoError(t, two.Restore(nil))
	require.Zero(t, two.Privacy().Rounds)
	require.Equal(t, 0.1, two.Privacy().ClipNorm)
}

func TestAdaptive_Restore_refusesAStateThatDoesNotFit(t *testing.T) {
	private := wrap(t, "FedAvg", nil, strategy.Conf{"num_sampled_clients": 100})
	before := fmt.Sprint(private.Privacy())
	own := func(values ...float64) []tensor.Tensor { return []tensor.Tensor{tensor.FromFloat64s(values)} }
	for reason, state := range map[string][]tensor.Tensor{
		"4 numbers of type float32": {tensor.FromFloat32s([]float32{1, 2, 3, 4})},
		"2 numbers":                 own(1, 2),
		"the clip norm is NaN":      own(math.NaN(), 1, 0.5, 0),
		"the clip norm is -1":       own(-1, 1, 0.5, 0),
		"the number of rounds is 1": own(1, 1.5, 0.5, 0),
		"number of rounds is +Inf":  own(1, math.Inf(1), 0.5, 0),
		"the fraction is +Inf":      own(1, 1, math.Inf(1), 0),
		"charged releases is -1":    own(1, 1, 0.5, -1),
		"charged releases is 0.5":   own(1, 1, 0.5, 0.5),
		"the strategy keeps none":   append(own(1, 1, 0.5, 0), own(2)...),
	} {
		require.ErrorContains(t, private.Restore(state), reason)
		require.Equal(t, before, fmt.Sprint(private.Privacy()))
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(0.1, 0.0, 0.5, 1.0)
	f.Add(1e30, 2147483647.0, -4.0, 2147483647.0)
	f.Add(math.Inf(-1), math.NaN(), math.Inf(1), -1.0)
	f.Fuzz(func(t *testing.T, clip, rounds, fraction, charged float64) {
		private := wrap(t, "FedAvg", nil, strategy.Conf{"num_sampled_clients": 100})
		if private.Restore([]tensor.Tensor{tensor.FromFloat64s([]float64{clip, rounds, fraction, charged})}) != nil {
			return
		}
		p := private.Privacy()
		require.Equal(t, clip, p.ClipNorm)
		require.Equal(t, rounds, float64(p.Rounds))
		require.Equal(t, charged, float64(p.Charged))
		require.False(t, math.IsNaN(p.Epsilon) || p.Epsilon < 0)
		require.Equal(t, private.State()[0].Chunks(),
			tensor.FromFloat64s([]float64{clip, rounds, fraction, charged}).Chunks())
	})
}

// blind is a strategy that records the round.
type blind struct {
	strategy.Strategy
	round *strategy.Round
}

func (b blind) Begin(round strategy.Round) (strategy.Aggregation, error) {
	*b.round = round
	return b.Strategy.Begin(round)
}

func TestAdaptive_hidesTheLossFromTheInnerStrategy(t *testing.T) {
	mean, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	var told strategy.Round
	private, err := dp.New(blind{mean, &told}, quiet(nil), nil)
	require.NoError(t, err)
	loss := 0.25
	round, err := private.Begin(strategy.Round{
		Number: 3,
		Model:  strategy.Model{tensor.FromFloat64s([]float64{1})},
		Loss:   &loss,
	})
	require.NoError(t, err)
	require.NoError(t, round.Close())
	require.Equal(t, 3, told.Number)
	require.Nil(t, told.Loss)
}

func TestNew_refusesStrategiesThatCompareClients(t *testing.T) {
	for _, name := range []string{"FedMedian", "FedTrimmedAvg", "Krum", "MultiKrum", "Bulyan", "QFedAvg"} {
		made, err := strategy.New(name, nil)
		require.NoError(t, err)
		_, err = dp.New(made, quiet(nil), nil)
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field, name)
		require.Equal(t, "strategy", field.Field)
		require.ErrorContains(t, err, "it compares clients")
	}
}
