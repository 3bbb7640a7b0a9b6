package strategy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// BenchmarkRound aggregates 20 updates of a million parameters, spilling included.
func BenchmarkRound(b *testing.B) {
	const clients, n = 20, 1_000_000
	updates := make([]strategy.Model, clients)
	for k := range updates {
		values := make([]float32, n)
		for i := range values {
			values[i] = rand.Float32()
		}
		updates[k] = strategy.Model{tensor.FromFloat32s(values)}
	}
	for _, name := range []string{"FedAvg", "FedMedian", "FedTrimmedAvg", "Krum", "Bulyan"} {
		b.Run(name, func(b *testing.B) {
			made, err := strategy.New(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(4 * clients * n)
			b.ReportAllocs()
			for b.Loop() {
				round, err := made.Begin(strategy.Round{Model: updates[0], Dir: b.TempDir()})
				if err != nil {
					b.Fatal(err)
				}
				for k, model := range updates {
					if err := round.Add(b.Context(), strategy.Update{Client: fmt.Sprint(k), Examples: 1, Model: model}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := round.Finish(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := round.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
