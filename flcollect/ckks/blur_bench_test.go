package ckks_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// BenchmarkBlur measures the noise of one ciphertext: of a packed tensor, 4096
// numbers, and of one with a single number.
func BenchmarkBlur(b *testing.B) {
	for _, batch := range []uint32{4096, 0} {
		b.Run(fmt.Sprint("batch ", batch), func(b *testing.B) {
			const count = 8
			m := defaults(41)
			message := message{shape: []uint32{count}, scale: m.scale, batch: batch}
			for range count {
				ciphertext, _ := m.ciphertext(b)
				message.ciphertexts = append(message.ciphertexts, ciphertext)
			}
			a := begin(b, ckks.Settings{}, nil, strategy.Round{}).(*ckks.Aggregation)
			if err := a.Add(b.Context(), strategy.Update{Client: "a", Examples: 1, Model: sent(message.bytes())}); err != nil {
				b.Fatal(err)
			}
			random := rand.New(rand.NewChaCha8([32]byte{1}))
			for b.Loop() {
				if err := a.Blur(b.Context(), 0.25, random.NormFloat64); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*count), "µs/ciphertext")
		})
	}
}
