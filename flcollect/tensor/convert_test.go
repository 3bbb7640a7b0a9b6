package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestTensor_As_roundsAndRefusesWhatTheTypeCannotHold(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for dtype, c := range map[tensor.DType]struct{ from, want, refused []float64 }{
		tensor.Float32: {
			[]float64{0.1, -2, 1e-50},
			[]float64{float64(float32(0.1)), -2, 0},
			[]float64{1e39, -1e300, nan, inf},
		},
		tensor.Float64:  {[]float64{0.1}, []float64{0.1}, []float64{nan, -inf}},
		tensor.Float16:  {[]float64{65519, 1. / 3}, []float64{65504, 0.333251953125}, []float64{65520, nan}},
		tensor.BFloat16: {[]float64{1, 0x1p127}, []float64{1, 0x1p127}, []float64{3.4e38, inf}},
		tensor.Int64:    {[]float64{12.5, -3.6, 1 << 60}, []float64{12, -4, 1 << 60}, []float64{1 << 63, -1e20, nan}},
		tensor.Int8:     {[]float64{127.4, -128}, []float64{127, -128}, []float64{127.6, -129, inf}},
		tensor.Uint8:    {[]float64{255, -0.2}, []float64{255, 0}, []float64{-1, 256}},
		tensor.Bool:     {[]float64{0, 1, 0.7}, []float64{0, 1, 1}, []float64{2, -1, nan}},
	} {
		source := tensor.Float64
		if dtype == source { // the other way round is what is of interest here
			source = tensor.Float32
		}
		as := func(values ...float64) (tensor.Tensor, error) {
			b := tensor.NewBuilder(source, []int{len(values), 1})
			b.Write(values, 0)
			return b.Tensor().As(dtype)
		}
		made, err := as(c.from...)
		require.NoError(t, err, dtype)
		require.Equal(t, dtype, made.DType())
		require.Equal(t, []int{len(c.from), 1}, made.Shape())
		for i, v := range made.Float64s() {
			require.InDelta(t, c.want[i], v, 1e-7*math.Abs(c.want[i]), "%v of %v", dtype, c.from[i])
		}
		for _, bad := range c.refused {
			_, err := as(0, bad)
			require.ErrorIs(t, err, tensor.ErrRange, "%v of %v", dtype, bad)
			require.ErrorContains(t, err, "element 1 is ")
		}
	}
	same := tensor.FromFloat32s([]float32{float32(nan)})
	again, err := same.As(tensor.Float32)
	require.NoError(t, err, "nothing is converted, and nothing looked at")
	require.Equal(t, same, again)
}

func TestDecode_numbersOfATypeThatIsNotReadMatchErrType(t *testing.T) {
	for descr, numeric := range map[string]bool{
		"<c8":  true,
		"<f16": true,
		"<i16": true,
		"|O":   false,
		"<U5":  false,
		"|V8":  false,
	} {
		header := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (0,), }\n"
		_, err := tensor.Decode(append([]byte("\x93NUMPY\x01\x00"+string(rune(len(header)))+"\x00"), header...))
		require.ErrorIs(t, err, tensor.ErrFormat)
		if numeric {
			require.ErrorIs(t, err, tensor.ErrType, descr)
		} else {
			require.NotErrorIs(t, err, tensor.ErrType, descr)
		}
	}
}
