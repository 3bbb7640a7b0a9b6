package private_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// The commands of the README, with both forms of encryption.
func TestClients_trainWithoutTheCollectorSeeingTheirModel(t *testing.T) {
	for name, c := range map[string]struct {
		packages []string
		more     []string
	}{
		"packed, oldest Flower":    {[]string{"flwr==1.3.0", "tenseal==0.3.16"}, nil},
		"unbatched, newest Flower": {[]string{"flwr==1.41.0", "tenseal==0.3.18"}, []string{"--unbatched"}},
	} {
		t.Run(name, func(t *testing.T) {
			program := peertest.Python(t, c.packages...)
			server := interop.StartCollector(t, "job.json", nil)
			clients, _, _ := strings.Cut(server.AwaitLine("listening on grpc://"), " ")
			keys := filepath.Join(t.TempDir(), "keys")
			said, err := interop.PythonScript(t, program, "keys.py", keys, "--put", server.URL+"/job/he/public/1").CombinedOutput()
			require.NoError(t, err, "%s", said)
			public, err := os.ReadFile(filepath.Join(keys, "public.txt"))
			require.NoError(t, err)
			require.Equal(t, string(public), server.Call(t, http.MethodGet, "/job/he/public/1", nil))

			var parties []*interop.Process
			for party := range 3 {
				arguments := append([]string{clients, "--secret", filepath.Join(keys, "secret.txt"), "--party",
					strconv.Itoa(party)}, c.more...)
				parties = append(parties, interop.StartProcess(t, interop.PythonScript(t, program, "client.py", arguments...)))
			}
			for _, party := range parties {
				require.Zero(t, party.AwaitEnd())
			}
			var status struct {
				Round   int
				Loss    float64
				Metrics struct{ Accuracy float64 }
			}
			server.AwaitJob(t, &status)
			require.Equal(t, 10, status.Round)
			require.Less(t, status.Loss, 0.15)
			require.Greater(t, status.Metrics.Accuracy, 0.95)
		})
	}
}
