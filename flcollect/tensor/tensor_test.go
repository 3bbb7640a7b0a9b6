package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestTensor_readsAcrossChunks(t *testing.T) {
	values := make([]float32, 2000)
	for i := range values {
		values[i] = float32(i) / 7
	}
	whole := tensor.FromFloat32s(values)
	for _, skew := range []int{0, 1, 2, 3} { // makes the bytes unaligned
		file := append(make([]byte, skew), whole.Chunks()[0]...)
		cut, err := tensor.New(tensor.Float32, []int{2000}, file[skew:skew+4097], file[skew+4097:skew+4098], file[skew+4098:])
		require.NoError(t, err)
		scratch := make([]float32, 2000)
		for from := range 1990 {
			require.Equal(t, values[from:from+10], cut.Float32s(from, 10, scratch))
		}
		require.Equal(t, values, cut.Float32s(0, 2000, scratch))
		require.Equal(t, whole.Float64s(), cut.Float64s())
	}
	require.Panics(t, func() { whole.Float32s(1999, 2, make([]float32, 2)) })
	require.Panics(t, func() { whole.ReadFloat64s(make([]float64, 1), -1) })
}

func TestBuilder_roundsToTheType(t *testing.T) {
	huge := []float64{math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 1.5, -2.5}
	for dtype, want := range map[tensor.DType][]float64{
		tensor.Bool:    {1, 0, 0, 1, 1, 0},
		tensor.Int8:    {127, -128, 0, 0, 2, -2},
		tensor.Uint8:   {255, 0, 0, 0, 2, 0},
		tensor.Int64:   {math.MaxInt64, math.MinInt64, 0, 0, 2, -2},
		tensor.Uint64:  {math.MaxUint64, 0, 0, 0, 2, 0},
		tensor.Float64: {math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 1.5, -2.5},
	} {
		b := tensor.NewBuilder(dtype, []int{len(huge)})
		b.Write(huge, 0)
		got := b.Tensor().Float64s()
		for i, v := range want {
			require.Equal(t, math.Float64bits(v)<<1, math.Float64bits(got[i])<<1, "%v of %v", dtype, huge[i])
		}
	}
}

// Every number of 16 bits comes back, and what lies between two goes to the
// nearer one, or to the even one in the middle.
func TestBuilder_roundsHalfPrecisionToTheNearest(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		value := func(bits uint16) float64 {
			v, err := tensor.New(dtype, nil, []byte{byte(bits), byte(bits >> 8)})
			require.NoError(t, err)
			return v.Float64s()[0]
		}
		round := func(v float64) float64 {
			b := tensor.NewBuilder(dtype, nil)
			b.Write([]float64{v}, 0)
			return b.Tensor().Float64s()[0]
		}
		for bits := uint16(0); bits < 0x7fff; bits++ {
			v, next := value(bits), value(bits+1)
			if math.IsInf(v, 0) || math.IsNaN(v) {
				break
			}
			require.Equal(t, v, round(v))
			require.Equal(t, -v, round(-v))
			if math.IsInf(next, 0) {
				continue
			}
			middle, even := (v+next)/2, v
			if bits&1 == 1 {
				even = next
			}
			require.Equal(t, even, round(middle), "%v %#x", dtype, bits)
			require.Equal(t, v, round(math.Nextafter(middle, 0)), "%v %#x", dtype, bits)
			require.Equal(t, next, round(math.Nextafter(middle, math.Inf(1))), "%v %#x", dtype, bits)
		}
		require.True(t, math.IsInf(round(math.MaxFloat64), 1))
		require.True(t, math.IsNaN(round(math.NaN())))
	}
}

func TestTensor_SameForm_comparesTypeAndShape(t *testing.T) {
	a := tensor.FromFloat32s([]float32{1, 2}, 2, 1)
	require.NoError(t, a.SameForm(tensor.FromFloat32s([]float32{3, 4}, 2, 1)))
	require.ErrorContains(t, a.SameForm(tensor.FromFloat64s([]float64{3, 4}, 2, 1)), "type float32, expected float64")
	require.ErrorIs(t, a.SameForm(tensor.FromFloat32s([]float32{3, 4})), tensor.ErrShape)
	require.Panics(t, func() { tensor.FromFloat32s([]float32{1}, 2) })
}
