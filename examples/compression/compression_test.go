package compression_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// The commands of the README, with the oldest and the newest Flower that have them.
func TestClients_trainWithUpdatesOfEveryKind(t *testing.T) {
	for name, c := range map[string]struct {
		release string
		local   bool // whether each party has an output layer of its own
	}{
		"oldest Flower":                      {"flwr==1.3.0", false},
		"newest Flower, with layers at home": {"flwr==1.41.0", true},
	} {
		t.Run(name, func(t *testing.T) {
			program := peertest.Python(t, c.release)
			server := interop.StartCollector(t, "job.json", func(job []byte) []byte {
				if c.local {
					return bytes.Replace(job, []byte(`"round_timeout"`), []byte(`"local_layers": [2, 3], "round_timeout"`), 1)
				}
				return job
			})
			clients, _, _ := strings.Cut(server.AwaitLine("listening on grpc://"), " ")
			kinds := []string{"float16", "int8", "topk"}
			var parties []*interop.Process
			for party, kind := range kinds {
				parties = append(parties, interop.StartProcess(t, interop.PythonScript(t, program, "client.py", clients,
					"--party", strconv.Itoa(party), "--kind", kind)))
			}
			for _, party := range parties {
				require.Zero(t, party.AwaitEnd())
			}
			var status struct {
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
			server.AwaitJob(t, &status)
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
