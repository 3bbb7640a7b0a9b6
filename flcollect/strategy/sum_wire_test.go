package strategy_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// sumBits returns the sums of all elements.
func sumBits(s *strategy.Sum, form strategy.Model) (bits []uint64) {
	for i, t := range form {
		values := make([]float64, t.Len())
		s.Read(values, i, 0)
		for _, v := range values {
			bits = append(bits, math.Float64bits(v))
		}
	}
	return bits
}

// tensorBytes returns the bytes of encoded tensors.
func tensorBytes(encoded []tensor.Tensor) (all [][]byte) {
	for _, t := range encoded {
		var one []byte
		for _, chunk := range t.Chunks() {
			one = append(one, chunk...)
		}
		all = append(all, one)
	}
	return all
}

// chopped returns an encoding whose bytes lie in chunks of random sizes.
func chopped(t testing.TB, random *rand.Rand, encoded []tensor.Tensor) []tensor.Tensor {
	made := make([]tensor.Tensor, len(encoded))
	for i, whole := range tensorBytes(encoded) {
		var chunks [][]byte
		for rest := whole; len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 3000))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		var err error
		made[i], err = tensor.New(tensor.Uint8, []int{len(whole)}, chunks...)
		require.NoError(t, err)
	}
	return made
}

// randomForm returns a model of zeros.
func randomForm(t testing.TB, random *rand.Rand) strategy.Model {
	types := []tensor.DType{tensor.Float32, tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int64}
	form := make(strategy.Model, 1+random.IntN(4))
	for i := range form {
		shape := [][]int{{}, {0}, {1 + random.IntN(2000)}, {7, 1 + random.IntN(300)}, {3, 1, 200}}[random.IntN(5)]
		size := 1
		for _, n := range shape {
			size *= n
		}
		dtype := types[random.IntN(len(types))]
		var err error
		form[i], err = tensor.New(dtype, shape, make([]byte, size*dtype.Size()))
		require.NoError(t, err)
	}
	return form
}

// randomModel returns a model of a form with numbers of all magnitudes.
func randomModel(random *rand.Rand, form strategy.Model, spread float64) strategy.Model {
	return strategy.Map(form, func(values []float64, layer, _ int) {
		for i := range values {
			v := random.NormFloat64() * math.Exp(spread*random.NormFloat64())
			if random.IntN(10) == 0 {
				v = 0
			}
			most := map[tensor.DType]float64{tensor.Float16: 6e4, tensor.Int64: 1e15}[form[layer].DType()]
			if most == 0 {
				most = 1e38
			}
			values[i] = max(-most, min(most, v))
		}
	})
}

// TestSum_Merge_makesTheBitsOfTheFlatSum builds trees of sums over random clients.
func TestSum_Merge_makesTheBitsOfTheFlatSum(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 18))
			form := randomForm(t, random)
			spread := []float64{0, 1, 5, 20, 40}[random.IntN(5)]
			flat := strategy.NewSum(form)
			var level []*strategy.Sum
			for range 1 + random.IntN(6) { // edges
				edge := strategy.NewSum(form)
				for range 1 + random.IntN(8) { // their clients
					model, weight := randomModel(random, form, spread), float64(1+random.Int64N(1<<random.IntN(41)))
					require.NoError(t, flat.Add(model, weight))
					require.NoError(t, edge.Add(model, weight))
					if random.IntN(8) == 0 { // one whose terms cancel
						require.NoError(t, flat.Add(model, -weight))
						require.NoError(t, edge.Add(model, -weight))
					}
				}
				level = append(level, edge)
			}
			for len(level) > 1 || random.IntN(2) == 0 {
				var upper []*strategy.Sum
				for len(level) > 0 {
					n := 1 + random.IntN(len(level))
					joined := strategy.NewSum(form)
					for _, k := range random.Perm(n) {
						require.NoError(t, joined.Merge(chopped(t, random, level[k].Encode())))
					}
					upper, level = append(upper, joined), level[n:]
				}
				level = upper
			}
			require.Equal(t, sumBits(flat, form), sumBits(level[0], form))
			require.Equal(t, tensorBytes(flat.Encode()), tensorBytes(level[0].Encode()), "one sum, one encoding")
		})
	}
}

func TestSum_Merge_takesMoreUpdatesAfterASum(t *testing.T) {
	if testing.Short() {
		t.Skip("sums 7.5 million numbers")
	}
	random := rand.New(rand.NewPCG(3, 4))
	form := strategy.Model{tensor.FromFloat32s(make([]float32, 1500))}
	flat, mixed := strategy.NewSum(form), strategy.NewSum(form)
	for k := range 5000 { // beyond the headroom of a block
		model := randomModel(random, form, 2)
		require.NoError(t, flat.Add(model, 1000))
		if k%50 != 0 {
			require.NoError(t, mixed.Add(model, 1000))
			continue
		}
		one := strategy.NewSum(form)
		require.NoError(t, one.Add(model, 1000))
		require.NoError(t, mixed.Merge(one.Encode()))
	}
	require.Equal(t, sumBits(flat, form), sumBits(mixed, form))
}

func TestSum_Merge_refusesAnotherFormAndChangesNothing(t *testing.T) {
	zeros := func(shape ...int) tensor.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return tensor.FromFloat32s(make([]float32, n), shape...)
	}
	form := strategy.Model{zeros(4, 3), zeros(5)}
	sum := strategy.NewSum(form)
	require.NoError(t, sum.Add(strategy.Model{tensor.FromFloat32s(make([]float32, 12), 4, 3),
		tensor.FromFloat32s([]float32{1, 2, 3, 4, 5})}, 7))
	before := tensorBytes(sum.Encode())
	for _, c := range []struct {
		form strategy.Model
		want string
	}{
		{strategy.Model{zeros(4, 3)}, "1 tensors, expected 2"},
		{strategy.Model{zeros(3, 4), zeros(5)}, "tensor 0: tensor: shape does not fit: dimension 0 of the sum is 3"},
		{strategy.Model{zeros(4, 3), zeros(5, 1)}, "tensor 1: tensor: shape does not fit: the sum has 2 dimensions"},
		{strategy.Model{zeros(4, 3), tensor.FromInt64s(make([]int64, 5))}, "the sum is of int64, expected float32"},
	} {
		require.ErrorContains(t, sum.Merge(strategy.NewSum(c.form).Encode()), c.want)
		require.Equal(t, before, tensorBytes(sum.Encode()))
	}
}

// encoded returns the encoding of a sum of float32 with one block.
func encoded(elements uint64, block ...byte) []byte {
	return append(binary.AppendUvarint([]byte{byte(tensor.Float32), 1}, elements), block...)
}

func TestSum_Merge_refusesWhatIsNoEncoding(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":               {nil, "it is empty"},
		"no blocks":             {encoded(2), "it ends at block 0 of 1"},
		"half a block":          {encoded(2, 0, 0, 1, 1), "it ends in block 0 of 1"},
		"more than the end":     {encoded(2, 0, 0, 1, 1, 1, 0), "bytes after its end"},
		"a unit that is small":  {encoded(2, 0, 0, 1, 2, 4), "unit is too small"},
		"more bytes than need":  {encoded(2, 0, 0, 2, 1, 0, 1, 0), "more bytes than they need"},
		"a zero with a unit":    {encoded(2, 1, 0, 0), "elements of 0 bytes with the unit 2^1"},
		"an element of 99 byte": {encoded(2, 0, 0, 99), "elements of 99 bytes"},
		"a unit below all":      {encoded(2, 0x00, 0xff, 1, 1, 1), "with the unit 2^-256"},
		"a vast element":        {encoded(2, 221, 0, 1, 1, 1), "order of 2^222"},
		"a long length":         {[]byte{byte(tensor.Float32), 1, 0x82, 0, 0, 0, 0}, "shape cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			sum := strategy.NewSum(strategy.Model{tensor.FromFloat32s([]float32{0, 0})})
			data, err := tensor.New(tensor.Uint8, []int{len(c.data)}, c.data)
			require.NoError(t, err)
			err = sum.Merge([]tensor.Tensor{data})
			require.ErrorIs(t, err, strategy.ErrEncoding)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// FuzzSum_Merge checks that an encoding that is taken is the one of its sum, and that a
// hostile one takes no memory beyond that of the sum.
func FuzzSum_Merge(f *testing.F) {
	form := strategy.Model{tensor.FromFloat32s(make([]float32, 3))}
	random := rand.New(rand.NewPCG(1, 2))
	for spread := range 4 {
		sum := strategy.NewSum(form)
		for range 1 + spread {
			require.NoError(f, sum.Add(randomModel(random, form, float64(10*spread)), float64(1+random.IntN(1000))))
		}
		f.Add(tensorBytes(sum.Encode())[0])
	}
	f.Add(encoded(3, 0, 0, 0))
	f.Add(encoded(1<<40, 0, 0, 1, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		given, err := tensor.New(tensor.Uint8, []int{len(data)}, data)
		require.NoError(t, err)
		sum := strategy.NewSum(form)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = sum.Merge([]tensor.Tensor{given})
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<18), "layers of one block, and the work space")
		if err != nil {
			require.Equal(t, encoded(3, 0, 0, 0), tensorBytes(sum.Encode())[0], "it changes nothing")
			return
		}
		require.Equal(t, data, tensorBytes(sum.Encode())[0])
		for _, bits := range sumBits(sum, form) {
			require.False(t, math.IsNaN(math.Float64frombits(bits)))
		}
	})
}

// TestSum_Encode_takesFewBytes logs the size for numbers as those of a neural network.
func TestSum_Encode_takesFewBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	form := strategy.Model{tensor.FromFloat32s(make([]float32, 1<<16))}
	sum := strategy.NewSum(form)
	clients, sizes := 0, []int{1, 10, 100, 1000}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, upTo := range sizes {
		for ; clients < upTo; clients++ {
			model := strategy.Map(form, func(values []float64, _, _ int) {
				for i := range values {
					values[i] = 0.05 * random.NormFloat64()
				}
			})
			require.NoError(t, sum.Add(model, float64(100+random.IntN(900))))
		}
		size := float64(len(tensorBytes(sum.Encode())[0])) / (1 << 16)
		t.Logf("%d clients: %.2f bytes an element", clients, size)
		require.Less(t, size, 10.0)
	}
}

func BenchmarkSum_Merge(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	form := strategy.Model{tensor.FromFloat32s(make([]float32, 1_000_000))}
	part := strategy.NewSum(form)
	for range 10 {
		require.NoError(b, part.Add(randomModel(random, form, 1), 100))
	}
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			part.Encode()
		}
	})
	b.Run("merge", func(b *testing.B) {
		data, sum := part.Encode(), strategy.NewSum(form)
		b.ReportAllocs()
		for b.Loop() {
			if err := sum.Merge(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
