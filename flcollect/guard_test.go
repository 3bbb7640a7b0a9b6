package flcollect_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// batches is a client with so many examples, whose counter grows by one for each and
// whose weights go towards a number.
func batches(examples int64, target float64) trainer {
	return trainer{examples: examples, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
		model, err := ins.Parameters.Decode()
		if err != nil {
			return err
		}
		res.Parameters = flower.FromTensors(trained(model, examples, target)...)
		return nil
	}}
}

// trained is what such a client makes of a model: weights and a counter.
func trained(model strategy.Model, examples int64, target float64) strategy.Model {
	weights := model[0].Float64s()
	made := make([]float32, len(weights))
	for i, v := range weights {
		made[i] = float32(v + 0.3*(target*float64(i+1)-v))
	}
	return strategy.Model{tensor.FromFloat32s(made), tensor.FromInt64s([]int64{int64(model[1].Float64s()[0]) + examples})}
}

// withCounter is a model to begin with, with the counter of a batch normalisation.
func withCounter(context.Context, jobconfig.Config) (strategy.Model, error) {
	return strategy.Model{tensor.FromFloat32s([]float32{0.1, -0.2, 0.3}), tensor.FromInt64s([]int64{0})}, nil
}

// The weights are those of Flower's own server, which is a mean weighted by examples,
// though one client has four fifths of the data.
func TestConfig_defaultsGiveTheWeightedMean(t *testing.T) {
	const rounds = 15
	shares := []int64{8000, 500, 500, 500, 500}
	w := newWorld(t, flcollect.Config{Initial: withCounter})
	for k, n := range shares {
		w.join(t, batches(n, float64(k)))
	}
	require.NoError(t, w.Start(t.Context(), "job", config(rounds, len(shares))))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, report.Updates{Counts: report.Counts{Kept: rounds * len(shares)}}, status.Updates)

	model, err := withCounter(t.Context(), jobconfig.Config{})
	require.NoError(t, err)
	for range rounds {
		means, total := make([]float64, 4), 0.0
		for k, n := range shares {
			for i, v := range numbers(trained(model, n, float64(k))) {
				means[i] += float64(n) * v
			}
			total += float64(n)
		}
		next := make([]float32, 3)
		for i := range next {
			next[i] = float32(means[i] / total)
		}
		model = strategy.Model{tensor.FromFloat32s(next), tensor.FromInt64s([]int64{int64(means[3]/total + 0.5)})}
	}
	for i, v := range w.weights(t, "job") {
		require.InEpsilon(t, numbers(model)[i], v, 1e-6)
	}
	found, err := w.Report(t.Context(), "job", 7, 0, 0)
	require.NoError(t, err)
	for _, c := range found.Clients {
		require.InDelta(t, float64(c.Examples), *c.Counters, 1e-6, "it is not hidden either")
		require.Less(t, *c.Norm, 10.)
	}
}

// jump is a client that adds to every number what a function returns.
func jump(length func() float64) trainer {
	return trainer{examples: 10, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
		model, err := ins.Parameters.Decode()
		if err != nil {
			return err
		}
		res.Parameters = flower.FromTensors(strategy.Map(model, func(values []float64, layer, from int) {
			model[layer].ReadFloat64s(values, from)
			for i := range values {
				values[i] += length()
			}
		})...)
		return nil
	}}
}

// farJob runs a job of 4 rounds with four clients and one whose updates are a thousand
// times as long.
func farJob(t *testing.T, options flcollect.Config, conf strategy.Conf) (*world, flcollect.Status) {
	t.Helper()
	options.Initial, options.Identify = zeros, named
	w := newWorld(t, options)
	for i := range 4 {
		w.joinAs(t, jump(func() float64 { return 1 }), fmt.Sprintf("honest-%d", i))
	}
	w.joinAs(t, jump(func() float64 { return 1000 }), "far")
	job := withAvailable(config(4, 5), 5, 5)
	for field, v := range conf {
		job.StrategyConf[field] = v
	}
	require.NoError(t, w.Start(t.Context(), "job", job))
	return w, w.untilState(t, "job", report.Finished)
}

func TestConfig_Clip_falseKeepsFarUpdates(t *testing.T) {
	var log lines
	w, status := farJob(t, flcollect.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil)
	require.Equal(t, report.Counts{Kept: 20, Far: 4}, status.Updates.Counts)
	require.InDelta(t, 4*1004./5, w.weights(t, "job")[0], 1e-3)
	require.EqualValues(t, 4, w.Totals().Far)
	require.Zero(t, w.Totals().Clipped)
	require.Contains(t, log.String(),
		`clipped=0 far=1 refused=0 converted=0 note="fit: 1 update beyond the norm bound and kept whole, that of \"`)
	found, err := w.Report(t.Context(), "job", 4, 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Counts{Kept: 5, Far: 1}, found.Counts)
	far := found.Clients[0]
	require.Equal(t, "name:far", far.Client)
	require.True(t, far.Far)
	require.Equal(t, report.Kept, far.Outcome)
	require.Equal(t, "its norm is 2000, the bound 20; it was kept as it was sent", far.Reason)
	require.Nil(t, far.Reputation, "what is only reported costs nothing")
	h := w.web()
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(),
		"Updates of round 4: 5 kept (1 of them far), 0 clipped, 0 refused, 0 failed")
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(),
		`"updates":{"kept":20,"clipped":0,"refused":0,"failed":0,"far":4},"far":4}`)
}

func TestConfig_Clip_cutsFarUpdates(t *testing.T) {
	cut, kept := report.Counts{Kept: 16, Clipped: 4}, report.Counts{Kept: 20, Far: 4}
	for name, c := range map[string]struct {
		options flcollect.Config
		conf    strategy.Conf
		want    report.Counts
	}{
		"by the option":           {flcollect.Config{Clip: true}, nil, cut},
		"by norm_bound":           {flcollect.Config{}, strategy.Conf{"norm_bound": 15}, cut},
		"by norm_clip":            {flcollect.Config{}, strategy.Conf{"norm_clip": true}, cut},
		"by norm_factor":          {flcollect.Config{}, strategy.Conf{"norm_factor": 20}, cut},
		"of clients trusted":      {flcollect.Config{TrustClients: true}, strategy.Conf{"norm_bound": 15}, cut},
		"not, by norm_clip":       {flcollect.Config{Clip: true}, strategy.Conf{"norm_clip": false}, kept},
		"not, though it is asked": {flcollect.Config{}, strategy.Conf{"norm_clip": false, "norm_bound": 15}, kept},
		"not of trusted clients":  {flcollect.Config{TrustClients: true}, nil, report.Counts{Kept: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			// A client that is cut again and again is suspended, unless clients are trusted.
			c.options.TrustClients = c.options.TrustClients || c.want.Clipped > 0 && !c.options.Clip
			_, status := farJob(t, c.options, c.conf)
			if c.options.Clip && c.want.Clipped > 0 {
				require.Positive(t, status.Updates.Clipped)
				require.Zero(t, status.Updates.Far)
				return
			}
			require.Equal(t, c.want, status.Updates.Counts)
		})
	}
}

func TestStatus_Quarantined_hasUpdatesRefusedAtTheEnd(t *testing.T) {
	_, status := farJob(t, flcollect.Config{}, strategy.Conf{"norm_refuse_factor": 5})
	require.Positive(t, status.Updates.Refused)
	require.NotEmpty(t, status.Quarantined)
	require.Contains(t, status.Quarantined[0].Reason, "its norm is 2000, more than 5 times the bound 20")
}

func TestConfig_Clip_keepsUpdatesThatGrowTogether(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Clip: true})
	for range 5 {
		w.join(t, jump(func() float64 { return []float64{0.001, 0.001, 0.3, 0.3}[w.Totals().Rounds] }))
	}
	require.NoError(t, w.Start(t.Context(), "job", config(4, 5)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, report.Counts{Kept: 20}, status.Updates.Counts)
	require.InDelta(t, 0.602, w.weights(t, "job")[0], 1e-6)
}

func TestNewServer_refusesClipWithTrustClients(t *testing.T) {
	_, err := flcollect.NewServer(flcollect.Config{Clip: true, TrustClients: true})
	require.ErrorContains(t, err, "Clip and TrustClients exclude each other")
}

func TestServer_Rounds_fitCountsALateRefusalAsAFailure(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	for i := range 4 {
		w.joinAs(t, trainer{step: 1, examples: 1}, fmt.Sprintf("honest-%d", i))
	}
	w.joinAs(t, trainer{step: 1000, examples: 96}, "far")
	job := withAvailable(config(1, 5), 5, 5)
	job.StrategyConf["norm_refuse_factor"] = 2
	require.NoError(t, w.Start(t.Context(), "job", job))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, report.Counts{Kept: 4, Refused: 1}, status.Updates.Counts)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 4, rounds[0].Fit.Results)
	require.Equal(t, 1, rounds[0].Fit.Failures)
	require.Equal(t, 1., rounds[0].FitMetrics["step"], "without what the refused update came with")
	require.Contains(t, rounds[0].Note, "fit: the strategy refused 1 of 5 updates at the end of the round, the first of ")
	require.Len(t, status.Quarantined, 1)
	require.EqualValues(t, 1, w.Totals().Failures)
}
