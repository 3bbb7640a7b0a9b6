package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func someCheckpoint(t testing.TB) []byte {
	var file bytes.Buffer
	model := strategy.Model{tensor.FromFloat32s([]float32{1, 2, 3}), tensor.FromInt64s([]int64{4}), tensor.FromFloat64s(nil)}
	require.NoError(t, write(&file, model, []tensor.Tensor{tensor.FromFloat64s([]float64{0.5})}))
	return file.Bytes()
}

func newReader(file []byte) reader {
	return reader{from: bytes.NewReader(file), left: int64(len(file)), sum: sha256.New()}
}

func TestReader_read_returnsWhatWasWritten(t *testing.T) {
	file := someCheckpoint(t)
	r := newReader(file)
	model, state, err := r.read()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 3}, model[0].Float64s())
	require.Equal(t, tensor.Int64, model[1].DType())
	require.Zero(t, model[2].Len())
	require.Equal(t, []float64{0.5}, state[0].Float64s())
	want := sha256.Sum256(file)
	require.Equal(t, want[:], r.sum.Sum(nil))
	for cut := range file {
		r := newReader(file[:cut])
		_, _, err := r.read()
		require.ErrorIs(t, err, persist.ErrDamaged)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(someCheckpoint(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(data)
		model, state, err := r.read()
		if err != nil {
			require.ErrorIs(t, err, persist.ErrDamaged)
			return
		}
		var again bytes.Buffer
		require.NoError(t, write(&again, model, state))
		r = newReader(again.Bytes())
		same, _, err := r.read()
		require.NoError(t, err)
		require.Len(t, same, len(model))
	})
}
