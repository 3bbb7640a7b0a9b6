package flcollect_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// towards is a client that goes a tenth of the way to a number.
func towards(target float64) trainer {
	return answering(func(ins flower.FitIns) (strategy.Model, error) {
		model, err := ins.Parameters.Decode()
		if err != nil {
			return nil, err
		}
		return strategy.Map(model, func(values []float64, layer, from int) {
			model[layer].ReadFloat64s(values, from)
			for i := range values {
				values[i] += 0.1 * (target - values[i])
			}
		}), nil
	})
}

// answering is a client that sends a model of its own making.
func answering(make func(ins flower.FitIns) (strategy.Model, error)) trainer {
	return trainer{examples: 10, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
		model, err := make(ins)
		if err != nil {
			return err
		}
		res.Parameters = flower.FromTensors(model...)
		return nil
	}}
}

// attacker sends what moves the mean very far.
func attacker() trainer {
	return answering(func(flower.FitIns) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat32s([]float32{-1e9, -1e9, -1e9}), tensor.FromFloat32s([]float32{-1e9})}, nil
	})
}

// named has clients known by the host that they call, as an identity behind a
// proxy might be.
func named(session *flower.Session) string { return session.Peer().Header(":authority") }

// fates returns the outcomes of a client, round by round; empty where it was not
// drawn.
func (w *world) fates(t *testing.T, rounds int, client string) []report.Outcome {
	t.Helper()
	var fates []report.Outcome
	for number := 1; number <= rounds; number++ {
		found, err := w.Report(t.Context(), "job", number, 0, 0)
		require.NoError(t, err)
		fates = append(fates, "")
		for _, c := range found.Clients {
			if c.Client == client {
				fates[number-1] = c.Outcome
			}
		}
	}
	return fates
}

func (w *world) ready(t *testing.T, clients int) {
	t.Helper()
	w.until(t, "job", "complete", func(s flcollect.Status) bool { return s.Clients == clients })
}

func TestConfig_Clip_suspendsAnAttacker(t *testing.T) {
	const rounds = 60
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named, Clip: true})
	gate := make(chan struct{})
	for i := range 6 {
		honest := towards(4 + float64(i)/10)
		fit := honest.fit
		honest.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
			<-gate
			return fit(ctx, ins, res)
		}
		w.joinAs(t, honest, fmt.Sprintf("honest-%d", i))
	}
	conf := config(rounds, 6)
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Training)
	w.joinAs(t, attacker(), "attacker") // after the first round
	w.ready(t, 7)
	close(gate)
	status := w.untilState(t, "job", report.Finished)
	require.Empty(t, status.Error)
	fates := w.fates(t, rounds, "name:attacker")
	require.Equal(t, report.Clipped, fates[1], "%v", fates)
	drawn := 0
	for _, fate := range fates {
		if fate != "" {
			drawn++
			require.Equal(t, report.Clipped, fate)
		}
	}
	require.Less(t, drawn, rounds/3, "%v", fates)
	require.Equal(t, []report.Outcome{"", ""}, fates[6:8], "%v", fates)
	require.GreaterOrEqual(t, w.Totals().Suspensions, int64(2))
	cut := 0 // honest ones, as the model converges where one of them is further from it than the others
	for i := range 6 {
		for _, fate := range w.fates(t, rounds, fmt.Sprintf("name:honest-%d", i)) {
			if fate != report.Kept {
				require.Equal(t, report.Clipped, fate, "they are never suspended")
				cut++
			}
		}
	}
	require.LessOrEqual(t, cut, 6)
	require.EqualValues(t, drawn+cut, w.Totals().Clipped)
	for _, v := range w.weights(t, "job") {
		require.InDelta(t, 4.25, v, 0.1)
	}

	found, err := w.Report(t.Context(), "job", 6, 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Counts{Kept: 6, Clipped: 1}, found.Counts)
	entry := found.Clients[0]
	require.Equal(t, "name:attacker", entry.Client)
	require.InDelta(t, 2e9, *entry.Norm, 1e3)
	require.Less(t, *entry.Bound, 100.0)
	require.Contains(t, entry.Reason, "its norm is 2e+09, the bound ")
	require.True(t, entry.Reputation.Suspended(7))
	require.Contains(t, entry.Reputation.Reason, "clipped: its norm is 2e+09")
}

func TestConfig_TrustClients_neitherBoundsNorSuspends(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, TrustClients: true})
	for range 4 {
		w.join(t, towards(4))
	}
	w.join(t, attacker())
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(8, 5), 5, 5)))
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 8, 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Counts{Kept: 5}, found.Counts)
	require.Less(t, w.weights(t, "job")[0], -1e6)
	for _, c := range found.Clients {
		require.Nil(t, c.Bound)
		require.Nil(t, c.Reputation)
	}
}

func TestConfig_TrustClients_leavesBoundsOfAJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, TrustClients: true})
	for range 2 {
		w.join(t, towards(4))
	}
	w.join(t, attacker())
	conf := withAvailable(config(1, 3), 3, 3)
	conf.StrategyConf["norm_bound"] = 0.5
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Counts{Clipped: 3}, found.Counts)
}

func TestServer_Start_refusesInvalidBounds(t *testing.T) {
	for field, bad := range map[string]string{"norm_bound": "0", "norm_factor": `"much"`, "norm_refuse_factor": "0.5",
		"norm_min_updates": "1.5"} {
		for _, name := range []string{"avg", "ours"} {
			_, err := jobconfig.Parse(jobstest.Body(t, map[string]string{"strategy": `"` + name + `"`,
				"strategy_conf": `{"` + field + `":` + bad + `}`}))
			var wrong *jobconfig.Error
			require.ErrorAs(t, err, &wrong)
			require.Len(t, wrong.Faults, 1)
			require.Equal(t, []any{"strategy_conf", field}, wrong.Faults[0].Path)
		}
	}
	for _, mechanism := range []string{`{"homomorphic":{}}`, `{"dp-adaptive":{"num_sampled_clients":100}}`} {
		_, err := jobconfig.Parse(jobstest.Body(t, map[string]string{
			"privacy-mechanisms": mechanism, "strategy_conf": `{"norm_bound":1}`,
		}))
		var wrong *jobconfig.Error
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, []any{"strategy_conf", "norm_bound"}, wrong.Faults[0].Path)
		require.Contains(t, wrong.Faults[0].Reason, "has no meaning with")
	}
	made, err := jobconfig.Parse(jobstest.Body(t, map[string]string{"strategy": `"avg"`,
		"strategy_conf": `{"norm_bound":"2.5","norm_factor":4}`}))
	require.NoError(t, err)
	require.Contains(t, made.StrategyConf, "norm_bound")
	w := newWorld(t, flcollect.Config{Initial: zeros})
	var wrong *strategy.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", jobconfig.Config{Strategy: "avg", Rounds: 1,
		StrategyConf: strategy.Conf{"norm_factor": 0.1}}), &wrong)
	require.Equal(t, "norm_factor", wrong.Field)
}

func TestServer_suspension_leavesTheOthersToTrain(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	nan := float32(math.NaN())
	bad := answering(func(flower.FitIns) (strategy.Model, error) {
		return strategy.Model{tensor.FromFloat32s([]float32{nan, 0, 0}), tensor.FromFloat32s([]float32{0})}, nil
	})
	w.joinAs(t, towards(1), "honest")
	w.joinAs(t, bad, "bad")
	require.NoError(t, w.Start(t.Context(), "job", config(5, 2)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 5, status.Round)
	fates := w.fates(t, 5, "name:bad")
	for _, fate := range fates {
		require.Equal(t, report.Refused, fate)
	}
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.NotContains(t, rounds[0].Note, "suspended")
	require.Contains(t, rounds[2].Note, "fit: 1 suspended clients took part, for there were too few others")
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	require.Nil(t, found.Clients[0].Norm)
	require.Contains(t, found.Clients[0].Reason, "tensor 0: element 0 is NaN")
}

func TestStatus_Suspended_survivesARestart(t *testing.T) {
	options := flcollect.Config{Initial: zeros, Identify: named, Park: time.Hour}
	w := newWorld(t, options)
	var once sync.Mutex
	stay := make(chan struct{}, 100)
	slow := towards(1)
	fit := slow.fit
	slow.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		once.Lock()
		defer once.Unlock()
		select {
		case <-stay:
		case <-ctx.Done():
		}
		return fit(ctx, ins, res)
	}
	_, leave := w.joinAs(t, slow, "honest-1")
	w.joinAs(t, towards(1), "honest-2")
	w.joinAs(t, trainer{examples: 0}, "liar")
	conf := withAvailable(config(6, 2), 3, 2)
	require.NoError(t, w.Start(t.Context(), "job", conf))
	stay <- struct{}{}
	stay <- struct{}{}
	status := w.until(t, "job", "at round 2", func(s flcollect.Status) bool { return s.Round == 2 })
	require.Len(t, status.Suspended, 1)
	require.Equal(t, "name:liar", status.Suspended[0].Client)
	require.Equal(t, 4, status.Suspended[0].Until)
	require.Contains(t, status.Suspended[0].Reason, "num_examples is 0")
	leave()
	w.end()

	again := newWorld(t, flcollect.Config{Documents: w.documents, Blobs: w.blobs, Identify: named})
	again.joinAs(t, trainer{examples: 0}, "liar")
	again.joinAs(t, towards(1), "honest-1")
	again.joinAs(t, towards(1), "honest-2")
	again.untilState(t, "job", report.Finished)
	require.Equal(t, []report.Outcome{report.Refused, report.Refused, "", "", report.Refused, ""}, again.fates(t, 6, "name:liar"))
	_, err := report.VerifyAudit(joined(again.auditLog(t, "job")))
	require.NoError(t, err)
	status, err = again.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Empty(t, status.Suspended, "the job has ended")
}

func TestServer_Handle_givesANewIdentityToAnUnnamedSession(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	_, leave := w.join(t, trainer{examples: 0})
	w.join(t, towards(1))
	slow, gate := gated(1, 1)
	w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(4, 2), 3, 2)))
	gate <- struct{}{}
	gate <- struct{}{}
	w.until(t, "job", "at round 2", func(s flcollect.Status) bool { return len(s.Suspended) == 1 })
	leave()
	w.join(t, trainer{examples: 0})
	w.ready(t, 3)
	gate <- struct{}{}
	gate <- struct{}{}
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 4, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, found.Counts.Refused)
	for _, c := range found.Clients {
		require.Equal(t, "session:"+c.Session, c.Client)
	}
}

func TestServer_Report_ofAPrivateTrainingHasItsClipping(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for range 2 {
		w.join(t, trainer{step: 100, examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
			res.Metrics["dpfedavg_norm_bit"] = true
			return nil
		}})
	}
	conf := config(1, 2)
	conf.DPAdaptive = strategy.Conf{"num_sampled_clients": 100, "init_clip_norm": 0.5}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	found, err := w.Report(t.Context(), "job", 1, 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Counts{Clipped: 2}, found.Counts)
	require.Zero(t, w.Totals().Clipped, "epsilon does not cover it")
	for _, c := range found.Clients {
		require.InDelta(t, 200, *c.Norm, 1e-6)
		require.InDelta(t, 0.5, *c.Bound, 0.01)
		require.Nil(t, c.Reputation, "a clip norm that cuts all clients is not their fault")
	}
}
