package flcollect_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/internal/jobstest"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

type factory = func(strategy.Conf) (strategy.Strategy, error)

// double is a program's strategy: twice the step that clients made, if "factor" is
// not given.
func double(conf strategy.Conf) (strategy.Strategy, error) {
	momentum := strategy.Conf{"server_learning_rate": 2.0}
	for field, value := range conf {
		if field == "factor" {
			field = "server_learning_rate"
		}
		momentum[field] = value
	}
	delete(conf, "factor") // the parameters are those of the strategy
	return strategy.New("FedAvgM", momentum)
}

func chosen(name string, rounds int, conf strategy.Conf) jobconfig.Config {
	c := config(rounds, 1)
	c.Strategy = name
	for field, value := range conf {
		c.StrategyConf[field] = value
	}
	return c
}

func TestConfig_Strategies_areSelectedByName(t *testing.T) {
	n := &neighbours{} // whose repository has "ours" too
	w := newWorld(t, flcollect.Config{Initial: zeros, Repository: n, TrustClients: true,
		Strategies: map[string]factory{"double": double, "ours": double}})
	for _, c := range []struct {
		job  string
		conf jobconfig.Config
		want float64
	}{
		{"plain", chosen("double", 2, nil), 4},
		{"factor", chosen("double", 2, strategy.Conf{"factor": 3}), 6},
		{"before that of the repository", chosen("ours", 2, nil), 4},
		{"built in", chosen("FedAvgM", 2, nil), 2},
	} {
		w.join(t, trainer{step: 1, examples: 1})
		require.NoError(t, w.Start(t.Context(), c.job, c.conf))
		w.untilState(t, c.job, report.Finished)
		require.InDelta(t, c.want, w.weights(t, c.job)[0], 1e-9, c.job)
		status, err := w.Status(t.Context(), c.job)
		require.NoError(t, err)
		require.EqualValues(t, c.conf.StrategyConf["factor"], status.Config.StrategyConf["factor"],
			"what the strategy does to its parameters is its own affair")
	}
}

func TestConfig_Strategies_failAsErrorsOfTheJob(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Strategies: map[string]factory{
		"double": double,
		"broken": func(strategy.Conf) (strategy.Strategy, error) { return nil, errors.New("the licence has run out") },
		"none":   func(strategy.Conf) (strategy.Strategy, error) { return nil, nil },
	}})
	for _, c := range []struct {
		conf         jobconfig.Config
		field, says  string
		unregistered bool
	}{
		{chosen("double", 1, strategy.Conf{"fctor": 3}), "fctor", "unknown", false},
		{chosen("broken", 1, nil), "strategy", "the licence has run out", false},
		{chosen("none", 1, nil), "strategy", "returned none", false},
		{chosen("unknown", 1, nil), "", "", true},
	} {
		err := w.Start(t.Context(), "job", c.conf)
		if c.unregistered {
			require.ErrorIs(t, err, flcollect.ErrNoStrategy)
			continue
		}
		var field *strategy.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, c.field, field.Field)
		require.Contains(t, field.Reason, c.says)
	}
}

func TestConfig_Strategies_areNeededAfterARestart(t *testing.T) {
	options := flcollect.Config{Initial: zeros, Strategies: map[string]factory{"double": double}}
	w := newWorld(t, options)
	require.NoError(t, w.Start(t.Context(), "kept", chosen("double", 1, nil)))
	w = w.restart(t, options)
	w.join(t, trainer{step: 1, examples: 1})
	w.untilState(t, "kept", report.Finished)
	require.NoError(t, w.Start(t.Context(), "lost", chosen("double", 1, nil)))
	w = w.restart(t, flcollect.Config{Initial: zeros})
	require.Contains(t, w.untilState(t, "lost", report.Interrupted).Error, `strategy "double": flcollect: no strategy of that name`)
}

func TestNewServer_refusesNamesOfStrategies(t *testing.T) {
	for name, says := range map[string]string{"": `"" has no name`, "avg": `"avg" has the name of a built-in one`,
		"Krum": `"Krum" has`, "mine": `"mine" is nil`} {
		made := factory(double)
		if name == "mine" {
			made = nil
		}
		_, err := flcollect.NewServer(flcollect.Config{
			Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(), Strategies: map[string]factory{name: made},
		})
		require.ErrorContains(t, err, "configure training collector: Strategies: "+says)
	}
}

func TestConfig_Strategies_thatCompareClientsAreNotPrivate(t *testing.T) {
	w := newWorld(t, flcollect.Config{Initial: zeros, Strategies: map[string]factory{
		"nearest": func(conf strategy.Conf) (strategy.Strategy, error) { return strategy.New("Krum", conf) },
	}})
	h, _ := serveWorld(t, w)
	c := private(2)
	c.Strategy = "nearest"
	err := w.Start(t.Context(), "job", c)
	var field *strategy.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "nearest", field.Strategy)
	require.Equal(t, "strategy", field.Field)
	answer := jobstest.Ask(h, "POST", "/job/config/job", string(jobstest.Body(t, map[string]string{
		"strategy": `"nearest"`, "privacy-mechanisms": `{"dp-adaptive":{"num_sampled_clients":100}}`,
	})))
	require.Equal(t, 422, answer.Code)
	require.Contains(t, answer.Body.String(), `"loc":["body","strategy"]`)
	require.Contains(t, answer.Body.String(), "it compares clients")
}
