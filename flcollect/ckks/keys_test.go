package ckks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
)

func TestObserve_namesTheKeysOfEveryClient(t *testing.T) {
	for _, name := range []string{"tensor-first", "packed-second", "vector-first"} {
		keys, err := ckks.Observe(sent(read(t, "tenseal", name)))
		require.NoError(t, err)
		require.Equal(t, parameters(t, captured).Keys(), keys)
	}
	for _, name := range []string{"none", "zlib", "zstd"} {
		m := message{shape: []uint32{2}, scale: 1 << 16, ciphertexts: [][]byte{read(t, "seal", name+"-first")}}
		keys, err := ckks.Observe(sent(m.bytes()))
		require.NoError(t, err)
		require.Equal(t, parameters(t, node).Keys(), keys)
		require.Equal(t, "degree 1024, moduli of [27] bits, scale 2^16", keys.String())
	}
	public, err := ckks.ParseContext(read(t, "tenseal", "public"))
	require.NoError(t, err)
	require.Equal(t, parameters(t, captured).Keys(), public.Keys())
	settings, err := public.Settings()
	require.NoError(t, err)
	require.Equal(t, parameters(t, captured).Settings(), settings)
}

func TestKeys_Settings_makesTheSameKeys(t *testing.T) {
	for _, settings := range []ckks.Settings{
		{CoeffModBitSizes: []int{60, 40, 40}}, {CoeffModBitSizes: []int{60, 40, 60}}, {
			CoeffModBitSizes: []int{50, 30, 30, 50},
		},
		{PolyModulusDegree: 4096, CoeffModBitSizes: []int{40, 20, 40}, ScaleBits: 20}, {CoeffModBitSizes: []int{60, 40, 50}},
		{PolyModulusDegree: 16384, CoeffModBitSizes: []int{60, 50, 50, 50, 50, 60}, ScaleBits: 50},
		{PolyModulusDegree: 32768, CoeffModBitSizes: []int{54, 54}},
		{CoeffModBitSizes: []int{31, 26, 26, 26, 26, 26, 26, 31}, ScaleBits: 26},
	} {
		keys := parameters(t, settings).Keys()
		found, err := keys.Settings()
		require.NoError(t, err)
		require.Equal(t, keys, parameters(t, found).Keys(), found)
	}
	odd := parameters(t, ckks.Settings{CoeffModBitSizes: []int{60, 40, 30, 60}}).Keys()
	_, err := odd.Settings()
	require.ErrorContains(t, err, "cannot be determined from ciphertexts (degree 8192, 3 moduli of unknown sizes (parms_id ")
}

func TestObserve_saysWhatIsNotEncrypted(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty":         {},
		"text":          []byte("text"),
		"no ciphertext": {1<<3 | 2, 1, 1},
		"short":         {2<<3 | 2, 1, 1},
	} {
		_, err := ckks.Observe(sent(data))
		require.ErrorContains(t, err, "read the parameters of a ciphertext: ", name)
	}
	_, err := ckks.Observe(nil)
	require.ErrorContains(t, err, "it has no layers")
}

func TestSettings_Check_allowsWhatIsLeftOpen(t *testing.T) {
	for _, settings := range []ckks.Settings{{}, {Scheme: "ckks"}, {PolyModulusDegree: 4096}, {ScaleBits: 30}} {
		require.NoError(t, settings.Check(), settings)
	}
	for field, settings := range map[string]ckks.Settings{
		"scheme": {Scheme: "BFV"}, "poly_modulus_degree": {PolyModulusDegree: 8000}, "scale_bits": {ScaleBits: 400},
		"coeff_mod_bit_sizes": {CoeffModBitSizes: []int{61}},
	} {
		var wrong *ckks.FieldError
		require.ErrorAs(t, settings.Check(), &wrong)
		require.Equal(t, field, wrong.Field)
	}
}

func BenchmarkKeysOfUnknownModuli(b *testing.B) {
	p, err := ckks.NewParameters(ckks.Settings{CoeffModBitSizes: []int{60, 40, 30, 60}})
	require.NoError(b, err)
	for b.Loop() {
		_ = p.Keys().String()
	}
}
