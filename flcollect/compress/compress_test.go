package compress_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/compress"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// random returns floating-point numbers, the same for the same seed.
func random(seed uint64, n int) []float32 {
	from := rand.New(rand.NewPCG(seed, 1))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(from.NormFloat64())
	}
	return values
}

func moved(model tensor.Tensor, by []float32) tensor.Tensor {
	b := tensor.NewBuilder(model.DType(), model.Shape())
	values := model.Float64s()
	for i := range values {
		values[i] += float64(by[i])
	}
	b.Write(values, 0)
	return b.Tensor()
}

func encoder(t testing.TB, config compress.Config) *compress.Encoder {
	e, err := compress.NewEncoder(config)
	require.NoError(t, err)
	return e
}

// The decoded update is within half a step of what was trained, whatever the bytes are
// cut into, and the blob has a quarter of the bytes.
func TestDecode_int8_isWithinHalfAStep(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float64} {
		model, err := tensor.FromFloat32s(random(1, 64*100), 64, 100).As(dtype)
		require.NoError(t, err)
		step := random(2, 64*100)
		trained := moved(model, step)
		p, err := encoder(t, compress.Config{Kind: compress.Int8}).Encode([]tensor.Tensor{trained}, []tensor.Tensor{model})
		require.NoError(t, err)
		require.Equal(t, compress.Int8, compress.Encoded(p))
		require.Less(t, p.Tensors[0].Len(), 64*100+64*4+300)

		joined := bytes.Join(p.Tensors[0], nil)
		p.Tensors[0] = slices.Collect(slices.Chunk(joined, 7))
		got, err := compress.Decode(p, []tensor.Tensor{model})
		require.NoError(t, err)
		require.NoError(t, got[0].SameForm(model))
		want, have := trained.Float64s(), got[0].Float64s()
		for row := range 64 {
			most := 0.0
			for _, v := range step[row*100 : (row+1)*100] {
				most = max(most, math.Abs(float64(v)))
			}
			for i := row * 100; i < (row+1)*100; i++ {
				require.InDelta(t, want[i], have[i], most/127/2+1e-6)
			}
		}
	}
}

func TestDecode_topk_changesTheGreatestElements(t *testing.T) {
	model := tensor.FromFloat32s(random(1, 1000), 1000)
	step := random(2, 1000)
	e := encoder(t, compress.Config{Kind: compress.TopK, Share: 0.05})
	p, err := e.Encode([]tensor.Tensor{moved(model, step)}, []tensor.Tensor{model})
	require.NoError(t, err)
	got, err := compress.Decode(p, []tensor.Tensor{model})
	require.NoError(t, err)

	sizes := make([]float64, len(step))
	for i, v := range step {
		sizes[i] = math.Abs(float64(v))
	}
	slices.Sort(sizes)
	least := sizes[len(sizes)-50]
	before, after, changed := model.Float64s(), got[0].Float64s(), 0
	for i := range before {
		if math.Abs(float64(step[i])) < least {
			require.Equal(t, before[i], after[i])
			continue
		}
		changed++
		require.InDelta(t, before[i]+float64(step[i]), after[i], 1e-6)
	}
	require.Equal(t, 50, changed)
}

// With equal elements exactly so many are sent as the share says.
func TestEncoder_Encode_topkHasExactlyItsShare(t *testing.T) {
	model := tensor.FromFloat32s(make([]float32, 1000))
	same := slices.Repeat([]float32{0.5}, 1000)
	p, err := encoder(t, compress.Config{Kind: compress.TopK}).Encode(
		[]tensor.Tensor{moved(model, same)}, []tensor.Tensor{model})
	require.NoError(t, err)
	got, err := compress.Decode(p, []tensor.Tensor{model})
	require.NoError(t, err)
	sum := 0.0
	for _, v := range got[0].Float64s() {
		sum += v
	}
	require.Equal(t, 10*0.5, sum)
}

// Integers, and layers that would not be shorter, go as they are: new values in their type.
func TestEncoder_Encode_leavesSomeLayersAsTheyAre(t *testing.T) {
	model := []tensor.Tensor{tensor.FromInt64s(make([]int64, 500)), tensor.FromFloat32s([]float32{1, 2})}
	trained := []tensor.Tensor{tensor.FromInt64s(slices.Repeat([]int64{7}, 500)), tensor.FromFloat32s([]float32{1.5, 2.5})}
	for _, kind := range compress.Kinds() {
		p, err := encoder(t, compress.Config{Kind: kind}).Encode(trained, model)
		require.NoError(t, err)
		got, err := p.Decode()
		if kind != compress.Float16 {
			got, err = compress.Decode(p, model)
		}
		require.NoError(t, err)
		require.Equal(t, trained[0].Float64s(), got[0].Float64s())
		require.Equal(t, trained[1].Float64s(), got[1].Float64s())
	}
}

// What was left out is sent later: over many updates the sum of what arrives follows the
// sum of what was trained, and without error feedback it does not.
func TestEncoder_Encode_feedsBackWhatItLeavesOut(t *testing.T) {
	const n, rounds = 400, 60
	step := make([]float32, n) // every element moves, by different lengths
	for i := range step {
		step[i] = 0.001 * float32(20+i%20)
	}
	missing := func(config compress.Config) (worst float64) {
		model := tensor.FromFloat32s(make([]float32, n))
		e := encoder(t, config)
		for range rounds {
			p, err := e.Encode([]tensor.Tensor{moved(model, step)}, []tensor.Tensor{model})
			require.NoError(t, err)
			got, err := p.Decode()
			if config.Kind != compress.Float16 {
				got, err = compress.Decode(p, []tensor.Tensor{model})
			}
			require.NoError(t, err)
			if model, err = got[0].As(tensor.Float32); err != nil {
				require.NoError(t, err)
			}
		}
		for i, v := range model.Float64s() {
			worst = max(worst, math.Abs(v/(rounds*float64(step[i]))-1))
		}
		return worst
	}
	for _, config := range []compress.Config{
		{Kind: compress.Int8}, {Kind: compress.TopK, Share: 0.1}, {Kind: compress.Float16},
	} {
		with := missing(config)
		config.Forget = true
		without := missing(config)
		require.Less(t, with, without, "%v", config.Kind)
		if config.Kind == compress.TopK {
			require.Greater(t, without, 0.9, "most elements are never sent")
		}
	}
}

// The residual belongs to the shapes of a model. A failed update leaves it as it was.
func TestEncoder_Encode_keepsItsResidualAfterAnError(t *testing.T) {
	model := []tensor.Tensor{tensor.FromFloat32s(make([]float32, 300))}
	first := []tensor.Tensor{tensor.FromFloat32s(random(3, 300))}
	a, b := encoder(t, compress.Config{Kind: compress.TopK}), encoder(t, compress.Config{Kind: compress.TopK})
	for _, e := range []*compress.Encoder{a, b} {
		_, err := e.Encode(first, model)
		require.NoError(t, err)
	}
	_, err := a.Encode([]tensor.Tensor{tensor.FromFloat32s(slices.Repeat([]float32{float32(math.NaN())}, 300))}, model)
	require.ErrorContains(t, err, "layer 0: element 0 is not finite")
	_, err = a.Encode(first, nil)
	require.ErrorContains(t, err, "1 layers, the model has 0")
	_, err = a.Encode([]tensor.Tensor{tensor.FromFloat32s([]float32{1})}, model)
	require.ErrorContains(t, err, "has the shape [1]")
	one, err := a.Encode(model, model)
	require.NoError(t, err)
	two, err := b.Encode(model, model)
	require.NoError(t, err)
	require.Equal(t, bytes.Join(two.Tensors[0], nil), bytes.Join(one.Tensors[0], nil))

	_, err = a.Encode([]tensor.Tensor{tensor.FromFloat32s(random(1, 700))}, []tensor.Tensor{tensor.FromFloat32s(random(2, 700))})
	require.NoError(t, err, "another model")
}

func TestNewEncoder_refusesWhatThereIsNot(t *testing.T) {
	_, err := compress.NewEncoder(compress.Config{Kind: "zip"})
	require.ErrorContains(t, err, `unknown kind "zip", known are [float16 int8 topk]`)
	for _, share := range []float64{-1, 1.5, math.NaN()} {
		_, err = compress.NewEncoder(compress.Config{Kind: compress.TopK, Share: share})
		require.ErrorContains(t, err, "share")
	}
}

// parameters returns an update of one layer, of parts and what comes after them.
func parameters(kind string, tail []byte, parts ...tensor.Tensor) flower.Parameters {
	var blob flower.Blob
	for _, part := range parts {
		blob = append(blob, tensor.Encode(part)...)
	}
	return flower.Parameters{Type: kind, Tensors: []flower.Blob{append(blob, tail)}}
}

func TestDecode_namesLayerAndReason(t *testing.T) {
	uint32s := func(values ...float64) tensor.Tensor {
		b := tensor.NewBuilder(tensor.Uint32, []int{len(values)})
		b.Write(values, 0)
		return b.Tensor()
	}
	bytesOf := func(n int) tensor.Tensor { return tensor.NewBuilder(tensor.Int8, []int{n}).Tensor() }
	one := func(v float64) tensor.Tensor {
		b := tensor.NewBuilder(tensor.Float64, []int{})
		b.Write([]float64{v}, 0)
		return b.Tensor()
	}
	full := tensor.NewBuilder(tensor.Int8, []int{3})
	full.Write([]float64{127, 127, 127}, 0)
	single := func(n int) tensor.Tensor { return tensor.FromFloat32s(make([]float32, n)) }
	int8s := func(parts ...tensor.Tensor) flower.Parameters { return parameters(compress.Int8Type, nil, parts...) }
	topk := func(parts ...tensor.Tensor) flower.Parameters { return parameters(compress.TopKType, nil, parts...) }
	model := tensor.FromFloat32s([]float32{1, 2, 3})
	for reason, p := range map[string]flower.Parameters{
		"the scale is of int8":                          int8s(bytesOf(1), bytesOf(3)),
		"the quantized difference is of float64":        int8s(one(1), one(1)),
		"the shape is [4], that of the model [3]":       int8s(one(1), bytesOf(4)),
		"the scale has the shape [2], expected ()":      int8s(single(2), bytesOf(3)),
		"scale 0 is NaN":                                int8s(one(math.NaN()), bytesOf(3)),
		"scale 0 is -1":                                 int8s(one(-1), bytesOf(3)),
		"scale 0 is +Inf":                               int8s(one(math.Inf(1)), bytesOf(3)),
		"element 0 becomes 1.27e+40, which float32":     int8s(one(1e38), full.Tensor()),
		"needs 3 elements, there are":                   parameters(compress.Int8Type, []byte("more"), one(1), bytesOf(3)),
		"the indices are of float64":                    topk(one(1), one(1)),
		"the values are of int8":                        topk(uint32s(1), bytesOf(1)),
		"[2] and [1], expected one axis":                topk(uint32s(1, 2), single(1)),
		"4 indices, the layer has 3 elements":           topk(uint32s(0, 1, 2, 3), single(4)),
		"index 1 is 0, expected an ascending order":     topk(uint32s(0, 0), single(2)),
		"index 0 is 3, expected an ascending order":     topk(uint32s(3), single(1)),
		"element 2 becomes NaN":                         topk(uint32s(2), tensor.FromFloat64s([]float64{math.NaN()})),
		"second part: tensor: bad .npy file":            parameters(compress.TopKType, []byte("more"), uint32s(2)),
		"layer 0: tensor: bad .npy file: it does not":   int8s(),
		"the shape is [1], that of the model [3]":       topk(uint32s(1)),
		`the type is "zip", expected "enablers.int8/1"`: parameters("zip", nil),
	} {
		_, err := compress.Decode(p, []tensor.Tensor{model})
		require.ErrorIs(t, err, compress.ErrFormat, reason)
		require.ErrorContains(t, err, reason)
		_, err = compress.Decode(p, nil)
		require.ErrorIs(t, err, compress.ErrFormat)
	}
	_, err := compress.Decode(topk(uint32s(), uint32s()), []tensor.Tensor{tensor.FromInt64s([]int64{1, 2, 3})})
	require.ErrorContains(t, err, "a difference, and the model has int64")
}

func TestHalved_isForMorePreciseModels(t *testing.T) {
	half, err := tensor.FromFloat32s([]float32{1}).As(tensor.Float16)
	require.NoError(t, err)
	single := tensor.FromFloat32s([]float32{1})
	require.True(t, compress.Halved([]tensor.Tensor{single, half}, []tensor.Tensor{single, single}))
	require.False(t, compress.Halved([]tensor.Tensor{half}, []tensor.Tensor{half}))
	require.False(t, compress.Halved([]tensor.Tensor{half}, nil))
}

// FuzzDecode feeds bytes as a layer of both types. What is read has finite numbers where
// it was a difference, and the form of the model.
func FuzzDecode(f *testing.F) {
	model := []tensor.Tensor{tensor.FromFloat32s(random(5, 400), 4, 100)}
	for _, kind := range []compress.Kind{compress.Int8, compress.TopK} {
		p, err := encoder(f, compress.Config{Kind: kind}).Encode([]tensor.Tensor{moved(model[0], random(6, 400))}, model)
		require.NoError(f, err)
		f.Add(bytes.Join(p.Tensors[0], nil), uint8(100))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		blob := flower.Blob{data[:min(int(cut), len(data))], data[min(int(cut), len(data)):]}
		for _, kind := range []string{compress.Int8Type, compress.TopKType} {
			got, err := compress.Decode(flower.Parameters{Type: kind, Tensors: []flower.Blob{blob}}, model)
			if err != nil {
				require.ErrorIs(t, err, compress.ErrFormat)
				continue
			}
			if _, rest, err := tensor.DecodeFirst(blob...); err == nil && flower.Blob(rest).Len() > 0 {
				require.NoError(t, got[0].SameForm(model[0]))
				for _, v := range got[0].Float64s() {
					require.True(t, tensor.Float32.Holds(v))
				}
			}
		}
	})
}
