package secagg_test

import (
	"runtime"
	"testing"

	"github.com/iotenablers/enablers/flcollect/secagg"
)

// BenchmarkVector_unmask removes the own masks of eight clients from a model of 10 MB in 32 bits.
func BenchmarkVector_unmask(b *testing.B) {
	const length = 10 << 20 / 4
	seeds := make([][]byte, 8)
	for i := range seeds {
		seeds[i] = make([]byte, 32)
		seeds[i][0] = byte(i)
	}
	b.SetBytes(4 * length * int64(len(seeds)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := secagg.Unmask(b.Context(), length, 1<<32, seeds, false, runtime.NumCPU()); err != nil {
			b.Fatal(err)
		}
	}
}
