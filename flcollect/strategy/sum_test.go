package strategy_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// term is a model of one layer and its factor.
type term struct {
	values []float32
	factor float64
}

// exactly returns the sum of the terms as big numbers, rounded once at the end.
func exactly(terms []term, element int) float64 {
	sum := new(big.Float).SetPrec(2000)
	for _, t := range terms {
		product := t.factor * float64(t.values[element])
		if math.Abs(product) >= 0x1p-147 {
			sum.Add(sum, new(big.Float).SetPrec(2000).SetFloat64(product))
		}
	}
	rounded, _ := sum.Float64()
	return rounded
}

func add(t testing.TB, sum *strategy.Sum, terms []term) {
	t.Helper()
	for _, term := range terms {
		require.NoError(t, sum.Add(strategy.Model{tensor.FromFloat32s(term.values)}, term.factor))
	}
}

func TestSum_isExactForAllMagnitudes(t *testing.T) {
	const n = 1300
	for _, spread := range []float64{0, 1, 5, 20} { // of the natural logarithm
		t.Run(fmt.Sprint(spread), func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, uint64(spread)))
			terms := make([]term, 40)
			for k := range terms {
				terms[k] = term{make([]float32, n), float64(random.Int64N(1 << (k + 1)))}
				for i := range n {
					terms[k].values[i] = float32(random.NormFloat64() * math.Exp(spread*random.NormFloat64()))
					if math.IsInf(float64(terms[k].values[i]), 0) {
						terms[k].values[i] = math.MaxFloat32
					}
				}
			}
			// Great terms that cancel leave the small ones.
			terms = append(terms, terms[38], terms[39])
			terms[40].factor, terms[41].factor = -terms[38].factor, -terms[39].factor
			sum := strategy.NewSum(strategy.Model{tensor.FromFloat32s(make([]float32, n))})
			add(t, sum, terms)
			got := make([]float64, n)
			sum.Read(got, 0, 0)
			for i, v := range got {
				require.Equal(t, exactly(terms, i), v, "element %d", i)
			}
		})
	}
}

func TestSum_carriesIntoHigherLayers(t *testing.T) {
	values := []float32{1, -0.75, 3e-5, 0}
	sum := strategy.NewSum(strategy.Model{tensor.FromFloat32s(values)})
	const times = 20000
	for range times {
		require.NoError(t, sum.Add(strategy.Model{tensor.FromFloat32s(values)}, 1000))
	}
	got := make([]float64, 4)
	sum.Read(got, 0, 0)
	for i, v := range values {
		want, _ := new(big.Float).Mul(big.NewFloat(1000*float64(v)), big.NewFloat(times)).Float64()
		require.Equal(t, want, got[i])
	}
}

func TestSum_Add_keepsTheSumOnAnError(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	good, bad := make([]float32, 100_000), make([]float32, 100_000)
	for i := range good {
		good[i], bad[i] = float32(random.NormFloat64()), float32(random.NormFloat64()*1e20)
	}
	sum := strategy.NewSum(strategy.Model{tensor.FromFloat32s(good)})
	require.NoError(t, sum.Add(strategy.Model{tensor.FromFloat32s(good)}, 3))
	for _, at := range []int{0, 511, 512, 40_000, 99_999} {
		spoilt := append([]float32(nil), bad...)
		spoilt[at] = float32(math.NaN())
		require.ErrorContains(t, sum.Add(strategy.Model{tensor.FromFloat32s(spoilt)}, 1e6),
			fmt.Sprintf("tensor 0: element %d is NaN", at))
	}
	got := make([]float64, len(good))
	sum.Read(got, 0, 0)
	for i, v := range good {
		require.Equal(t, 3*float64(v), got[i])
	}
}

func TestSum_keepsIntegerTypes(t *testing.T) {
	layer := func(v int64) strategy.Model { return strategy.Model{tensor.FromInt64s([]int64{v})} }
	sum := strategy.NewSum(layer(0))
	require.NoError(t, sum.Add(layer(10), 1))
	require.NoError(t, sum.Add(layer(11), 2))
	mean, err := sum.Mean(3)
	require.NoError(t, err)
	require.Equal(t, tensor.Int64, mean[0].DType())
	require.Equal(t, []float64{11}, mean[0].Float64s())
}

func TestSum_Mean_refusesAnEmptySum(t *testing.T) {
	_, err := strategy.NewSum(nil).Mean(0)
	require.ErrorIs(t, err, strategy.ErrNoWeight)
}

func FuzzSumIsExact(f *testing.F) {
	f.Add(uint32(0x3f800000), uint32(0x00000001), uint32(0x7f7fffff), int64(3), int64(1)<<40)
	f.Add(uint32(0xbf800000), uint32(0x3f800001), uint32(0x80000001), int64(1), int64(7))
	f.Fuzz(func(t *testing.T, a, b, c uint32, n, m int64) {
		var values []float32
		for _, bits := range []uint32{a, b, c} {
			v := math.Float32frombits(bits)
			if v != v || math.IsInf(float64(v), 0) {
				t.Skip("a sum is of finite numbers")
			}
			values = append(values, v, -v/3)
		}
		n, m = n%strategy.MaxExamples, m%strategy.MaxExamples
		turned := append(append([]float32(nil), values[2:]...), values[:2]...)
		terms := []term{{values, float64(n)}, {turned, float64(m)}, {values, float64(m)}, {turned, 1}}
		for range 2 {
			sum := strategy.NewSum(strategy.Model{tensor.FromFloat32s(values)})
			add(t, sum, terms)
			got := make([]float64, len(values))
			sum.Read(got, 0, 0)
			for i, v := range got {
				require.Equal(t, exactly(terms, i), v, "element %d", i)
			}
			terms[0], terms[1], terms[2], terms[3] = terms[3], terms[2], terms[1], terms[0]
		}
	})
}

func BenchmarkSum(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			values := make([]float32, n)
			for i := range values {
				values[i] = float32(random.NormFloat64())
			}
			model := strategy.Model{tensor.FromFloat32s(values)}
			sum := strategy.NewSum(model)
			b.SetBytes(int64(4 * n))
			b.ReportAllocs()
			for b.Loop() {
				if err := sum.Add(model, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSum_Add_allocatesLittle(t *testing.T) {
	model := strategy.Model{tensor.FromFloat32s(make([]float32, 1<<20))}
	sum := strategy.NewSum(model)
	allocated := testing.AllocsPerRun(10, func() { require.NoError(t, sum.Add(model, 1)) })
	require.Less(t, allocated, 100.0)
}
