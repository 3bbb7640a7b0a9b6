package strategy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// plain hides what the aggregations of a strategy can do besides.
type plain struct{ strategy.Strategy }

func (p plain) Begin(round strategy.Round) (strategy.Aggregation, error) {
	begun, err := p.Strategy.Begin(round)
	return struct{ strategy.Aggregation }{begun}, err
}

// scattered returns a tensor with the bytes of another one in chunks at odd addresses.
func scattered(t *testing.T, random *rand.Rand, from tensor.Tensor) tensor.Tensor {
	var chunks [][]byte
	for _, chunk := range from.Chunks() {
		for len(chunk) > 0 {
			n := min(len(chunk), 1+random.IntN(5000))
			odd := append(make([]byte, 1, n+1), chunk[:n]...)
			chunks, chunk = append(chunks, odd[1:]), chunk[n:]
		}
	}
	made, err := tensor.New(from.DType(), from.Shape(), chunks...)
	require.NoError(t, err)
	return made
}

func TestBounded_measuresInOnePassAsInTwo(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 6))
	numbers := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = random.NormFloat64()
		}
		return values
	}
	model := func() strategy.Model {
		var made strategy.Model
		for _, layer := range []struct {
			dtype tensor.DType
			shape []int
		}{
			{tensor.Float32, []int{300, 333}}, {tensor.Float32, []int{7}}, {tensor.Float64, []int{40_000}},
			{tensor.Int64, []int{3}}, {tensor.Float16, []int{600}}, {tensor.Float32, []int{0}},
		} {
			b := tensor.NewBuilder(layer.dtype, layer.shape)
			n := 1
			for _, d := range layer.shape {
				n *= d
			}
			b.Write(numbers(n), 0)
			made = append(made, scattered(t, random, b.Tensor()))
		}
		return made
	}
	spoilt := func(layer int, value float64) strategy.Model {
		made := model()
		values := made[layer].Float64s()
		values[len(values)/2] = value
		b := tensor.NewBuilder(made[layer].DType(), made[layer].Shape())
		b.Write(values, 0)
		made[layer] = b.Tensor()
		return made
	}
	base := model()
	updates := []strategy.Update{
		{Client: "a", Examples: 3, Model: model()}, {Client: "b", Examples: 1 << 40, Model: model()},
		{Client: "a", Examples: 3, Model: model()}, {Client: "c", Examples: 0, Model: model()},
		{Client: "d", Examples: 1, Model: spoilt(0, math.NaN())}, {Client: "e", Examples: 1, Model: spoilt(2, 0x1p140)},
		{Client: "f", Examples: 1, Model: spoilt(0, 1e30)}, {Client: "d", Examples: 2, Model: model()},
	}
	conduct := func(inner strategy.Strategy) ([]strategy.Verdict, strategy.Model, []string) {
		bounded, err := strategy.NewBounded(inner, strategy.Conf{"norm_clip": false})
		require.NoError(t, err)
		round, err := bounded.Begin(strategy.Round{Number: 1, Model: base, Dir: t.TempDir()})
		require.NoError(t, err)
		defer func() { require.NoError(t, round.Close()) }()
		var failures []string
		for _, update := range updates {
			if err := round.Add(t.Context(), update); err != nil {
				failures = append(failures, err.Error())
			}
		}
		made, err := round.Finish(t.Context())
		require.NoError(t, err)
		verdicts := bounded.Verdicts()
		for i := range verdicts {
			if math.IsNaN(verdicts[i].Norm) { // which is not equal to itself
				verdicts[i].Norm = -1
			}
		}
		return verdicts, made, failures
	}
	for _, name := range []string{"FedAvg", "FedAdam"} {
		inner, err := strategy.New(name, nil)
		require.NoError(t, err)
		again, err := strategy.New(name, nil)
		require.NoError(t, err)
		verdicts, made, failures := conduct(inner)
		two, same, failed := conduct(plain{again})
		require.Equal(t, two, verdicts)
		require.Equal(t, failed, failures)
		require.Len(t, failures, 4)
		for i := range made {
			require.Equal(t, same[i].Float64s(), made[i].Float64s())
		}
	}
}

func TestBounded_addsNoUpdateThatIsInfinitelyFar(t *testing.T) {
	inner, err := strategy.New("FedAvg", nil)
	require.NoError(t, err)
	bounded, err := strategy.NewBounded(inner, strategy.Conf{"norm_clip": false})
	require.NoError(t, err)
	model := func(value float64) strategy.Model {
		b := tensor.NewBuilder(tensor.Float32, []int{1})
		b.Write([]float64{value}, 0)
		return strategy.Model{b.Tensor()}
	}
	round, err := bounded.Begin(strategy.Round{Number: 1, Model: model(math.Inf(1)), Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, round.Close()) }()
	err = round.Add(t.Context(), strategy.Update{Client: "a", Examples: 1, Model: model(1)})
	require.ErrorContains(t, err, `add update of "a": its distance from the model of the round is not finite`)
	require.NotErrorIs(t, err, strategy.ErrQuarantined, "the client's numbers are fine")
	_, err = round.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
}
