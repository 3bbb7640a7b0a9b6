package ckks_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func TestObserve_checksTheModelOfAClient(t *testing.T) {
	p := parameters(t, captured)
	tensors, packed, vector := read(t, "tenseal",
		"tensor-first"), read(t, "tenseal", "packed-first"), read(t, "tenseal", "vector-first")
	require.NoError(t, p.CheckModel(sent(tensors, packed, vector)))
	half := len(vector) / 2
	require.NoError(t, p.CheckModel(strategy.Model{pieces(vector[:half], vector[half:])}))

	m := small(31)
	good, _ := m.ciphertext(t)
	m.spoiled = func(content []byte) { binary.LittleEndian.PutUint64(content[97+8*2047:], m.moduli[0]) }
	bad, _ := m.ciphertext(t)
	spoilt := message{shape: []uint32{2}, scale: m.scale, ciphertexts: [][]byte{good, bad}}
	for want, test := range map[string]struct {
		settings ckks.Settings
		model    strategy.Model
	}{
		"check model: it has no layers":                      {captured, nil},
		"check model: layer 1: the scale of the message is ": {captured, sent(vector, nil)},
		"check model: layer 1: type float32 and shape [2] are not the bytes of a message": {
			captured, append(sent(vector), tensor.FromFloat32s([]float32{1, 2}))},
		"check model: layer 0: the message ends in the middle": {
			captured,
			sent(bytes.Clone(vector)[:half]),
		},
		"check model: layer 0: ciphertext 1: a coefficient is not below its modulus": {node, sent(spoilt.bytes())},
		"check model: layer 0: ciphertext 0 has 17347 bytes, an encryption cannot have fewer t": {
			ckks.Settings{ScaleBits: 16},
			sent(vector),
		},
		"check model: layer 0: ciphertext 0: its degree is 2048, the job's is 4096": {
			ckks.Settings{PolyModulusDegree: 4096, CoeffModBitSizes: []int{27, 26}, ScaleBits: 16}, sent(vector)},
	} {
		require.ErrorContains(t, parameters(t, test.settings).CheckModel(test.model), want)
	}
}

func TestAggregation_returnsAModelForTheNextRound(t *testing.T) {
	first := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{Model: sent(read(t, "tenseal", "vector-first"))})
	update := strategy.Update{Client: "a", Examples: 7, Model: sent(read(t, "tenseal", "vector-second"))}
	require.NoError(t, first.Add(t.Context(), update))
	mean, err := first.Finish(t.Context())
	require.NoError(t, err)
	require.Equal(t, tensor.Uint8, mean[0].DType())
	require.Equal(t, []int{mean[0].Len()}, mean[0].Shape())

	second := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{Model: mean})
	require.ErrorIs(t, second.Add(t.Context(), strategy.Update{Client: "a", Examples: 7, Model: mean}),
		strategy.ErrQuarantined,
		"a client that sends back what it got has trained nothing")
	require.NoError(t, second.Add(t.Context(), update))
}

func TestAggregation_Add_refusesPlainUpdates(t *testing.T) {
	a := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{})
	message := read(t, "tenseal", "vector-first")
	square, err := tensor.New(tensor.Uint8, []int{1, len(message)}, message)
	require.NoError(t, err)
	for _, layer := range []tensor.Tensor{tensor.FromFloat32s([]float32{1}), square, {}} {
		err := a.Add(t.Context(), strategy.Update{Client: "open", Examples: 1, Model: strategy.Model{layer}})
		require.ErrorIs(t, err, strategy.ErrQuarantined)
		require.ErrorContains(t, err, `add update of "open": `)
		require.ErrorContains(t, err, "layer 0: ")
		require.ErrorContains(t, err, "it is not encrypted")
	}
}

func TestStrategy_hasAPolicyAndNoState(t *testing.T) {
	policy := strategy.Policy{MinAvailable: 3, Fit: strategy.Rule{Fraction: 0.5}}
	s, err := ckks.NewStrategy(parameters(t, captured), policy, &ckks.Options{MaxAbs: 4})
	require.NoError(t, err)
	require.Equal(t, policy, s.Policy())
	config := map[string]any{}
	s.Configure(strategy.Fit, 1, config)
	require.Empty(t, config)
	require.Nil(t, s.State())
	require.NoError(t, s.Restore(nil))
	require.ErrorContains(t, s.Restore(sent([]byte{1})), "restore homomorphic: 1 tensors")
}
