package strategy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKernels_agree(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 7))
	for range 2000 {
		x := make([]float32, 1+random.IntN(70))
		spread := random.Float64() * 60
		for i := range x {
			x[i] = float32(random.NormFloat64() * math.Exp2(spread*(random.Float64()-1)))
			if random.IntN(4) == 0 {
				x[i] = float32(math.Round(float64(x[i])*8)) / 2 // halves lie in the middle
			}
			if random.IntN(8) == 0 {
				x[i] = float32(math.Copysign(0, -1))
			}
		}
		scale := math.Exp2(float64(random.IntN(58))) * (1 + random.Float64()) / 2
		if top := math.Float32frombits(greatest32(x)); float64(top)*scale >= 1<<61 {
			scale = 0.5
		}
		sums := make([]int64, len(x))
		inexact := deposit32(sums, x, scale)
		for n, k := range kernels() {
			require.Equal(t, greatest32(x), k.greatest(x), "kernel %d", n)
			got := make([]int64, len(x))
			require.Equal(t, inexact, k.deposit(got, x, scale), "kernel %d: %v times %v", n, x, scale)
			require.Equal(t, sums, got, "kernel %d: %v times %v", n, x, scale)
		}
		y := make([]float32, len(x))
		for i := range y {
			y[i] = float32(random.NormFloat64())
		}
		squares := [squareLanes]float64{1, 2, 3, 4, 5, 6, 7, 1e-9}
		before := squares
		squares32(&squares, x, y)
		for n, k := range kernels() {
			got := before
			k.squares(&got, x, y)
			require.Equal(t, squares, got, "kernel %d: %v and %v", n, x, y)
		}
	}
}

func TestKernels_keepExtremeValues(t *testing.T) {
	for _, spike := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for at := range 67 {
			x := make([]float32, 67)
			x[at] = float32(spike)
			for n, k := range kernels() {
				require.GreaterOrEqual(t, k.greatest(x), uint32(0x7f800000), "kernel %d, at %d", n, at)
			}
		}
	}
}
