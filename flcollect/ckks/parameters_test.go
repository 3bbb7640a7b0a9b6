package ckks_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestNewParameters_namesBadSettings(t *testing.T) {
	for name, test := range map[string]struct {
		settings ckks.Settings
		field    string
		reason   string
	}{
		"scheme":    {ckks.Settings{Scheme: "BFV"}, "scheme", `"BFV" is not supported, only CKKS is`},
		"degree":    {ckks.Settings{PolyModulusDegree: 8000}, "poly_modulus_degree", "8000 is not a power of two"},
		"too large": {ckks.Settings{PolyModulusDegree: 65536}, "poly_modulus_degree", "65536"},
		"negative":  {ckks.Settings{PolyModulusDegree: -8192}, "poly_modulus_degree", "-8192"},
		"size":      {ckks.Settings{CoeffModBitSizes: []int{61, 40}}, "coeff_mod_bit_sizes", "61 is not from 2 to 60"},
		"insecure": {
			ckks.Settings{CoeffModBitSizes: []int{60, 60, 60, 39}},
			"coeff_mod_bit_sizes",
			"more than the 218 bits with which degree 8192",
		},
		"no primes": {
			ckks.Settings{CoeffModBitSizes: []int{14, 14}},
			"coeff_mod_bit_sizes",
			"there are 0 primes of 14 bits for degree 8192",
		},
		"scale":    {ckks.Settings{ScaleBits: 99}, "scale_bits", "99 is not from 1 to 98"},
		"no scale": {ckks.Settings{ScaleBits: -1}, "scale_bits", "-1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ckks.NewParameters(test.settings)
			var field *ckks.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, test.field, field.Field)
			require.Contains(t, field.Reason, test.reason)
		})
	}
	for _, settings := range []ckks.Settings{
		{Scheme: "ckks"}, {CoeffModBitSizes: []int{60, 60, 60, 38}}, {
			PolyModulusDegree: 32768,
			CoeffModBitSizes:  []int{60, 60, 60, 60},
		},
	} {
		_, err := ckks.NewParameters(settings)
		require.NoError(t, err)
	}
}

func TestParameters_Room_isWhatTheModuliLeave(t *testing.T) {
	p := parameters(t, ckks.Settings{CoeffModBitSizes: []int{60, 60}})
	require.Equal(t, int64(1<<19-1), p.Room(1))
	require.Equal(t, int64(1<<9-1), p.Room(1024))
	require.Equal(t, int64(1<<53), parameters(t, ckks.Settings{}).Room(1))
	for _, maxAbs := range []float64{0, -1, math.NaN(), math.Inf(1), math.MaxFloat64} {
		require.Zero(t, p.Room(maxAbs))
	}
}

func TestNewStrategy_namesBadOptions(t *testing.T) {
	p := parameters(t, ckks.Settings{CoeffModBitSizes: []int{60, 60}, ScaleBits: 50})
	_, err := ckks.NewStrategy(p, strategy.Policy{}, nil)
	require.ErrorContains(t, err, "scale_bits: 50 leaves no room for numbers up to 1024 below the moduli of [60 60] bits")
	_, err = ckks.NewStrategy(p, strategy.Policy{}, &ckks.Options{MaxAbs: 1, Workers: -1})
	require.ErrorContains(t, err, "workers")
	_, err = ckks.NewStrategy(p, strategy.Policy{}, &ckks.Options{MaxAbs: 1, Compression: 9})
	require.ErrorContains(t, err, "compression")
	_, err = ckks.NewStrategy(nil, strategy.Policy{}, nil)
	require.ErrorContains(t, err, "parameters")
}

func TestAggregation_Add_namesModuliOfAnotherKey(t *testing.T) {
	m := defaults(1)
	m.moduli = []uint64{1152921504606748673, 1099511480321} // SEAL's of [60 40 60]
	a := begin(t, ckks.Settings{}, nil, strategy.Round{})
	err := a.Add(t.Context(), client(t, m, "c", 1, 1, nil))
	require.ErrorContains(t, err,
		"its moduli, which are those of [60 40 60] bits, are not the job's, which are those of [60 40 40] bits")
}
