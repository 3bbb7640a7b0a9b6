package flower_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// buildApp has flwr build make the .fab file of an app, and returns its folder.
func buildApp(t *testing.T, python, app string) string {
	t.Helper()
	source, err := filepath.Abs(app)
	require.NoError(t, err)
	folder := t.TempDir()
	command := exec.Command(filepath.Join(filepath.Dir(python), "flwr"), "build", "--app", source)
	command.Dir = folder
	command.Env = append(os.Environ(), "FLWR_HOME="+t.TempDir(), "FLWR_TELEMETRY_ENABLED=0", "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	require.NoError(t, err, string(output))
	return folder
}

// startMaskedCollector starts a collector with an app.
func startMaskedCollector(t *testing.T, python, app string) (c *collector, fleet string) {
	t.Helper()
	c = startCollector(t, setup{arguments: []string{"-apps", buildApp(t, python, app)}})
	return c, firstWord(c.AwaitLine("listening on fleet://"))
}

// masked is a configuration with secure aggregation for the app of testdata.
func masked(rounds, clients int) map[string]any {
	config := training("FedAvg", rounds, clients, map[string]any{"fraction_evaluate": 0})
	config["app"] = "tests/masked"
	config["privacy-mechanisms"] = map[string]any{"secagg": map[string]any{"num_shares": 1.0, "reconstruction_threshold": 0.5}}
	return config
}

// The mean of the masked updates is that of the updates. A SuperNode that is killed while it
// trains drops out, and the mean is that of the others.
func TestCollector_secagg_averagesWithFlowersMod(t *testing.T) {
	takesLong(t)
	t.Run("1.30.0", func(t *testing.T) { requireMaskedMean(t, "1.30.0", true) })
	t.Run(newest, func(t *testing.T) {
		if !peertest.Required() {
			t.Skip("the newest release is tried where the peers are required")
		}
		requireMaskedMean(t, newest, false)
	})
}

func requireMaskedMean(t *testing.T, version string, kills bool) {
	python := install(t, version)
	c, fleet := startMaskedCollector(t, python, filepath.Join("testdata", "masked"))
	steps, examples := []float64{0.25, -1, 2, 0.5}, []int{100, 250, 50, 400}
	stall := filepath.Join(t.TempDir(), "stalls")
	mean := func(nodes int) float64 {
		sum, weight := 0.0, 0
		for i := range nodes {
			sum += steps[i] * float64(examples[i])
			weight += examples[i]
		}
		return sum / float64(weight)
	}
	want, rounds := mean(4), 1
	var last *interop.Process
	for i := range steps {
		config := fmt.Sprintf("step=%v examples=%d", steps[i], examples[i])
		if i == 3 && kills {
			config += fmt.Sprintf(" stall=%q", stall)
			want, rounds = want+mean(3), 2
		}
		last = startSuperNode(t, python, node{version: version, fleet: fleet, config: config})
	}
	c.start("masked", masked(rounds, 4))
	if kills {
		require.Eventually(t, func() bool {
			_, err := os.Stat(stall)
			return err == nil
		}, patience, retry, "the last SuperNode trains in the second round")
		last.KillGroup()
	}
	c.awaitResult("masked")
	for _, l := range load(t, python, c.weights("adder", "1", "masked"))[0] {
		require.InDelta(t, want, l.Least, 1e-3)
		require.InDelta(t, want, l.Greatest, 1e-3)
	}
	all := c.rounds("masked")
	require.Equal(t, phase{Clients: 4, Results: 4}, all[0].Fit)
	require.Contains(t, all[0].Note, "the mean of 4 masked updates is exact to")
	if kills {
		require.Equal(t, phase{Clients: 4, Results: 3, Failures: 1}, all[1].Fit)
		require.Contains(t, all[1].Note, "collect_masked_vectors")
	}
}

// The example trains a useful model.
func TestCollector_secagg_trainsTheExample(t *testing.T) {
	const version = "1.30.0"
	python := install(t, version)
	folder := filepath.Join("..", "..", "..", "examples", "secagg")
	c, fleet := startMaskedCollector(t, python, folder)
	table, err := filepath.Abs(filepath.Join(folder, "..", "tumours", "tumours.csv.gz"))
	require.NoError(t, err)
	for party := range 3 {
		startSuperNode(t, python, node{version: version, fleet: fleet, config: fmt.Sprintf("tumours=%q party=%d", table, party)})
	}
	text, err := os.ReadFile(filepath.Join(folder, "job.json"))
	require.NoError(t, err)
	var job map[string]any
	require.NoError(t, json.Unmarshal(text, &job))
	job["server_conf"].(map[string]any)["num_rounds"] = 1
	c.start("example", job)
	s := c.awaitResult("example")
	require.NotNil(t, s.Loss)
	require.Less(t, *s.Loss, 0.3)
	require.Contains(t, c.rounds("example")[0].Note, "the mean of 3 masked updates")
}
