package wasm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/wasmfuel"
)

// BenchmarkMetering tells what it costs to bound a module: not at all, by having
// wazero look at the context in every loop, and by fuel.
func BenchmarkMetering(b *testing.B) {
	momentum, err := os.ReadFile("testdata/c/momentum.wasm")
	require.NoError(b, err)
	name := filepath.Join(b.TempDir(), "fedavg.wasm")
	command := exec.Command("go", "build", "-buildmode=c-shared", "-o", name, ".")
	command.Dir, command.Env = "testdata/fedavg", append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	require.NoError(b, err, string(output))
	fedavg, err := os.ReadFile(name)
	require.NoError(b, err)
	values := make([]float32, 1_000_000)
	for i := range values {
		values[i] = float32(i % 17)
	}
	model := strategy.Model{tensor.FromFloat32s(values)}
	for _, bound := range []string{"nothing", "context", "fuel"} {
		for from, binary := range map[string][]byte{"momentum.c": momentum, "fedavg.go": fedavg} {
			rewrite := wasmfuel.Gauge
			if bound == "fuel" {
				rewrite = wasmfuel.Meter
			}
			m := &Module{options: Options{Memory: 256 << 20, Time: time.Minute, Fuel: 1 << 50, MaxState: 64 << 20}}
			config := m.config()
			if bound == "context" {
				config = config.WithCloseOnContextDone(true)
			}
			rewritten, err := rewrite(binary, names())
			require.NoError(b, err)
			begun := time.Now()
			require.NoError(b, m.compile(b.Context(), rewritten, config))
			compiling := time.Since(begun)
			s, err := m.Strategy(b.Context(), "s", nil)
			require.NoError(b, err)
			b.Run(fmt.Sprintf("%s/%s", from, bound), func(b *testing.B) {
				for b.Loop() {
					benchmarkRound(b, s, model)
				}
				b.ReportMetric(float64(compiling.Milliseconds()), "ms-compile")
				b.ReportMetric(float64(len(rewritten)), "bytes-module")
			})
			require.NoError(b, m.Close())
		}
	}
}

// benchmarkRound aggregates the updates of four clients.
func benchmarkRound(b *testing.B, s *Strategy, model strategy.Model) {
	round, err := s.Begin(strategy.Round{Number: 1, Model: model, Dir: b.TempDir()})
	require.NoError(b, err)
	for _, client := range []string{"a", "b", "c", "d"} {
		require.NoError(b, round.Add(b.Context(), strategy.Update{Client: client, Examples: 3, Model: model}))
	}
	_, err = round.Finish(b.Context())
	require.NoError(b, err)
	require.NoError(b, round.Close())
	s.keep(nil)
}
