package flower_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
)

// trial is a training that both servers conduct, as testdata/reference.py reads it.
type trial struct {
	Name     string `json:"name"`
	Strategy string `json:"strategy"`
	// Conf are the strategy's parameters, Ours what is different of them for our
	// server.
	Conf map[string]any `json:"conf"`
	Ours map[string]any `json:"-"`
	// Clients and Rounds are how many there are, Counter is whether the model has
	// a layer of whole numbers.
	Clients int  `json:"clients"`
	Rounds  int  `json:"rounds"`
	Counter bool `json:"counter"`
	// Start is who has the initial parameters, the "repository" or a "client".
	Start string `json:"start"`
	// Runs is how often Flower conducts it.
	Runs int `json:"runs"`
	// ClientConf is what clients get with every fit.
	ClientConf map[string]any `json:"client_conf"`
}

// floatTolerance is how far a weight may be from Flower's, relative to weights
// beyond 1. Flower adds in 32 bits, so it is 0 to 4e-7 away, by the order of answers.
const floatTolerance = 5e-6

// trials are those of a release of Flower: one for every strategy, with all
// clients in every round.
func trials(version string) []trial {
	base := trial{Clients: 5, Rounds: 3, Counter: true, Start: "repository", Runs: 1}
	if version == newest {
		// For Bulyan, with one client that it need not trust. Where weights are
		// fractions this release makes whole numbers zero, so it gets none.
		base.Clients, base.Counter = 7, false
	}
	var all []trial
	add := func(name string, conf map[string]any, change func(*trial)) {
		t := base
		t.Name, t.Strategy = name, name
		t.ClientConf = map[string]any{"epochs": 4, "learning_rate": 0.5}
		t.Conf = map[string]any{"min_available_clients": t.Clients, "min_fit_clients": t.Clients,
			"min_evaluate_clients": t.Clients}
		maps.Copy(t.Conf, conf)
		if change != nil {
			change(&t)
		}
		all = append(all, t)
	}
	add("FedAvg", nil, nil)
	add("avg", nil, func(t *trial) { t.Start, t.Counter = "client", false })
	add("FaultTolerantFedAvg", map[string]any{"min_completion_rate_fit": 0.9}, nil)
	add("FedMedian", nil, nil)
	add("FedProx", map[string]any{"proximal_mu": 0.3}, nil)
	add("FedAvgM", map[string]any{"server_learning_rate": 0.5, "server_momentum": 0.9}, nil)
	add("FedYogi", map[string]any{"eta": 0.05}, nil)
	add("FedAdagrad", map[string]any{"tau": 0.01}, nil)
	add("QFedAvg", map[string]any{"q_param": 0.5, "qffl_learning_rate": 0.2}, nil)
	add("Krum", map[string]any{"num_malicious_clients": 1}, nil)
	add("MultiKrum", map[string]any{"num_malicious_clients": 1, "num_clients_to_keep": 3}, nil)
	adam := map[string]any{"eta": 0.1, "beta_1": 0.9, "beta_2": 0.99, "tau": 1e-3}
	if version == oldest {
		add("FedAdam", adam, nil)
		return all
	}
	// Later releases correct the bias of the first rounds.
	add("FedAdam", adam, func(t *trial) { t.Ours = map[string]any{"bias_correction": true} })
	add("FedTrimmedAvg", map[string]any{"beta": 0.2}, nil)
	// Flower's answer depends on the order in which clients answer: where two are
	// each other's nearest, the first is taken. Any of its answers will do.
	add("Bulyan", map[string]any{"num_malicious_clients": 1}, func(t *trial) { t.Rounds, t.Runs = 1, 60 })
	return all
}

// ending is what a training of Flower's server came to.
type ending struct{ Loss, Accuracy float64 }

// comparison is what testdata/compare.py tells of a trial.
type comparison struct {
	Floats, Whole float64
	Types         []string
	Shapes        [][]int
	Same          bool
}

func TestCollector_strategies_endAsWithFlowersServer(t *testing.T) {
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python, folder, all := install(t, version), t.TempDir(), trials(version)
			requireEveryStrategy(t, python, all)
			endings := conduct(t, python, folder, all)

			c := startCollector(t, setup{})
			initial, err := os.ReadFile(filepath.Join(folder, "initial.npz"))
			require.NoError(t, err)
			for number := range all[0].Clients {
				startClient(t, python, options{
					Server: c.clients, Number: number, Model: "network", Clients: all[0].Clients, Again: true,
				})
			}
			for _, trial := range all {
				if trial.Start == "repository" {
					c.putModel(trial.Name, version, initial)
				}
				conf := maps.Clone(trial.Conf)
				maps.Copy(conf, trial.Ours)
				config := training(trial.Strategy, trial.Rounds, trial.Clients, conf)
				config["model_name"], config["model_version"] = trial.Name, version
				config["client_conf"] = []any{trial.ClientConf}
				c.start(trial.Name, config)
				c.awaitResult(trial.Name)
				requireWholeRounds(t, c.rounds(trial.Name), trial)
				requireEnding(t, c.results(trial.Name, version), trial, endings[trial.Name])
				save(t, folder, trial.Name+".pkl", c.weights(trial.Name, version, trial.Name))
				save(t, folder, trial.Name+".npz", c.get("/job/result/"+trial.Name))
			}
			requireNear(t, python, folder, all)
		})
	}
}

// requireEveryStrategy checks that there is a trial for every strategy that both
// have.
func requireEveryStrategy(t *testing.T, python string, all []trial) {
	t.Helper()
	var theirs, tried, both []string
	require.NoError(t, json.Unmarshal(run(t, python, "reference.py", "strategies"), &theirs))
	for _, trial := range all {
		tried = append(tried, trial.Strategy)
	}
	for _, name := range strategy.Names() {
		of := name
		switch name {
		case "avg":
			of = "FedAvg"
		case "MultiKrum": // there it is Krum with a parameter
			of = "Krum"
		}
		if slices.Contains(theirs, of) {
			both = append(both, name)
		}
	}
	require.ElementsMatch(t, both, tried)
}

// conduct has Flower's server conduct the trials, and returns how each run
// ended.
func conduct(t *testing.T, python, folder string, all []trial) (endings map[string][]ending) {
	t.Helper()
	cases, err := json.Marshal(all)
	require.NoError(t, err)
	save(t, folder, "cases.json", cases)
	run(t, python, "reference.py", folder)
	history, err := os.ReadFile(filepath.Join(folder, "history.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(history, &endings))
	return endings
}

func save(t testing.TB, folder, name string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
}

// requireWholeRounds checks that every client took part in everything.
func requireWholeRounds(t *testing.T, rounds []round, of trial) {
	t.Helper()
	require.Len(t, rounds, of.Rounds, of.Name)
	for _, r := range rounds {
		require.True(t, r.Aggregated, "%s: %+v", of.Name, r)
		require.Equal(t, phase{of.Clients, of.Clients, 0}, r.Fit, "%s: %+v", of.Name, r)
		require.Equal(t, phase{of.Clients, of.Clients, 0}, r.Evaluate, "%s: %+v", of.Name, r)
	}
}

// requireEnding checks the loss and the accuracy in the repository.
func requireEnding(t *testing.T, results []stored, of trial, endings []ending) {
	t.Helper()
	require.Len(t, results, 1, of.Name)
	got := results[0]
	require.Equal(t, of.Name, got.TrainingID)
	require.Equal(t, "10", got.ConfigurationID)
	require.Equal(t, strconv.Itoa(of.Rounds), got.Results["rounds"])
	loss, err := strconv.ParseFloat(got.Results["final_loss"], 64)
	require.NoError(t, err, "%+v", got)
	accuracy, err := strconv.ParseFloat(got.Results["accuracy"], 64)
	require.NoError(t, err, "%+v", got)
	require.NotEmpty(t, endings, of.Name)
	require.True(t, slices.ContainsFunc(endings, func(e ending) bool {
		return math.Abs(loss-e.Loss) <= floatTolerance && math.Abs(accuracy-e.Accuracy) <= 1e-9
	}), "%s ends with loss %v and accuracy %v, with Flower: %v", of.Name, loss, accuracy, endings)
}

// requireNear checks the weights.
func requireNear(t *testing.T, python, folder string, all []trial) {
	t.Helper()
	var compared map[string]comparison
	require.NoError(t, json.Unmarshal(run(t, python, "compare.py", folder), &compared))
	require.Len(t, compared, len(all))
	for _, trial := range all {
		got := compared[trial.Name]
		t.Logf("%-20s is %.1e from Flower, whole numbers %v", trial.Name, got.Floats, got.Whole)
		types, shapes := []string{"float32", "float32", "float64", "float64"}, [][]int{{6, 5}, {5}, {5, 3}, {3}}
		if trial.Counter {
			types, shapes = append(types, "int64"), append(shapes, []int{1})
		}
		require.Equal(t, types, got.Types, trial.Name)
		require.Equal(t, shapes, got.Shapes, trial.Name)
		require.True(t, got.Same, "%s: the repository's pickle and the collector's file are not the same", trial.Name)
		require.LessOrEqual(t, got.Floats, floatTolerance, trial.Name)
		// Whole numbers stay whole here, rounded in every round; Flower 1.3.0
		// makes fractions of them.
		require.LessOrEqual(t, got.Whole, 0.5*float64(trial.Rounds), trial.Name)
	}
}
