package compression_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	patience = 2 * time.Minute
	retry    = 20 * time.Millisecond
)

// python returns the command for a script of the example.
func python(t *testing.T, program, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(script)
	require.NoError(t, err)
	command := exec.Command(program, append([]string{path}, arguments...)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "no_grpc_proxy=127.0.0.1")
	return command
}

// request returns the body of a good answer.
func request(t *testing.T, method, url string, body []byte) []byte {
	t.Helper()
	asked, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	asked.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(asked)
	require.NoError(t, err)
	defer func() { require.NoError(t, answer.Body.Close()) }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s %s: %s", method, url, text)
	return text
}

// The commands of the README, with the oldest and the newest Flower that have them.
func TestClients_trainWithUpdatesOfEveryKind(t *testing.T) {
	collector := sync.OnceValue(func() string { return interop.Build(t, "flcollector") })
	for name, c := range map[string]struct {
		release string
		local   bool // whether each party has an output layer of its own
	}{
		"oldest Flower":                      {"flwr==1.3.0", false},
		"newest Flower, with layers at home": {"flwr==1.41.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			program := peertest.Python(t, c.release)
			server := interop.StartServer(t, collector(), "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
				"-data", t.TempDir())
			clients, _, _ := strings.Cut(server.AwaitLine("listening on grpc://"), " ")
			job, err := os.ReadFile("job.json")
			require.NoError(t, err)
			if c.local {
				job = bytes.Replace(job, []byte(`"round_timeout"`), []byte(`"local_layers": [2, 3], "round_timeout"`), 1)
			}
			require.Equal(t, "200", strings.TrimSpace(string(request(t, http.MethodPost, server.URL+"/job/config/1", job))))

			kinds := []string{"float16", "int8", "topk"}
			var parties []*interop.Process
			for party, kind := range kinds {
				parties = append(parties, interop.StartProcess(t, python(t, program, "client.py", clients,
					"--party", strconv.Itoa(party), "--kind", kind)))
			}
			for _, party := range parties {
				require.Zero(t, party.AwaitEnd())
			}
			var status struct {
				Status      string
				Loss        float64
				LocalLayers []string `json:"local_layers"`
				Metrics     struct{ Accuracy float64 }
				Updates     struct {
					Kept, Refused, Compressed, Dropped int
					Compressions                       []struct {
						Kind       string
						Updates    int
						Bytes      int64
						WholeBytes int64 `json:"whole_bytes"`
					}
				}
			}
			require.Eventually(t, func() bool {
				require.NoError(t, json.Unmarshal(request(t, http.MethodGet, server.URL+"/job/status/1", nil), &status))
				return status.Status == "FINISHED"
			}, patience, retry)
			require.Less(t, status.Loss, 0.15)
			require.Greater(t, status.Metrics.Accuracy, 0.95)
			require.Zero(t, status.Updates.Refused)
			require.Zero(t, status.Updates.Dropped, "no local layer left home")
			require.Equal(t, c.local, len(status.LocalLayers) == 2)
			require.Equal(t, 60, status.Updates.Compressed)
			for i, most := range []float64{0.6, 0.4, 0.35} { // headers weigh in a model of 8 kB
				c := status.Updates.Compressions[i]
				require.Equal(t, kinds[i], c.Kind)
				require.Equal(t, 20, c.Updates)
				require.Less(t, float64(c.Bytes), most*float64(c.WholeBytes))
			}
		})
	}
}
