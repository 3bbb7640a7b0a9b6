package flower_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// The releases of Flower: the one that deployments of the original have, with
// NumPy 1, and the newest that can be installed, with NumPy 2.
const (
	oldest = "1.3.0"
	newest = "1.42.0"
)

// releases are those that a test tries: both in the gate, one where a developer
// runs all tests.
func releases() []string {
	switch {
	case testing.Short():
		return []string{newest}
	case peertest.Required():
		return []string{oldest, newest}
	}
	return []string{oldest}
}

// install returns a Python with a release of Flower.
func install(t testing.TB, version string) string {
	t.Helper()
	if testing.Short() && version != newest {
		t.Skip("-short tries the newest release alone")
	}
	return peertest.Python(t, "flwr=="+version)
}

// takesLong leaves a test out of the quick selection, which -short makes.
func takesLong(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what takes long")
	}
}

// options are those of testdata/client.py, which describes them.
type options struct {
	Server     string         `json:"server"`
	Number     int            `json:"number"`
	Model      string         `json:"model"`
	Clients    int            `json:"clients,omitempty"`
	Again      bool           `json:"again,omitempty"`
	Gate       string         `json:"gate,omitempty"`
	Evaluation string         `json:"evaluation,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

// startClient starts a Flower client, which adds to weights if nothing else is
// said. Its number is that of the options.
func startClient(t testing.TB, python string, with options) *interop.Process {
	t.Helper()
	if with.Model == "" {
		with.Model = "adder"
	}
	text, err := json.Marshal(with)
	require.NoError(t, err)
	started.clients.Store(true)
	return interop.StartProcess(t, script(t, python, "client.py", string(text)))
}

// script returns the command for a program in testdata, which begins without loading
// Flower: see testdata/nursery.py.
func script(t testing.TB, python, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	asks, err := filepath.Abs(filepath.Join("testdata", "nursling.py"))
	require.NoError(t, err)
	command := exec.Command(python, append([]string{"-I", "-S", asks, nursery(t, python), path}, arguments...)...)
	command.Dir = t.TempDir()
	command.Env = pythonEnvironment()
	return command
}

// pythonEnvironment is the environment of programs in testdata.
func pythonEnvironment() []string {
	return append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "FLWR_TELEMETRY_ENABLED=0",
		"no_grpc_proxy=127.0.0.1,localhost,.localhost")
}

// run runs a program in testdata and returns what it writes to standard output.
func run(t testing.TB, python, name string, arguments ...string) []byte {
	t.Helper()
	answer, err := script(t, python, name, arguments...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		require.FailNowf(t, "a program has failed", "%s %v: %v\n%s", name, arguments, err, exit.Stderr)
	}
	require.NoError(t, err)
	return answer
}

// gate is a folder that holds back the fits of clients.
type gate string

func newGate(t testing.TB) gate { return gate(t.TempDir()) }

// open lets the k-th fit end, with those before it.
func (g gate) open(t testing.TB, k int) {
	t.Helper()
	for i := range k {
		require.NoError(t, os.WriteFile(filepath.Join(string(g), strconv.Itoa(i+1)), nil, 0o600))
	}
}

// awaitFit waits until a client begins its k-th fit, and returns the
// configuration that it got: for every name the type in Python, and the value.
func awaitFit(t testing.TB, client *interop.Process, k int) (config map[string][2]any) {
	t.Helper()
	text := client.AwaitLine("fit " + strconv.Itoa(k) + " ")
	require.NoError(t, json.Unmarshal([]byte(text), &config), text)
	return config
}

// layer is one of the final weights, as Python has loaded it.
type layer struct {
	Type            string
	Shape           []int
	Least, Greatest float64
}

// load has Python load pickles.
func load(t testing.TB, python string, pickles ...[]byte) [][]layer {
	t.Helper()
	folder := t.TempDir()
	var names []string
	for i, pickle := range pickles {
		name := filepath.Join(folder, strconv.Itoa(i)+".pkl")
		require.NoError(t, os.WriteFile(name, pickle, 0o600))
		names = append(names, name)
	}
	decoder := json.NewDecoder(bytes.NewReader(run(t, python, "load.py", names...)))
	models := make([][]layer, len(pickles))
	for i := range models {
		var raw [][4]json.RawMessage
		require.NoError(t, decoder.Decode(&raw))
		for _, each := range raw {
			var l layer
			for i, into := range []any{&l.Type, &l.Shape, &l.Least, &l.Greatest} {
				require.NoError(t, json.Unmarshal(each[i], into))
			}
			models[i] = append(models[i], l)
		}
	}
	return models
}

// requireAdded checks that the weights are those of the model "adder" after
// fits that have added so much.
func requireAdded(t testing.TB, model []layer, sum float64) {
	t.Helper()
	require.Equal(t, []layer{{"float32", []int{2, 3}, sum, sum}, {"float64", []int{4}, sum, sum}}, model)
}
