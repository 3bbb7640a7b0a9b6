package supernode_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

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

	server := interop.StartCollector(t, "job.json", nil, "-apps", apps, "-models", filepath.Join(folder, "models"))
	fleet, _, _ := strings.Cut(server.AwaitLine("listening on fleet://"), " ")
	for machine := range 2 {
		node := start("home-"+strconv.Itoa(machine), "flower-supernode", "--insecure", "--superlink", fleet, "--host", "127.0.0.1",
			"--port", fmt.Sprint(peertest.ReservedAddress(t).Port()), "--node-config", "machine="+strconv.Itoa(machine+1))
		interop.StartGroup(t, node)
	}
	var status struct {
		Round   int
		Loss    float64
		Metrics struct{ Accuracy float64 }
	}
	server.AwaitJob(t, &status)
	require.Equal(t, 3, status.Round)
	require.Less(t, status.Loss, 0.25)
	require.Greater(t, status.Metrics.Accuracy, 0.9)
}
