package flcollect_test

import (
	"context"
	"math"
	"strings"
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

// gated is a trainer whose fits wait for a token each.
func gated(step float64, examples int64) (trainer, chan<- struct{}) {
	gate := make(chan struct{}, 100)
	return trainer{step: step, examples: examples, fit: func(ctx context.Context, _ flower.FitIns, _ *flower.FitRes) error {
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}, gate
}

func TestStatus_State_goesFromWaitingToFinished(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, flcollect.Status{Job: "job", State: report.Inactive}, status)

	require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
	status = w.until(t, "job", "taken up", func(s flcollect.Status) bool { return s.Round == 0 })
	require.Equal(t, report.Waiting, status.State)
	require.Zero(t, status.Started)

	slow, gate := gated(1, 1)
	ended, _ := w.join(t, slow)
	status = w.untilState(t, "job", report.Training)
	require.Equal(t, 0, status.Round)
	require.Equal(t, 1, status.Clients)
	require.NotZero(t, status.Started)
	require.Zero(t, status.Ended)

	gate <- struct{}{}
	status = w.until(t, "job", "at round 1", func(s flcollect.Status) bool { return s.Round == 1 })
	require.Equal(t, report.Training, status.State)
	gate <- struct{}{}
	status = w.untilState(t, "job", report.Finished)
	require.Equal(t, 2, status.Round)
	require.NotZero(t, status.Ended)
	require.False(t, status.Stored, "there is no repository")
	require.NoError(t, <-ended)
}

func TestStatus_Round_isMinusOneBeforeTheJobRuns(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	n := &neighbours{}
	n.down = func(call string) error {
		if call == "strategy" {
			close(asked)
			<-answer
		}
		return nil
	}
	w := newWorld(t, flcollect.Config{Repository: n})
	ours := config(1, 1)
	ours.Strategy = "ours"
	started := make(chan error, 1)
	go func() { started <- w.Start(context.Background(), "job", ours) }()
	<-asked
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.Equal(t, report.Inactive, status.State, "the strategy is checked before anything is stored")
	close(answer)
	require.NoError(t, <-started)
	doc, err := w.documents.Get(t.Context(), "job/job")
	require.NoError(t, err)
	require.Contains(t, string(doc.Data), `"round":-1`)
	require.Contains(t, string(doc.Data), `"state":"WAITING"`)
}

func TestServer_Start_refusesInvalidConfigurations(t *testing.T) {
	w := newWorld(t, flcollect.Config{Repository: &neighbours{}})
	for name, c := range map[string]struct {
		id     string
		change func(*jobconfig.Config)
		want   error
	}{
		"no id":             {"", func(*jobconfig.Config) {}, jobconfig.ErrInvalid},
		"a control":         {"a\n", func(*jobconfig.Config) {}, jobconfig.ErrInvalid},
		"no rounds":         {"a", func(c *jobconfig.Config) { c.Rounds = 0 }, jobconfig.ErrInvalid},
		"many rounds":       {"a", func(c *jobconfig.Config) { c.Rounds = jobconfig.MaxRounds + 1 }, jobconfig.ErrInvalid},
		"negative timeout":  {"a", func(c *jobconfig.Config) { c.RoundTimeout = -1 }, jobconfig.ErrInvalid},
		"a list for client": {"a", func(c *jobconfig.Config) { c.ClientConf = []map[string]any{{"x": []int{1}}} }, jobconfig.ErrInvalid},
		"no strategy":       {"a", func(c *jobconfig.Config) { c.Strategy = "" }, jobconfig.ErrInvalid},
		"unknown strategy":  {"a", func(c *jobconfig.Config) { c.Strategy = "theirs" }, flcollect.ErrNoStrategy},
	} {
		t.Run(name, func(t *testing.T) {
			conf := config(1, 1)
			c.change(&conf)
			require.ErrorIs(t, w.Start(t.Context(), c.id, conf), c.want)
		})
	}
	conf := config(1, 1)
	conf.StrategyConf["fraction_fit"] = 2
	var field *strategy.FieldError
	require.ErrorAs(t, w.Start(t.Context(), "a", conf), &field)
	require.Equal(t, "fraction_fit", field.Field)
	jobs, _, err := w.Jobs(t.Context(), "", "", 0)
	require.NoError(t, err)
	require.Empty(t, jobs)
}

func TestServer_Start_repeatsOrConflictsWithAnActiveJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := config(1, 1)
	conf.ClientConf = []map[string]any{{"learning_rate": 1.0, "epochs": int64(1)}}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	require.NoError(t, w.Start(t.Context(), "job", conf), "the answer may have been lost")
	other := conf
	other.Rounds = 2
	require.ErrorIs(t, w.Start(t.Context(), "job", other), flcollect.ErrActive)
	status, err := w.Status(t.Context(), "job")
	require.NoError(t, err)
	require.EqualValues(t, 1, status.Run)
	require.Equal(t, conf.ClientConf, status.Config.ClientConf, "types are kept")
}

func TestServer_Start_beginsANewRunOfAnEndedJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for run := range int64(3) {
		ended, _ := w.join(t, trainer{step: 1, examples: 1})
		require.NoError(t, w.Start(t.Context(), "job", config(2, 1)))
		status := w.until(t, "job", "finished", func(s flcollect.Status) bool { return s.State == report.Finished && s.Run == run+1 })
		require.Equal(t, 2, status.Round)
		require.NoError(t, <-ended)
		rounds, err := w.Rounds(t.Context(), "job", 0, 0)
		require.NoError(t, err)
		require.Len(t, rounds, 2)
	}
	require.Eventually(t, func() bool { // what earlier runs left is deleted
		docs, err := w.documents.List(t.Context(), "round/", "", 0)
		require.NoError(t, err)
		blobs := 0
		for _, err := range w.blobs.List(t.Context(), "") {
			require.NoError(t, err)
			blobs++
		}
		return len(docs) == 2 && blobs == 1
	}, patience, time.Millisecond)
}

func TestServer_Jobs_returnsPages(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros})
	for _, id := range []string{"b/1", "a", "b/2", "b/3", "c"} {
		require.NoError(t, w.Start(t.Context(), id, config(1, 5)))
	}
	ids := func(prefix string) (ids []string) {
		for after := ""; ; {
			jobs, next, err := w.Jobs(t.Context(), prefix, after, 2)
			require.NoError(t, err)
			for _, j := range jobs {
				ids = append(ids, j.Job)
			}
			if after = next; next == "" {
				return ids
			}
		}
	}
	require.Equal(t, []string{"a", "b/1", "b/2", "b/3", "c"}, ids(""))
	require.Equal(t, []string{"b/1", "b/2", "b/3"}, ids("b/"))
}

func TestServer_Start_clientConfIsSentToClients(t *testing.T) {
	sent := make(chan flower.Config, 1)
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := config(1, 1)
	conf.Strategy, conf.StrategyConf["proximal_mu"] = "FedProx", 0.5
	conf.ClientConf = []map[string]any{{"epochs": int64(3), "learning_rate": 1.0, "shuffle": true, "name": "x"}, {"epochs": int64(9)}}
	w.join(t, trainer{examples: 1, fit: func(_ context.Context, ins flower.FitIns, _ *flower.FitRes) error {
		sent <- ins.Config
		return nil
	}})
	require.NoError(t, w.Start(t.Context(), "job", conf))
	require.Equal(t, flower.Config{"epochs": int64(3), "learning_rate": 1.0, "shuffle": true, "name": "x", "proximal_mu": 0.5}, <-sent)
	w.untilState(t, "job", report.Finished)
}

func TestServer_Start_findsAModelInTheRepositoryOrAClient(t *testing.T) {
	stored := strategy.Model{tensor.FromFloat64s([]float64{5})}
	for name, c := range map[string]struct {
		models map[string]strategy.Model
		first  func(context.Context, jobconfig.Config) (strategy.Model, error)
		want   []float64
	}{
		"options":    {map[string]strategy.Model{"m/1": stored}, zeros, []float64{1, 1, 1, 2}},
		"repository": {map[string]strategy.Model{"m/1": stored}, nil, []float64{6}},
		"client": {nil, func(context.Context, jobconfig.Config) (strategy.Model, error) {
			return nil, flcollect.ErrNoModel
		}, []float64{8, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flcollect.Config{Initial: c.first, Repository: &neighbours{models: c.models}})
			w.join(t, trainer{step: 1, examples: 1}) // has no parameters
			w.join(t, trainer{step: 1, examples: 1, begin: []float32{7, 8}})
			require.NoError(t, w.Start(t.Context(), "job", config(1, 2)))
			w.untilState(t, "job", report.Finished)
			require.Equal(t, c.want, w.weights(t, "job"))
		})
	}
}

// Flower sends empty parameters in the first round where no client has some.
func TestServer_trainsWithoutParametersToBeginWith(t *testing.T) {
	for name, begin := range map[string][]float32{"no such method": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flcollect.Config{})
			starts := func(first float32) trainer {
				return trainer{step: 1, examples: 1, begin: begin, fit: func(_ context.Context, ins flower.FitIns, res *flower.FitRes) error {
					if len(ins.Parameters.Tensors) == 0 {
						res.Parameters = flower.FromTensors(tensor.FromFloat32s([]float32{first, first}))
					}
					return nil
				}}
			}
			require.NoError(t, w.Start(t.Context(), "job", config(2, 2)))
			w.join(t, starts(5))
			w.until(t, "job", "a reason", func(s flcollect.Status) bool {
				return strings.Contains(s.Error, "the client has no parameters to begin with: it")
			})
			w.join(t, starts(5))
			status := w.untilState(t, "job", report.Finished)
			require.Equal(t, []float64{7, 7}, w.weights(t, "job"))
			require.Contains(t, status.Note, "trained the first model from its own")
			require.Empty(t, status.Error)
		})
	}
}

func TestStatus_saysWhyNoModelOfAClientCanBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		client trainer
		change func(*jobconfig.Config)
		want   string
	}{
		"unsound":      {trainer{begin: []float32{float32(math.NaN())}}, func(*jobconfig.Config) {}, "NaN"},
		"does not fit": {trainer{step: 1, examples: 1}, func(*jobconfig.Config) {}, "does not train without"},
		"dp": {trainer{step: 1, examples: 1},
			func(c *jobconfig.Config) { c.DPAdaptive = private(1).DPAdaptive }, "with dp-adaptive a model"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, flcollect.Config{})
			conf := config(1, 1)
			c.change(&conf)
			if name == "does not fit" {
				c.client.fit = func(context.Context, flower.FitIns, *flower.FitRes) error { return flower.ErrNotImplemented }
			}
			require.NoError(t, w.Start(t.Context(), "job", conf))
			w.join(t, c.client)
			status := w.until(t, "job", "a reason", func(s flcollect.Status) bool { return strings.Contains(s.Error, c.want) })
			require.Equal(t, report.Waiting, status.State)
			require.NoError(t, w.Stop(t.Context()))
		})
	}
}

func TestStatus_saysThatTheModelOfAClientIsTooLarge(t *testing.T) {
	options := flcollect.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Dir: t.TempDir()}
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle, MaxMessage: 1 << 16})
	require.NoError(t, err)
	w := serve(t, loopback{}, options, server, flowers, loopback{}.listen(t))
	require.NoError(t, w.Start(t.Context(), "job", config(1, 1)))
	w.join(t, trainer{begin: make([]float32, 1<<16)})
	status := w.until(t, "job", "a reason", func(s flcollect.Status) bool { return strings.Contains(s.Error, "message too large") })
	require.Equal(t, report.Waiting, status.State)
	require.NoError(t, w.Stop(t.Context()))
}

// A loss falls: it has to be below its goal for so many rounds in a row.
func TestStatus_Early_waitsForTheGoalOfALoss(t *testing.T) {
	losses := []float32{0.05, 0.5, 0.09, 0.08, 0.07}
	w := newWorld(t, flcollect.Config{Initial: zeros})
	conf := config(9, 1)
	below := 0.1
	conf.Stopping, conf.Goals = true, map[string]jobconfig.Goal{"loss": {Below: &below, Patience: 3}}
	require.NoError(t, w.Start(t.Context(), "job", conf))
	next := 0
	w.join(t, trainer{step: 1, examples: 1, evaluate: func(_ context.Context, _ flower.EvaluateIns, res *flower.EvaluateRes) error {
		res.Loss = losses[min(next, len(losses)-1)]
		next++
		return nil
	}})
	status := w.untilState(t, "job", report.Finished)
	require.Equal(t, 5, status.Round)
	require.Equal(t, "loss", status.Early.Metric)
	require.Equal(t, 0.1, status.Early.Target)
	require.True(t, status.Early.Below)
}

func TestServer_Run_isNeededToDeliver(t *testing.T) {
	w := newWorld(t, flcollect.Config{})
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, time.Millisecond)
	require.Error(t, w.Run(t.Context()), "it runs already")
	w.end()
	require.ErrorIs(t, w.Ready(), flcollect.ErrNotRunning)
	require.ErrorIs(t, w.Start(t.Context(), "job", config(1, 1)), flcollect.ErrNotRunning)
	require.ErrorIs(t, w.Stop(t.Context()), flcollect.ErrNotRunning)
}

func TestNewServer_refusesInvalidConfigurations(t *testing.T) {
	_, err := flcollect.NewServer(flcollect.Config{ClientTimeout: -1, Park: time.Millisecond})
	for _, field := range []string{"Documents", "Blobs", "ClientTimeout", "Park"} {
		require.ErrorContains(t, err, field)
	}
}
