package flcollect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// multiplier is the noise multiplier of the private jobs here.
const multiplier = 1.1

// private is a job with differential privacy for two clients. The deviation of
// the count allows for so few.
func private(rounds int) jobconfig.Config {
	c := config(rounds, 2)
	c.DPAdaptive = strategy.Conf{"num_sampled_clients": 2, "noise_multiplier": multiplier, "clip_count_stddev": 10, "init_clip_norm": 0.5}
	return c
}

// clipping is a client that stays within the clip norm and says so.
func clipping(step float64) trainer {
	return trainer{step: step, examples: 3, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
		if clip, ok := ins.Config["dpfedavg_clip_norm"].(float64); !ok || clip <= 0 {
			return fmt.Errorf("the clip norm is %v", ins.Config["dpfedavg_clip_norm"])
		}
		res.Metrics["dpfedavg_norm_bit"] = true
		return nil
	}}
}

// epsilonAfter is what an accountant says of so many rounds.
func epsilonAfter(t *testing.T, rounds int) float64 {
	t.Helper()
	account, err := dp.NewAccountant(0)
	require.NoError(t, err)
	require.NoError(t, account.Spend(1, multiplier, rounds))
	epsilon, _ := account.Epsilon()
	return epsilon
}

func TestServer_privacy_isInStatusRoundAndResult(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n})
	h, _ := serveWorld(t, w)
	require.NoError(t, w.Start(t.Context(), "job", private(3)))
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, &report.Privacy{Epsilon: 0, Delta: dp.DefaultDelta}, status.Privacy, "before the first round")
	w.join(t, clipping(0.01))
	w.join(t, clipping(0.02))
	status = w.untilState(t, "job", report.Finished)
	require.Equal(t, epsilonAfter(t, 3), float64(status.Privacy.Epsilon))
	require.False(t, status.BudgetSpent)

	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, 3)
	for _, r := range rounds {
		require.Equal(t, epsilonAfter(t, r.Number), float64(*r.Epsilon))
		require.Equal(t, dp.DefaultDelta, r.Delta)
		share, ok := r.FitMetrics["dpfedavg_norm_bit"]
		require.True(t, ok)
		require.NotEqual(t, 1.0, share, "the exact share is private")
		require.Contains(t, r.FitMetrics, "step")
	}
	require.Eventually(t, func() bool { _, ok := n.stored("job"); return ok }, patience, time.Millisecond)
	result, _ := n.stored("job")
	require.Equal(t, epsilonAfter(t, 3), float64(result.Privacy.Epsilon))
	require.NotEqual(t, []float64{0.045, 0.045, 0.045, 1.045}, numbers(result.Weights), "there is noise")

	var view map[string]any
	require.NoError(t, json.Unmarshal(jobstest.Ask(h, "GET", "/job/status/job", "").Body.Bytes(), &view))
	require.Equal(t, epsilonAfter(t, 3), view["epsilon"])
	require.Equal(t, dp.DefaultDelta, view["delta"])
	require.Equal(t, []any{"dp-adaptive"}, view["privacy_mechanisms"])
	require.Contains(t, jobstest.Ask(h, "GET", "/job/rounds/job", "").Body.String(), `"epsilon":`)
	require.Contains(t, jobstest.Ask(h, "GET", "/live/job", "").Body.String(), `data-field="epsilon">`)
}

// Each client is drawn independently of the others, as the account says. Rounds without a
// client, which a thief of the draw would recognise, release noise as others do.
func TestServer_privacy_drawsEachClientAtTheSamplingRate(t *testing.T) {
	const rounds, clients, rate = 60, 4, 0.25
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := config(rounds, clients)
	delete(conf.StrategyConf, "min_fit_clients")
	conf.StrategyConf["fraction_evaluate"] = 0.0
	conf.DPAdaptive = strategy.Conf{"num_sampled_clients": 1, "noise_multiplier": multiplier, "clip_count_stddev": 10, "sampling_rate": rate}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	for range clients {
		w.join(t, clipping(0.01))
	}
	status := w.untilState(t, "job", report.Finished)
	account, err := dp.NewAccountant(0)
	require.NoError(t, err)
	require.NoError(t, account.Spend(rate, multiplier, rounds))
	epsilon, _ := account.Epsilon()
	require.InDelta(t, epsilon, float64(status.Privacy.Epsilon), 1e-9)
	require.Equal(t, rounds, status.Aggregated, "a round without a client releases noise")

	done, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	sizes, drawn := map[int]int{}, 0
	for _, r := range done {
		sizes[r.Fit.Clients]++
		drawn += r.Fit.Clients
		if r.Fit.Clients == 0 {
			require.Contains(t, r.Note, "none of 4 clients was drawn")
		}
	}
	require.Greater(t, len(sizes), 2, "the number of clients is binomial: %v", sizes) // but for 1 of 10^12 tests
	require.NotZero(t, sizes[0], "%v", sizes)
	require.InDelta(t, rounds*clients*rate, drawn, 45) // 6.7 standard deviations
}

func TestServer_privacy_isNilWithoutDifferentialPrivacy(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, _ := serveWorld(t, w)
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.join(t, trainer{step: 1, examples: 1})
	require.Nil(t, w.untilState(t, "job", report.Finished).Privacy)
	for _, path := range []string{"/job/status/job", "/job/rounds/job"} {
		require.NotContains(t, jobstest.Ask(h, "GET", path, "").Body.String(), "epsilon")
	}
}

func TestServer_epsilon_writesInfinityAsText(t *testing.T) {
	data, err := json.Marshal(report.Privacy{Epsilon: report.Epsilon(math.Inf(1)), Delta: 0.5})
	require.NoError(t, err)
	require.JSONEq(t, `{"epsilon":"infinity","delta":0.5}`, string(data))
	var again report.Privacy
	require.NoError(t, json.Unmarshal(data, &again))
	require.True(t, math.IsInf(float64(again.Epsilon), 1))
	require.NoError(t, json.Unmarshal([]byte(`{"epsilon":1.5}`), &again))
	require.Equal(t, report.Epsilon(1.5), again.Epsilon)
	require.Error(t, json.Unmarshal([]byte(`{"epsilon":"much"}`), &again))
}

func TestStatus_BudgetSpent_endsTheTrainingWithAResult(t *testing.T) {
	n := &neighbours{}
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, Orchestrator: n})
	h, _ := serveWorld(t, w)
	conf := private(10)
	conf.DPAdaptive["epsilon_budget"] = (epsilonAfter(t, 2) + epsilonAfter(t, 3)) / 2
	require.NoError(t, w.Start(t.Context(), "job", conf))
	ended, _ := w.join(t, clipping(0.01))
	w.join(t, clipping(0.02))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 2, status.Round)
	require.True(t, status.BudgetSpent)
	require.Empty(t, status.Error)
	require.Contains(t, status.Note, "is spent after 2 of 10 rounds")
	require.Equal(t, epsilonAfter(t, 2), float64(status.Privacy.Epsilon))
	require.NoError(t, <-ended, "clients are sent away as after the last round")
	status = w.until(t, "job", "stored", func(s flcollect.Status) bool { return s.Stored })
	result, _ := n.stored("job")
	require.Equal(t, 2, result.Rounds)
	require.Contains(t, jobstest.Ask(h, "GET", "/job/status/job", "").Body.String(), `"budget_spent":true`)

	again := w.restart(t, flcollect.Config{Repository: n, Orchestrator: n})
	status, err := again.Status(t.Context(), "job")
	require.NoError(t, err)
	require.True(t, status.BudgetSpent)
	require.Equal(t, report.Finished, status.State)
}

func TestServer_privacy_staysInARoundWithoutAggregation(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "job", private(2)))
	w.join(t, clipping(0.01))
	lying := clipping(0.01)
	lying.fit = func(context.Context, flower.FitIns, *flower.FitRes) error { return nil }
	w.join(t, lying)
	status := w.untilState(t, "job", report.Interrupted)
	require.Zero(t, status.Privacy.Epsilon)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.False(t, rounds[0].Aggregated)
	require.NotContains(t, rounds[0].FitMetrics, "dpfedavg_norm_bit", "the exact share is private")
}

// seen collects the models that clients were shown.
type seen struct {
	mu     sync.Mutex
	models map[float64]bool // by their first number
}

func (s *seen) note(p flower.Parameters) error {
	model, err := p.Decode()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := model[0].Float64s()[0]; first != 0 { // the initial one gives nothing away
		s.models[first] = true
	}
	return nil
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.models)
}

// watched has a client note what it is shown.
func (s *seen) watched(r trainer) trainer {
	fit := r.fit
	r.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		if err := s.note(ins.Parameters); err != nil {
			return err
		}
		return fit(ctx, ins, res)
	}
	r.evaluate = func(_ context.Context, ins flower.EvaluateIns, _ *flower.EvaluateRes) error {
		return s.note(ins.Parameters)
	}
	return r
}

func TestServer_privacy_survivesACrashAtAnyWrite(t *testing.T) {
	const rounds = 2
	lostSome := false
	for _, happens := range []bool{false, true} {
		died := true
		for writes := 1; died; writes++ {
			require.Less(t, writes, 100)
			t.Run(fmt.Sprintf("write %d, done %v", writes, happens), func(t *testing.T) {
				s := &seen{models: map[float64]bool{}}
				documents, blobs, f := storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), newFuse(writes, happens)
				first := newWorld(t, flcollect.Config{
					Documents: fusedDocuments{documents, f}, Blobs: fusedBlobs{blobs, f}, Initial: zeros, Park: time.Hour,
				})
				first.join(t, s.watched(clipping(0.01)))
				first.join(t, s.watched(clipping(0.02)))
				_ = first.Start(t.Context(), "job", private(rounds)) // the storage may die of it
				died = first.dies(t, f)
				first.end()

				second := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros})
				second.join(t, s.watched(clipping(0.01)))
				second.join(t, s.watched(clipping(0.02)))
				if status, err := second.Status(t.Context(), "job"); err != nil || status.State == report.Inactive {
					require.NoError(t, second.Start(t.Context(), "job", private(rounds)))
				}
				status := second.untilState(t, "job", report.Finished)
				shown := s.count()
				require.GreaterOrEqual(t, shown, rounds)
				lostSome = lostSome || shown > rounds
				require.GreaterOrEqual(t, float64(status.Privacy.Epsilon), epsilonAfter(t, shown))
				require.LessOrEqual(t, float64(status.Privacy.Epsilon), epsilonAfter(t, rounds+1))
				result, err := second.Result(t.Context(), "job")
				require.NoError(t, err)
				require.Equal(t, status.Privacy, result.Privacy)
			})
		}
	}
	require.True(t, lostSome, "no crash came between a release and its checkpoint")
}

func TestTotals_Epsilons_stayAfterTheEndOfAJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	h, _ := serveWorld(t, w)
	metrics := func(h http.Handler) string { return jobstest.Ask(h, "GET", "/metrics", "").Body.String() }
	require.NotContains(t, metrics(h), "job_epsilon{")
	require.NoError(t, w.Start(t.Context(), "a/b", private(2)))
	w.join(t, clipping(0.01))
	w.join(t, clipping(0.01))
	w.untilState(t, "a/b", report.Finished)
	want := fmt.Sprintf("flcollector_job_epsilon{job=%q} %v\n", "a/b", epsilonAfter(t, 2))
	require.Contains(t, metrics(h), want)
	require.Contains(t, metrics(h), fmt.Sprintf("flcollector_epsilon %v\n", epsilonAfter(t, 2)))

	w = w.restart(t, flcollect.Config{Initial: zeros})
	h, _ = serveWorld(t, w)
	require.Contains(t, metrics(h), want, "it is stored with the job")
	require.NoError(t, w.Start(t.Context(), "a/b", private(2)))
	require.Contains(t, metrics(h), "flcollector_job_epsilon{job=\"a/b\"} 0\n", "a new run has given nothing away")
}

func TestTotals_Epsilons_keepsTheLastEndedJobs(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, time.Millisecond)
	for i := range flcollect.MaxEpsilons + 3 {
		require.NoError(t, w.Start(t.Context(), fmt.Sprintf("ended-%03d", i), private(1)))
		require.NoError(t, w.Stop(t.Context()))
	}
	require.NoError(t, w.Start(t.Context(), "active", private(1)))
	check := func(w *world) {
		epsilons := w.Totals().Epsilons
		require.Len(t, epsilons, flcollect.MaxEpsilons+1)
		require.Contains(t, epsilons, "active")
	}
	check(w)
	w = w.restart(t, flcollect.Config{Initial: zeros})
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, time.Millisecond)
	check(w)
}

func TestServer_Start_refusesFaultsOfPrivacyMechanisms(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := config(1, 1)
	conf.DPAdaptive = strategy.Conf{"num_sampled_clients": 5}
	var field *strategy.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &field)
	require.Equal(t, "noise_multiplier", field.Field)
	conf.DPAdaptive = strategy.Conf{}
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &field, "who asks for privacy is not trained without")
	conf = config(1, 1)
	conf.Homomorphic = &ckks.Settings{PolyModulusDegree: 7}
	var encryption *ckks.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "job", conf), &encryption)
}
