package ckks_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// An aggregation can be blurred by package dp.
var _ dp.Blurrer = (*ckks.Aggregation)(nil)

// key is a source of the same key for every round.
type key byte

func (k key) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(k) + byte(i)
	}
	return len(p), nil
}

func TestStrategy_isDifferentiallyPrivateWithNoise(t *testing.T) {
	mean, err := ckks.NewStrategy(parameters(t, captured), strategy.Policy{}, &ckks.Options{MaxAbs: 4})
	require.NoError(t, err)
	private, err := dp.New(mean,
		strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2, "init_clip_norm": 1.5}, &dp.Options{Random: key(3)})
	require.NoError(t, err)
	model := sent(read(t, "tenseal", "packed-first"))
	round, err := private.Begin(strategy.Round{Number: 1, Model: model})
	require.NoError(t, err)
	defer round.Close()
	for _, name := range []string{"first", "second"} {
		update := strategy.Update{Client: name, Examples: 1_000_000, Model: sent(read(t, "tenseal", "packed-"+name))}
		require.ErrorIs(t, round.Add(t.Context(), update), strategy.ErrQuarantined, "without a norm bit")
		update.Metrics = map[string]any{"dpfedavg_norm_bit": true}
		require.NoError(t, round.Add(t.Context(), update))
		require.ErrorIs(t, round.Add(t.Context(), update), strategy.ErrQuarantined, "twice")
	}
	made, err := round.Finish(t.Context())
	require.NoError(t, err)
	p := private.Privacy()
	require.Equal(t, 1, p.Rounds)
	require.Positive(t, p.Epsilon)
	require.Len(t, private.Verdicts(), 6)

	ciphertext := parse(t, join(made)[0]).ciphertexts[0]
	scale := math.Float64frombits(binary.LittleEndian.Uint64(content(t, ciphertext)[57:]))
	require.Equal(t, 2*float64(1<<16), scale, "every client counts once")

	r, secret := newRing(2048, capturedPrime), secretKey(t, 2048)
	m := &maker{degree: 2048, moduli: []uint64{capturedPrime}}
	slots, _ := r.slots(r.polynomial(r.decrypt(m.residues(t, ciphertext), secret)), 1024)
	sum, squares := 0.0, 0.0
	for j, v := range slots {
		v /= 1 << 16
		if j < 3 {
			v -= 0.75 * float64(j+1) // what was encrypted
		}
		sum, squares = sum+v, squares+v*v
	}
	deviation := p.Multiplier * 1.5 * (1 + 0x1p-10)
	require.InDelta(t, 0, sum/1024, 4*deviation/math.Sqrt(1024))
	require.InDelta(t, 1, math.Sqrt(squares/1024)/deviation, 4/math.Sqrt(2*1024))
}
