package supernode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	patience = 4 * time.Minute
	retry    = 50 * time.Millisecond
)

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

// The commands of the README.
func TestApp_learnsOnTwoSuperNodes(t *testing.T) {
	python := peertest.Python(t, "flwr==1.41.0")
	programs, folder := filepath.Dir(python), t.TempDir()
	apps, source := filepath.Join(folder, "apps"), filepath.Join(folder, "supernode")
	require.NoError(t, os.Mkdir(apps, 0o700))
	require.NoError(t, os.CopyFS(source, os.DirFS(".")))
	start := func(home, name string, arguments ...string) *exec.Cmd {
		command := exec.Command(filepath.Join(programs, name), arguments...)
		command.Dir = apps
		command.Env = append(os.Environ(), "FLWR_HOME="+filepath.Join(folder, home), "FLWR_TELEMETRY_ENABLED=0", "PYTHONUNBUFFERED=1",
			"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
		return command
	}
	said, err := start("home", "flwr", "build", "--app", source).CombinedOutput()
	require.NoError(t, err, "%s", said)
	said, err = start("home", "python", filepath.Join(source, "model.py"), filepath.Join(folder, "models")).CombinedOutput()
	require.NoError(t, err, "%s", said)

	server := interop.StartServer(t, interop.Build(t, "flcollector"), "-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0",
		"-fleet", "127.0.0.1:0", "-data", t.TempDir(), "-apps", apps, "-models", filepath.Join(folder, "models"))
	fleet, _, _ := strings.Cut(server.AwaitLine("listening on fleet://"), " ")
	for machine := range 2 {
		node := start("home-"+strconv.Itoa(machine), "flower-supernode", "--insecure", "--superlink", fleet, "--host", "127.0.0.1",
			"--port", fmt.Sprint(peertest.ReservedAddress(t).Port()), "--node-config", "machine="+strconv.Itoa(machine+1))
		interop.StartGroup(t, node)
	}
	job, err := os.ReadFile("job.json")
	require.NoError(t, err)
	require.Equal(t, "200", strings.TrimSpace(string(request(t, http.MethodPost, server.URL+"/job/config/1", job))))
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
	require.Equal(t, 3, status.Round)
	require.Less(t, status.Loss, 0.25)
	require.Greater(t, status.Metrics.Accuracy, 0.9)
}
