package round

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestRebase_movesTheNewerVersion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 5000 // more than a piece
	numbers := func() []float32 {
		made := make([]float32, n)
		for i := range made {
			made[i] = float32(random.NormFloat64())
		}
		return made
	}
	u, b, x := numbers(), numbers(), numbers()
	model := func(values []float32) strategy.Model { return strategy.Model{tensor.FromFloat32s(values)} }
	for _, exponent := range []float64{0, 0.5, 1, 2.5} {
		for staleness := range 9 {
			got, err := rebase(model(u), model(b), model(x), staleWeight(staleness, exponent))
			require.NoError(t, err)
			for i, v := range got[0].Float64s() {
				w := 1 / math.Pow(1+float64(staleness), exponent)
				want := float64(x[i]) + w*(float64(u[i])-float64(b[i]))
				require.InDelta(t, want, v, 1e-7*(1+math.Abs(want)), "staleness %d, exponent %v", staleness, exponent)
			}
		}
	}
	require.Equal(t, 1.0, staleWeight(7, 0))
	require.Equal(t, 0.5, staleWeight(3, 0.5))
}

func TestRebase_roundsWholeNumbersAndRefusesWhatTheyCannotHold(t *testing.T) {
	steps := func(v int64) strategy.Model { return strategy.Model{tensor.FromInt64s([]int64{v})} }
	got, err := rebase(steps(107), steps(100), steps(200), 0.5)
	require.NoError(t, err)
	require.Equal(t, []float64{204}, got[0].Float64s(), "203.5 to the even number")
	bytes := func(v byte) strategy.Model {
		made, err := tensor.New(tensor.Uint8, []int{1}, []byte{v})
		require.NoError(t, err)
		return strategy.Model{made}
	}
	_, err = rebase(bytes(250), bytes(100), bytes(200), 1)
	require.ErrorIs(t, err, tensor.ErrRange)
	require.ErrorContains(t, err, "tensor 0")
}

func TestRebase_leavesOtherFormsToTheStrategy(t *testing.T) {
	own := strategy.Model{tensor.FromFloat32s([]float32{1, 2})}
	for _, other := range []strategy.Model{nil, {tensor.FromFloat32s([]float32{1})}, {tensor.FromFloat64s([]float64{1, 2})}} {
		got, err := rebase(other, own, own, 1)
		require.NoError(t, err)
		require.Equal(t, other, got)
	}
}
