package flcollect_test

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
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
)

func TestServer_Handle_sharesClientsAmongJobs(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "old", config(2, 2)))
	require.NoError(t, w.Start(t.Context(), "new", config(3, 2)))
	for range 4 {
		w.join(t, trainer{step: 1, examples: 1})
	}
	w.untilState(t, "old", report.Finished)
	w.untilState(t, "new", report.Finished)
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "old"))
	require.Equal(t, []float64{3, 3, 3, 4}, w.weights(t, "new"))
	for _, id := range []string{"old", "new"} {
		rounds, err := w.Rounds(t.Context(), id, 0, 0)
		require.NoError(t, err)
		for _, r := range rounds {
			require.Equal(t, 2, r.Fit.Clients)
		}
	}
}

func TestServer_Handle_readsTheJobOfAClient(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	require.NoError(t, w.Start(t.Context(), "a", config(1, 2)))
	require.NoError(t, w.Start(t.Context(), "b", config(1, 2)))
	for range 2 { // by the property, and by the host that they call
		w.join(t, trainer{step: 1, examples: 1, properties: flower.Config{"training_id": "b"}})
		w.joinAs(t, trainer{step: 2, examples: 1}, "a.collector.example:443")
	}
	w.untilState(t, "a", report.Finished)
	w.untilState(t, "b", report.Finished)
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "a"))
	require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "b"))
}

func TestServer_Handle_keepsARoutedClientForItsJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Route: func(*flower.Session) string { return "later" }})
	ended, _ := w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "now", config(1, 1)))
	require.Eventually(t, func() bool { return w.Totals().Lobby == 1 }, patience, time.Millisecond)
	status, err := w.Status(t.Context(), "now")
	require.NoError(t, err)
	require.Zero(t, status.Clients)
	require.NoError(t, w.Start(t.Context(), "later", config(1, 1)))
	w.untilState(t, "later", report.Finished)
	require.NoError(t, <-ended)
}

func TestServer_Handle_keepsClientsOfOtherJobsWhenOneEnds(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Route: func(s *flower.Session) string {
		if host := s.Peer().Header(":authority"); host == "other" || host == "job" {
			return host
		}
		return ""
	}})
	stays, _ := w.joinAs(t, trainer{step: 1, examples: 1}, "other")
	leaves, _ := w.joinAs(t, trainer{step: 1, examples: 1}, "job")
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.untilState(t, "job", report.Finished)
	require.NoError(t, <-leaves)
	require.Eventually(t, func() bool { return w.Totals().Clients == 1 }, patience, time.Millisecond)
	require.Empty(t, stays)
}

func TestServer_Handle_drawsALateClientInTheNextPhase(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow, gate := gated(1, 1)
	w.join(t, slow)
	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	w.untilState(t, "job", report.Training)
	w.join(t, trainer{step: 3, examples: 1})
	w.until(t, "job", "joined by two", func(s flcollect.Status) bool { return s.Clients == 2 })
	gate <- struct{}{}
	gate <- struct{}{}
	w.untilState(t, "job", report.Finished)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, rounds[0].Fit.Clients)
	require.Equal(t, 2, rounds[0].Evaluate.Clients)
	require.Equal(t, 2, rounds[1].Fit.Clients)
	require.Equal(t, []float64{3, 3, 3, 4}, w.weights(t, "job"))
}

func TestServer_Handle_countsAKilledClientAsAFailure(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	dying := make(chan struct{})
	_, kill := w.join(t, trainer{step: 100, examples: 1, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
		close(dying)
		<-ctx.Done()
		return ctx.Err()
	}})
	w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(2, 1), 2, 1)))
	<-dying
	kill()
	w.join(t, trainer{step: 1, examples: 1}) // in its place
	status := w.untilState(t, "job", report.Finished)
	require.Empty(t, status.Quarantined)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, report.Phase{Clients: 2, Results: 1, Failures: 1}, counts(rounds[0].Fit))
	require.Contains(t, rounds[0].Note, "fit: 1 of 2 clients failed")
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "job"))
}

// withAvailable has a job wait for some clients and train with fewer.
func withAvailable(c jobconfig.Config, available, least int) jobconfig.Config {
	c.StrategyConf = strategy.Conf{"min_available_clients": available, "min_fit_clients": least, "min_evaluate_clients": least}
	return c
}

func counts(p report.Phase) report.Phase {
	return report.Phase{Clients: p.Clients, Results: p.Results, Failures: p.Failures}
}

func TestServer_Handle_endsTheSessionOfASlowClient(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros})
		silent, _ := gated(100, 1)
		ended, _ := w.join(t, silent)
		w.join(t, trainer{step: 1, examples: 1})
		conf := withAvailable(config(1, 1), 2, 1)
		conf.StrategyConf["fraction_evaluate"] = 0
		conf.RoundTimeout = 10 * time.Second
		require.NoError(t, w.Start(t.Context(), "job", conf))
		w.untilState(t, "job", report.Finished)
		require.ErrorContains(t, <-ended, "DeadlineExceeded")
		rounds, err := w.Rounds(t.Context(), "job", 0, 0)
		require.NoError(t, err)
		require.Equal(t, report.Phase{Clients: 2, Results: 1, Failures: 1}, counts(rounds[0].Fit))
		require.Contains(t, rounds[0].Note, "no answer in time")
		require.Equal(t, report.Phase{}, rounds[0].Evaluate, "fraction_evaluate is 0")
		require.Nil(t, rounds[0].Loss)
		require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "job"))
	})
}

func TestServer_Start_interruptsAJobWithTooFewClients(t *testing.T) {
	onFakeClock(t, func(t *testing.T, lan network) {
		w := newWorldOn(t, lan, flcollect.Config{Initial: zeros, ClientTimeout: 10 * time.Second})
		ended, _ := w.join(t, trainer{step: 1, examples: 1})
		require.Eventually(t, func() bool { return w.Totals().Lobby == 1 }, patience, time.Millisecond)
		require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
		status := w.untilState(t, "job", report.Interrupted)
		require.Equal(t, "not enough clients: 1 of 2 came within 10s", status.Error)
		require.Equal(t, 0, status.Round)
		require.NoError(t, <-ended, "it is sent away")
	})
}

func TestStatus_Quarantined_hasRefusedUpdatesWithReasons(t *testing.T) {
	update := func(change func(*flower.FitRes)) trainer {
		return trainer{step: 1, examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
			change(res)
			return nil
		}}
	}
	model := func(tensors ...tensor.Tensor) trainer {
		return update(func(res *flower.FitRes) { res.Parameters = flower.FromTensors(tensors...) })
	}
	evaluation := func(change func(*flower.EvaluateRes)) trainer {
		return trainer{step: 1, examples: 1, evaluate: func(_ context.Context, _ flower.EvaluateIns, res *flower.EvaluateRes) error {
			change(res)
			return nil
		}}
	}
	nan := float32(math.NaN())
	last := tensor.FromFloat32s([]float32{1})
	for name, c := range map[string]struct {
		client trainer
		reason string
	}{
		"no examples":       {update(func(r *flower.FitRes) { r.NumExamples = 0 }), "0"},
		"negative examples": {update(func(r *flower.FitRes) { r.NumExamples = -1 }), "-1"},
		"vast examples":     {update(func(r *flower.FitRes) { r.NumExamples = 1 << 62 }), "4611686018427387904"},
		"not a number":      {model(tensor.FromFloat32s([]float32{1, nan, 1}), last), "NaN"},
		"another shape":     {model(tensor.FromFloat32s([]float32{1, 1}), last), "shape"},
		"a tensor less":     {model(last), "tensor"},
		"another encoding":  {update(func(r *flower.FitRes) { r.Parameters.Type = "pickle" }), `type "pickle"`},
		"rubbish": {update(func(r *flower.FitRes) {
			r.Parameters.Tensors[0] = flower.Blob{[]byte("rubbish")}
		}), "decode tensor 0"},
		"a loss that is none":    {evaluation(func(r *flower.EvaluateRes) { r.Loss = nan }), "the loss is NaN"},
		"evaluated with nothing": {evaluation(func(r *flower.EvaluateRes) { r.NumExamples = 0 }), "num_examples is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flcollect.Config{Initial: zeros})
			w.join(t, c.client)
			w.join(t, trainer{step: 1, examples: 1})
			require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
			status := w.untilState(t, "job", report.Finished)
			require.Len(t, status.Quarantined, 1)
			require.Equal(t, 1, status.Quarantined[0].Round)
			require.Contains(t, status.Quarantined[0].Client, "127.0.0.1")
			require.Contains(t, status.Quarantined[0].Reason, c.reason)
			require.Equal(t, []float64{1, 1, 1, 2}, w.weights(t, "job"), "the other one counts")
			require.EqualValues(t, 1, w.Totals().Quarantined)
			rounds, err := w.Rounds(t.Context(), "job", 0, 0)
			require.NoError(t, err)
			require.InDelta(t, 1, *rounds[0].Loss, 1e-9)
			require.Equal(t, 1, rounds[0].Fit.Failures+rounds[0].Evaluate.Failures)
		})
	}
}

func TestServer_Rounds_aggregatedIsFalseWhereTheModelStays(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	var fits atomic.Int64
	w.join(t, trainer{step: 1, examples: 1, fit: func(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
		if fits.Add(1) == 2 {
			res.NumExamples = 0
		}
		return nil
	}})
	w.join(t, trainer{step: 1, examples: 1})
	conf := config(3, 2)
	conf.StrategyConf["accept_failures"] = false
	require.NoError(t, w.Start(t.Context(), "job", conf))
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "job"))
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.False(t, rounds[1].Aggregated)
	require.Contains(t, rounds[1].Note, "accept_failures is false")
	require.InDelta(t, 1, *rounds[1].Loss, 1e-9, "the old model is evaluated")
	require.True(t, rounds[2].Aggregated)
}

func TestServer_Handle_failsAloneAClientThatAnswersTwice(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	closed := answerTwice(t, w)
	w.join(t, trainer{step: 1, examples: 1})
	require.NoError(t, w.Start(t.Context(), "job", withAvailable(config(2, 1), 2, 1)))
	<-closed
	w.join(t, trainer{step: 1, examples: 1}) // in its place
	w.untilState(t, "job", report.Finished)
	require.Equal(t, []float64{2, 2, 2, 3}, w.weights(t, "job"))
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 2, rounds[1].Fit.Results)
	require.Zero(t, rounds[1].Fit.Failures)
}

// A proxy carries all its clients over one connection.
func TestServer_Handle_trainsClientsBehindAProxy(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	upstream := &http.Transport{Protocols: new(http.Protocols)}
	upstream.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(upstream.CloseIdleConnections)
	proxy := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: w.address}) },
			Transport: upstream, FlushInterval: -1,
		},
		Protocols: new(http.Protocols),
	}
	proxy.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go proxy.Serve(listener)
	t.Cleanup(func() { proxy.Close() })

	require.NoError(t, w.Start(t.Context(), "job", config(2, 3)))
	ended := make(chan error, 3)
	for range 3 {
		client, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: trainer{step: 1, examples: 1}})
		require.NoError(t, err)
		go func() { ended <- client.Run(t.Context()) }()
	}
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 2, status.Aggregated)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 3, rounds[1].Fit.Results)
	for range 3 {
		require.NoError(t, <-ended)
	}
}
