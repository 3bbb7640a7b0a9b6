package private_test

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

// The commands of the README, with both forms of encryption.
func TestClients_trainWithoutTheCollectorSeeingTheirModel(t *testing.T) {
	collector := sync.OnceValue(func() string { return interop.Build(t, "flcollector") })
	for name, c := range map[string]struct {
		packages []string
		more     []string
	}{
		"packed, oldest Flower":    {[]string{"flwr==1.3.0", "tenseal==0.3.16"}, nil},
		"unbatched, newest Flower": {[]string{"flwr==1.41.0", "tenseal==0.3.18"}, []string{"--unbatched"}},
	} {
		t.Run(name, func(t *testing.T) {
			program := peertest.Python(t, c.packages...)
			server := interop.StartServer(t, collector(), "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0",
				"-data", t.TempDir())
			clients, _, _ := strings.Cut(server.AwaitLine("listening on grpc://"), " ")

			job, err := os.ReadFile("job.json")
			require.NoError(t, err)
			require.Equal(t, "200", strings.TrimSpace(string(request(t, http.MethodPost, server.URL+"/job/config/1", job))))
			keys := filepath.Join(t.TempDir(), "keys")
			said, err := python(t, program, "keys.py", keys, "--put", server.URL+"/job/he/public/1").CombinedOutput()
			require.NoError(t, err, "%s", said)
			public, err := os.ReadFile(filepath.Join(keys, "public.txt"))
			require.NoError(t, err)
			require.Equal(t, public, request(t, http.MethodGet, server.URL+"/job/he/public/1", nil))

			var parties []*interop.Process
			for party := range 3 {
				arguments := append([]string{clients, "--secret", filepath.Join(keys, "secret.txt"), "--party",
					strconv.Itoa(party)}, c.more...)
				parties = append(parties, interop.StartProcess(t, python(t, program, "client.py", arguments...)))
			}
			for _, party := range parties {
				require.Zero(t, party.AwaitEnd())
			}
			var status struct {
				Status  string
				Round   int
				Loss    float64
				Metrics struct{ Accuracy float64 }
			}
			require.Eventually(t, func() bool {
				require.NoError(t, json.Unmarshal(request(t, http.MethodGet, server.URL+"/job/status/1", nil), &status))
				return status.Status == "FINISHED"
			}, patience, retry)
			require.Equal(t, 10, status.Round)
			require.Less(t, status.Loss, 0.15)
			require.Greater(t, status.Metrics.Accuracy, 0.95)
		})
	}
}
