package flower_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/test/interop"
)

// installWithBuild returns a Python with a release of Flower whose "flwr build" works.
func installWithBuild(t testing.TB, version string) string {
	t.Helper()
	if strings.HasPrefix(version, "1.1") { // its command line is for an older click
		return peertest.Python(t, "flwr=="+version, "click==8.1.8")
	}
	return install(t, version)
}

// bundle has a release of Flower build a .fab of an app of testdata, and returns its folder.
func bundle(t testing.TB, python, app string) string {
	t.Helper()
	folder, source := t.TempDir(), filepath.Join(t.TempDir(), app)
	require.NoError(t, os.CopyFS(source, os.DirFS(filepath.Join("testdata", "apps", app))))
	command := exec.Command(filepath.Join(filepath.Dir(python), "flwr"), "build", "--app", source)
	command.Dir, command.Env = folder, flowerEnvironment(python, t.TempDir())
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	built, err := filepath.Glob(filepath.Join(folder, "*.fab"))
	require.NoError(t, err)
	require.Len(t, built, 1, "%s", said)
	return folder
}

// flowerEnvironment returns the environment of Flower's programs.
func flowerEnvironment(python, home string) []string {
	return append(os.Environ(), "FLWR_HOME="+home, "FLWR_TELEMETRY_ENABLED=0", "COLUMNS=2000", "PYTHONUNBUFFERED=1",
		"no_grpc_proxy=127.0.0.1", "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// node is how a SuperNode of a test is started.
type node struct {
	version, fleet string
	number         int
	config         string // more of its configuration
	key            string // file of its private key; empty for none
	authority      string // file with the certificate of the server's authority; empty without TLS
}

// startSuperNode starts a SuperNode, whose app adds its number.
func startSuperNode(t testing.TB, python string, with node) *interop.Process {
	t.Helper()
	started.nodes.Store(true)
	port := fmt.Sprint(peertest.ReservedAddress(t).Port()) // a SuperNode takes no port of 0
	at := []string{"--clientappio-api-address", "127.0.0.1:" + port}
	if with.version == newest {
		at = []string{"--host", "127.0.0.1", "--port", port}
	}
	command := exec.Command(filepath.Join(filepath.Dir(python), "flower-supernode"), append(at, "--superlink", with.fleet,
		"--node-config", strings.TrimSpace(fmt.Sprintf("number=%d %s", with.number, with.config)))...)
	if with.key != "" {
		command.Args = append(command.Args, "--auth-supernode-private-key", with.key)
		if with.version != newest {
			command.Args = append(command.Args, "--auth-supernode-public-key", with.key+".pub")
		}
	}
	if with.authority == "" {
		command.Args = append(command.Args, "--insecure")
	} else {
		command.Args = append(command.Args, "--root-certificates", with.authority)
	}
	command.Env = flowerEnvironment(python, t.TempDir())
	return interop.StartGroup(t, command)
}

// newKey makes a key of a SuperNode and returns its file, and the line of its public key.
func newKey(t testing.TB, name string) (file string, public []byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	said, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-C", name, "-f", file).CombinedOutput()
	require.NoError(t, err, "%s", said)
	public, err = os.ReadFile(file + ".pub")
	require.NoError(t, err)
	return file, public
}

// writeModel writes the model of adders below a folder for -models: names that an archive sorts otherwise.
func writeModel(t testing.TB) (folder string) {
	t.Helper()
	folder = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "adder"), 0o700))
	var file bytes.Buffer
	require.NoError(t, tensor.WriteNPZ(&file,
		tensor.Named{Name: "dense.weight", Tensor: tensor.FromFloat32s(make([]float32, 4), 2, 2)},
		tensor.Named{Name: "dense.bias", Tensor: tensor.FromFloat64s(make([]float64, 3), 3)}))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "adder", "1.npz"), file.Bytes(), 0o600))
	return folder
}

// withApp is a configuration of a job for SuperNodes.
func withApp(app, records string, rounds, clients int, client map[string]any) map[string]any {
	config := training("FedAvg", rounds, clients, nil)
	config["app"] = "adders/" + app
	config["server_conf"].(map[string]any)["records"] = records
	members := map[string]any{"epochs": 1, "lr": 0.5}
	for name, value := range client {
		members[name] = value
	}
	config["client_conf"] = []any{members}
	return config
}

// requireWeights checks the result of a job of adders.
func requireWeights(t testing.TB, python string, c *collector, result stored, want float64) {
	t.Helper()
	model := load(t, python, c.weights(result.ModelName, result.ModelVersion, result.TrainingID))[0]
	require.Len(t, model, 2)
	for i, shape := range [][]int{{2, 2}, {3}} {
		require.Equal(t, shape, model[i].Shape)
		require.InDelta(t, want, model[i].Least, 1e-5)
		require.InDelta(t, want, model[i].Greatest, 1e-5)
	}
	require.Equal(t, []string{"float32", "float64"}, []string{model[0].Type, model[1].Type})
}

// fleetAddress returns the address of a collector for SuperNodes.
func fleetAddress(c *collector) string { return firstWord(c.AwaitLine("listening on fleet://")) }

// flowers is what Flower itself makes of the rounds of adders with these numbers.
func flowers(t testing.TB, python string, rounds int, numbers ...int) (weights []float64) {
	t.Helper()
	arguments := []string{strconv.Itoa(rounds)}
	for _, number := range numbers {
		arguments = append(arguments, strconv.Itoa(number))
	}
	require.NoError(t, json.Unmarshal(run(t, python, "fedavg.py", arguments...), &weights))
	return weights
}

// SuperNodes train an app of the Message API. The collector is killed in the second of three rounds, and goes
// on with the same SuperNodes. They take part in a second job beside clients of start_client, in which the app
// of one raises an exception. In the end a SuperNode is disconnected.
func TestCollector_superNodes_trainWhateverHappens(t *testing.T) {
	takesLong(t)
	for _, version := range []string{"1.30.0", newest} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			python := install(t, version)
			way, hold := startRelay(t), newGate(t)
			diary := filepath.Join(t.TempDir(), "diary")
			with := setup{data: t.TempDir(), arguments: []string{"-apps", bundle(t, python, "messages"), "-models", writeModel(t)}}
			c := startCollector(t, with)
			way.lead(fleetAddress(c))
			var nodes []*interop.Process
			for i := range 3 {
				nodes = append(nodes, startSuperNode(t, python, node{version: version, fleet: way.address, number: i + 1,
					config: fmt.Sprintf("diary=%q gate=%q", diary, string(hold))}))
			}
			hold.open(t, 1)
			c.start("1", withApp("messages", "arrays", 3, 3, nil))
			awaitDiary(t, diary, "train 2 dense.weight dense.bias lr=0.5")
			c.Kill()
			way.cut()
			c = startCollector(t, with)
			way.lead(fleetAddress(c))
			hold.open(t, 3)
			c.awaitResult("1")
			all := c.results("adder", "1")
			require.Len(t, all, 1)
			requireWeights(t, python, c, all[0], 7) // 3 rounds · (1·1 + 2·2 + 3·3) / (1 + 2 + 3)
			for _, weight := range flowers(t, python, 3, 1, 2, 3) {
				require.InDelta(t, 7, weight, 1e-5)
			}
			for _, round := range c.rounds("1") {
				require.True(t, round.Aggregated)
				require.Equal(t, 3, round.Fit.Results, round.Note)
			}

			for i := range 2 {
				startClient(t, python, options{Server: c.clients, Number: i})
			}
			c.start("2", withApp("messages", "arrays", 1, 5, map[string]any{"fails": 3}))
			c.awaitResult("2")
			rounds := c.rounds("2")
			require.Equal(t, phase{Clients: 5, Results: 4, Failures: 1}, rounds[0].Fit)
			require.Contains(t, c.Output(), "the data of this node is lost")
			all = c.results("adder", "1")
			require.Len(t, all, 2)
			result := all[0]
			if result.TrainingID == "1" {
				result = all[1]
			}
			const examples = 1 + 2 + 10 + 10
			requireWeights(t, python, c, result, float64(1*1+2*2+10*1+10*2)/examples)

			nodes[0].Stop()
			require.Zero(t, nodes[0].AwaitEnd(), nodes[0].Output())
			for _, other := range nodes[1:] {
				select {
				case <-other.Ended():
					require.Fail(t, "a SuperNode has ended", other.Output())
				default:
				}
			}
		})
	}
}

// SuperNodes sign with their keys where the connection is encrypted. One has a key that the collector does not
// know.
func TestCollector_superNodes_proveWhoTheyAre(t *testing.T) {
	for _, version := range []string{"1.30.0", newest} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			python, a := install(t, version), servertest.NewAuthority(t)
			own := a.Issue("127.0.0.1")
			key, public := newKey(t, "edge-1")
			foreign, _ := newKey(t, "foreign")
			keys := filepath.Join(t.TempDir(), "keys")
			require.NoError(t, os.WriteFile(keys, public, 0o600))
			c := startCollector(t, setup{arguments: []string{
				"-fleet-keys", keys, "-apps", bundle(t, python, "messages"), "-models", writeModel(t), "-grpc-cert", own.Cert, "-grpc-key", own.Key,
			}})
			with := node{version: version, fleet: fleetAddress(c), number: 4, key: key, authority: a.File}
			startSuperNode(t, python, with)
			with.key = foreign
			stranger := startSuperNode(t, python, with)
			c.start("1", withApp("messages", "arrays", 1, 1, nil))
			c.awaitResult("1")
			// The process does not always end: threads of Flower 1.30 may outlast the refusal.
			require.Eventually(t, func() bool {
				return strings.Contains(stranger.Output(), "is not in the collector's file of keys")
			}, patience, retry, "the stranger is not refused")
			require.Contains(t, c.Output(), "a SuperNode was refused")
			require.Contains(t, string(c.get("/job/rounds/1")), `"clients":1`)
			requireWeights(t, python, c, c.results("adder", "1")[0], 4)
			require.Contains(t, string(c.get("/job/rounds/1/1/report")), `"session":"edge-1@supernode:`)
		})
	}
}

// A client_fn with a NumPyClient understands other records. It has the initial model.
func TestCollector_superNodes_trainANumPyClient(t *testing.T) {
	takesLong(t)
	for _, version := range []string{"1.13.1", "1.15.0", newest} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			python := installWithBuild(t, version)
			c := startCollector(t, setup{arguments: []string{"-apps", bundle(t, python, "numpy")}})
			fleet := fleetAddress(c)
			for i := range 2 {
				startSuperNode(t, python, node{version: version, fleet: fleet, number: i + 1})
			}
			c.start("1", withApp("numpy", "fitins", 2, 2, nil))
			s := c.awaitResult("1")
			require.NotNil(t, s.Loss)
			require.InDelta(t, 10.0/3, *s.Loss, 1e-5)
			all := c.results("adder", "1")
			require.Len(t, all, 1)
			requireWeights(t, python, c, all[0], 10.0/3) // 2 rounds · (1·1 + 2·2) / (1 + 2)
		})
	}
}

// awaitDiary waits until a SuperNode's app has written a line.
func awaitDiary(t testing.TB, file, line string) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), line+"\n")
	}, patience, retry, "the app writes %q", line)
}
