package flcollect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// asynchronous makes a configuration asynchronous.
func asynchronous(conf jobconfig.Config, buffer, concurrency int, staleness float64) jobconfig.Config {
	conf.Async = &jobconfig.Async{Buffer: buffer, Concurrency: concurrency, Staleness: &staleness}
	return conf
}

// straggler is a client that says when its first fit begins, and ends it when its gate is
// closed.
func straggler(step float64) (client trainer, began <-chan struct{}, gate chan struct{}) {
	first := make(chan struct{})
	begin := sync.OnceFunc(func() { close(first) })
	gate = make(chan struct{})
	return trainer{step: step, examples: 10, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
		begin()
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, first, gate
}

func TestServer_async_doesNotWaitForASlowClient(t *testing.T) {
	const versions = 10
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	slow, began, gate := straggler(1)
	w.joinAs(t, slow, "slow")
	var once sync.Once
	for i := range 7 {
		w.joinAs(t, trainer{step: 1, examples: 10, fit: func(ctx context.Context, ins flower.FitIns, _ *flower.FitRes) error {
			<-began
			model, err := ins.Parameters.Decode()
			if err == nil && model[0].Float64s()[0] > 4.5 { // at least five versions were made meanwhile
				once.Do(func() { close(gate) })
			}
			return err
		}}, fmt.Sprintf("fast-%d", i))
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(versions, 2), 8, 2), 4, 8, 0.5)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, versions, status.Round)
	require.Equal(t, versions, status.Aggregated)
	require.Empty(t, status.Error)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Len(t, rounds, versions)
	stale := 0
	for i, r := range rounds {
		require.Equal(t, i+1, r.Number)
		require.Equal(t, 4, r.Fit.Results)
		require.LessOrEqual(t, r.Async.Kept, r.Async.Training)
		require.Equal(t, 4, r.Evaluate.Results+r.Async.CutOff)
		found, err := w.Report(t.Context(), "job", r.Number, 0, 0)
		require.NoError(t, err)
		greatest := 0
		for _, c := range found.Clients {
			require.NotNil(t, c.Staleness)
			greatest = max(greatest, *c.Staleness)
			if c.Client == "name:slow" {
				stale = max(stale, *c.Staleness)
			}
		}
		require.Equal(t, greatest, r.Async.MaxStaleness)
	}
	require.GreaterOrEqual(t, stale, 4)
	require.NotNil(t, rounds[0].Loss)
	_, err = report.VerifyAudit(joined(w.auditLog(t, "job")))
	require.NoError(t, err)
}

// With as many clients as a version has updates all updates are fresh, and the model has
// the bits of one that was trained in rounds.
func TestServer_async_equalsRoundsWithoutStaleness(t *testing.T) {
	train := func(conf jobconfig.Config) []float64 {
		w := newWorld(t, flcollect.Config{Initial: bitsModel})
		for i := range 3 {
			w.join(t, trainer{step: 0.1 + float64(i)/3, examples: int64(i + 1)})
		}
		require.NoError(t, w.Start(t.Context(), "job", conf))
		w.untilState(t, "job", report.Finished)
		return w.weights(t, "job")
	}
	for _, name := range []string{"FedAvg", "FedAdam", "FedTrimmedAvg"} {
		conf := config(4, 3)
		conf.Strategy = name
		require.Equal(t, train(conf), train(asynchronous(conf, 3, 3, 0.5)), name)
	}
}

func TestServer_async_resumesAfterACrashAtAnyWrite(t *testing.T) {
	const versions = 3
	join := func(t *testing.T, w *world) {
		w.join(t, trainer{step: 1, examples: 10})
		w.join(t, trainer{step: 4, examples: 20})
	}
	conf := asynchronous(adam(versions), 2, 2, 0.5)
	undisturbed := newWorld(t, flcollect.Config{Initial: zeros})
	join(t, undisturbed)
	require.NoError(t, undisturbed.Start(t.Context(), "job", conf))
	undisturbed.untilState(t, "job", report.Finished)
	want := undisturbed.weights(t, "job")
	for died, writes := true, 1; died; writes++ {
		require.Less(t, writes, 100)
		t.Run(fmt.Sprintf("write %d", writes), func(t *testing.T) {
			documents, blobs, f := storage.NewMemoryDocuments(), storage.NewMemoryBlobs(), newFuse(writes, writes%2 == 0)
			first := newWorld(t, flcollect.Config{
				Documents: fusedDocuments{documents, f}, Blobs: fusedBlobs{blobs, f}, Initial: zeros, Park: time.Hour,
			})
			join(t, first)
			_ = first.Start(t.Context(), "job", conf) // it may be what fails
			died = first.dies(t, f)
			first.end()

			second := newWorld(t, flcollect.Config{Documents: documents, Blobs: blobs, Initial: zeros})
			join(t, second)
			status, err := second.Status(t.Context(), "job")
			require.NoError(t, err)
			if status.State == report.Inactive {
				require.NoError(t, second.Start(t.Context(), "job", conf))
			}
			second.untilState(t, "job", report.Finished)
			require.Equal(t, want, second.weights(t, "job"))
			second.hasRounds(t, versions)
			require.Equal(t, 1, countBlobs(t, blobs), "what the crash left is collected")
			lines := second.auditLog(t, "job")
			_, err = report.VerifyAudit(joined(lines))
			require.NoError(t, err)
			counted, err := second.Rounds(t.Context(), "job", 0, 0)
			require.NoError(t, err)
			model := ""
			for _, round := range counted {
				line := readLine(t, lines[round.Audit.Line-1])
				require.Equal(t, round.Number, line.Round)
				require.True(t, model == "" || model == line.Model, "versions that count follow each other")
				model = line.Result
			}
		})
	}
}

func TestServer_StopJob_endsAnAsynchronousJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow, began, _ := straggler(1)
	ended, _ := w.join(t, slow)
	w.join(t, trainer{step: 1, examples: 10})
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(jobconfig.MaxRounds, 1), 2, 1), 1, 2, 0)))
	<-began
	w.until(t, "job", "at version 3", func(s flcollect.Status) bool { return s.Round >= 3 })
	require.NoError(t, w.StopJob(t.Context(), "job"))
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, report.Interrupted, status.State)
	require.Error(t, <-ended)
	_, err = report.VerifyAudit(joined(w.auditLog(t, "job")))
	require.NoError(t, err)
}

func TestServer_async_endsEarlyAtATarget(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10}) // the accuracy is a tenth of the version
	}
	conf := asynchronous(config(1000, 2), 2, 2, 0.5)
	conf.Stopping, conf.Targets = true, map[string]float64{"accuracy": 0.45}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 5, status.Early.Round)
	require.Equal(t, 5, status.Round)
	require.Equal(t, 5.0, w.weights(t, "job")[0], "the model is that of the version, however many were made since")
}

func TestServer_async_quarantinesWrongUpdates(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Identify: named})
	w.joinAs(t, trainer{step: 1, examples: 0}, "liar")
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(6, 2), 3, 2), 2, 3, 0.5)))
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 6, status.Aggregated)
	require.Equal(t, 12, status.Updates.Kept)
	require.Positive(t, status.Updates.Refused)
	require.Len(t, status.Quarantined, status.Updates.Refused)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	for _, r := range rounds {
		require.Equal(t, 2, r.Fit.Results)
	}
}

func TestServer_async_recordsTheLossOfTheLastVersion(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	held := make(chan struct{})
	var seen journal
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10, evaluate: func(ctx context.Context, ins flower.EvaluateIns, _ *flower.EvaluateRes) error {
			seen.add("evaluate")
			select {
			case <-held:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(config(1, 2), 2, 2, 0.5)))
	status := w.until(t, "job", "evaluated", func(s flcollect.Status) bool { return s.Evaluating })
	require.Zero(t, status.Round)
	close(held)
	w.untilState(t, "job", report.Finished)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1.0, *rounds[0].Loss)
	require.Len(t, seen.all(), 2)
}

func TestServer_Start_refusesAsyncWhereItHasNoMeaning(t *testing.T) {
	h := func(w *world) http.Handler { return w.web() }
	w := newWorld(t, flcollect.Config{Initial: zeros, Strategies: map[string]func(strategy.Conf) (strategy.Strategy, error){
		"fair": func(conf strategy.Conf) (strategy.Strategy, error) { return strategy.New("QFedAvg", conf) },
	}})
	edge := newEdge(t, w, "site")
	for name, c := range map[string]struct {
		at      *world
		changes map[string]string
		path    []any
	}{
		"bounds": {w, map[string]string{"server_conf": `{"async":{"buffer":0}}`}, []any{"body", "server_conf", "async", "buffer"}},
		"a registered strategy": {
			w, map[string]string{"server_conf": `{"async":{}}`, "strategy": `"fair"`}, []any{"body", "server_conf", "async"},
		},
		"an edge": {edge, map[string]string{"server_conf": `{"async":{}}`}, []any{"body", "server_conf", "async"}},
	} {
		answer := jobstest.Ask(h(c.at), "POST", "/job/config/7", string(jobstest.Body(t, c.changes)))
		require.Equal(t, http.StatusUnprocessableEntity, answer.Code, name)
		var faults struct {
			Detail []struct {
				Loc []any `json:"loc"`
			} `json:"detail"`
		}
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &faults))
		require.Equal(t, c.path, faults.Detail[0].Loc, name)
	}
}

// An asynchronous job takes no collectors as clients.
func TestServer_Handle_refusesEdgesOfAnAsynchronousJob(t *testing.T) {
	upper := newNamed(t, flcollect.Config{Initial: zeros})
	require.NoError(t, upper.Start(t.Context(), "job", asynchronous(config(1, 1), 1, 1, 0.5)))
	edge := newEdge(t, upper, "site")
	require.NoError(t, edge.Start(t.Context(), "job", config(1, 1)))
	status := edge.untilState(t, "job", report.Interrupted)
	require.Contains(t, status.Error, "asynchronous")
}

func TestServer_async_convertsBeforeItMovesAnUpdate(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	slow, began, gate := straggler(1)
	wide := answering(func(ins flower.FitIns) (strategy.Model, error) {
		model, err := ins.Parameters.Decode()
		made := slices.Clone(model)
		for i, layer := range model {
			if err == nil {
				made[i], err = layer.As(tensor.Float64)
			}
		}
		return made, err
	})
	fit := wide.fit
	wide.fit = func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error {
		if err := slow.fit(ctx, ins, res); err != nil {
			return err
		}
		return fit(ctx, ins, res)
	}
	w.join(t, wide)
	var once sync.Once
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10, fit: func(_ context.Context, ins flower.FitIns, _ *flower.FitRes) error {
			<-began
			model, err := ins.Parameters.Decode()
			if err == nil && model[0].Float64s()[0] >= 2 {
				once.Do(func() { close(gate) })
			}
			return err
		}})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(30, 2), 3, 2), 2, 3, 1)))
	status := w.untilState(t, "job", report.Finished)
	require.Zero(t, status.Updates.Refused)
	require.Positive(t, status.Updates.Converted)
}

// A client that evaluates for a long time holds up eight versions at most.
func TestServer_async_cutsOffAnEvaluationThatLastsTooLong(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	held := make(chan struct{})
	w.join(t, trainer{step: 1, examples: 10, evaluate: func(ctx context.Context, _ flower.EvaluateIns, _ *flower.EvaluateRes) error {
		select {
		case <-held:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(60, 1), 3, 1), 1, 3, 0.5)))
	status := w.untilState(t, "job", report.Finished)
	close(held)
	require.Equal(t, 60, status.Aggregated)
	rounds, err := w.Rounds(t.Context(), "job", 0, 0)
	require.NoError(t, err)
	late := 0
	for _, r := range rounds {
		late += r.Async.CutOff
		require.Zero(t, r.Evaluate.Failures)
		require.Equal(t, r.Async.CutOff == 0, r.Loss != nil)
	}
	require.Positive(t, late)
}

func TestServer_Rounds_showVersionsAndTheirStaleness(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for range 2 {
		w.join(t, trainer{step: 1, examples: 10})
	}
	require.NoError(t, w.Start(t.Context(), "job", asynchronous(withAvailable(config(6, 1), 2, 1), 1, 2, 0.25)))
	w.untilState(t, "job", report.Finished)
	h := page.NewHandler(w.Server, nil)
	page := jobstest.Ask(h, "GET", "/live/job", "").Body.String()
	require.Contains(t, page, "Version 6 of 6")
	require.Contains(t, page, "buffer 1, concurrency 2, exponent of staleness 0.25")
	require.Regexp(t, `data-field="staleness">staleness [0-9.]+, at most [0-9]+<`, page)
	answer := jobstest.Ask(h, "GET", "/api/job/status/job", "").Body.String()
	require.Contains(t, answer, `"async":{"buffer":1,"concurrency":2,"staleness":0.25}`)
	answer = jobstest.Ask(h, "GET", "/api/job/rounds/job", "").Body.String()
	require.Contains(t, answer, `"async":{"mean_staleness":`)
	answer = jobstest.Ask(h, "GET", "/api/job/rounds/job/6/report", "").Body.String()
	require.Contains(t, answer, `"staleness":`)
}
