package flower_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// ofOriginal is a configuration as the original's orchestrator sends it: some numbers are
// text, and parameters of other strategies are null.
func ofOriginal(mechanisms string) string {
	return `{"strategy":"avg","model_name":"local","model_version":"1","adapt_config":"custom",` +
		`"server_conf":{"num_rounds":"2"},` +
		`"strategy_conf":{"min_fit_clients":2,"min_available_clients":"2","min_evaluate_clients":2},` +
		`"client_conf":[{"config_id":"min_effort","batch_size":"64","steps_per_epoch":"32","epochs":"1","learning_rate":"0.001"}],` +
		`"privacy-mechanisms":` + mechanisms + `,"configuration_id":"7","stopping_flag":false,"stopping_target":{}}`
}

// checkedOriginal is what testdata/original_check.py says.
type checkedOriginal struct {
	Rounds        int
	Means, Result float64
	Types         []string
	Shapes        [][]int
}

func TestCollector_originalLocalOperations_train(t *testing.T) {
	python := installPrivate(t, oldest)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	run(t, python, "original.py", "keys", secret)
	for name, c := range map[string]struct {
		mechanisms, secret string
		types              []string
		shapes             [][]int
		near               float64
	}{
		"in the clear": {"{}", "", []string{"float32", "float32", "int64"}, [][]int{{3, 2}, {2}, {}}, 0.5},
		"encrypted":    {`{"homomorphic":{}}`, secret, []string{"float64", "float64", "float64"}, [][]int{{3, 2}, {2}, {1}}, nearness},
	} {
		t.Run(name, func(t *testing.T) {
			collector, folder := startCollector(t, setup{}), t.TempDir()
			code, answer, err := ask(http.MethodPost, collector.url+"/job/config/12", strings.NewReader(ofOriginal(c.mechanisms)),
				"application/json")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code, string(answer))
			require.Equal(t, "200", string(answer))
			for number := range 2 {
				options, err := json.Marshal(map[string]any{"server": collector.clients, "number": number, "secret": c.secret, "folder": folder})
				require.NoError(t, err)
				client := interop.StartProcess(t, script(t, python, "original.py", string(options)))
				t.Cleanup(func() { require.Zero(t, client.AwaitEnd()) })
			}
			collector.awaitResult("12")
			save(t, folder, "result.pkl", collector.weights("local", "1", "12"))
			arguments := []string{folder, filepath.Join(folder, "result.pkl")}
			if c.secret != "" {
				arguments = append(arguments, c.secret)
			}
			var checked checkedOriginal
			require.NoError(t, json.Unmarshal(run(t, python, "original_check.py", arguments...), &checked))
			require.Equal(t, 2, checked.Rounds)
			require.LessOrEqual(t, checked.Means, c.near) // a whole number is rounded
			require.LessOrEqual(t, checked.Result, c.near)
			require.Equal(t, c.types, checked.Types)
			require.Equal(t, c.shapes, checked.Shapes)

			results := collector.results("local", "1")
			require.Len(t, results, 1)
			require.Equal(t, "7", results[0].ConfigurationID)
			require.Equal(t, map[string]string{"rounds": "2", "final_loss": "1.75", "accuracy": "0.575", "AUC": "0.25",
				"min_fit_clients": "2", "min_available_clients": "2", "min_evaluate_clients": "2"}, results[0].Results)
		})
	}
}

func TestCollector_configurationID_isANumberOrItsText(t *testing.T) {
	c := startCollector(t, setup{})
	for id, want := range map[string]string{`7`: "7", `"7"`: "7", `"word"`: "", `"7.5"`: "", `true`: ""} {
		text := strings.Replace(ofOriginal("{}"), `"configuration_id":"7"`, `"configuration_id":`+id, 1)
		code, answer, err := ask(http.MethodPost, c.url+"/job/config/12/", strings.NewReader(text), "application/json")
		require.NoError(t, err)
		if want == "" {
			require.Equal(t, http.StatusUnprocessableEntity, code, id)
			require.Contains(t, string(answer), `"loc":["body","configuration_id"]`, id)
			continue
		}
		require.Equal(t, "200", string(answer), id)
		var status struct {
			ID string `json:"configuration_id"`
		}
		c.read("/job/status/12", &status)
		require.Equal(t, want, status.ID, id)
	}
}

// The original's collector posts a result without the id of its configuration.
func TestCollector_trainingResults_needNoConfigurationID(t *testing.T) {
	c := startCollector(t, setup{})
	const result = `{"model_name":"local","model_version":"1","training_id":"12","results":{"rounds":"3","final_loss":"78.9","accuracy":0.21}}`
	code, answer, err := ask(http.MethodPost, c.url+"/training-results", strings.NewReader(result), "application/json")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, code, string(answer))
	require.Equal(t, "null", string(answer))
	require.Equal(t, "12", c.results("local", "1")[0].TrainingID)
}

// A status that is read while clients evaluate the last model has its round.
func TestCollector_status_isTrainingInTheLastRound(t *testing.T) {
	python := install(t, oldest)
	c := startCollector(t, setup{})
	c.start("last", training("avg", 2, 2, nil))
	fits, evaluations := newGate(t), newGate(t)
	fits.open(t, 2)
	evaluations.open(t, 1)
	for number := range 2 {
		startClient(t, python, options{Server: c.clients, Number: number, Gate: string(fits), Evaluation: string(evaluations)})
	}
	s := c.await("last", "at the end of the last fit", func(s state) bool { return s.Round == 2 })
	require.Equal(t, "TRAINING", s.Status)
	evaluations.open(t, 2)
	c.awaitResult("last")
}
