package ckks_test

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// capturedPrime is the first modulus of the captured fixtures.
const capturedPrime = 134176769

// drawn draws normal numbers and remembers them.
type drawn struct {
	random *rand.Rand
	all    []float64
}

func newDrawn() *drawn { return &drawn{random: rand.New(rand.NewPCG(11, 12))} }

func (d *drawn) normal() float64 {
	d.all = append(d.all, d.random.NormFloat64())
	return d.all[len(d.all)-1]
}

// blurred returns the residues of the first polynomials of the captured clients'
// mean, ciphertext by ciphertext, with the noise and without.
func blurred(t *testing.T, form string, deviation float64, d *drawn) (with, without [][]uint64) {
	t.Helper()
	m := &maker{degree: 2048, moduli: []uint64{capturedPrime}}
	var means [2][][]uint64
	for k := range means {
		a := begin(t, captured, &ckks.Options{MaxAbs: 4, Workers: 3}, strategy.Round{})
		for _, name := range []string{"first", "second"} {
			require.NoError(t, a.Add(t.Context(),
				strategy.Update{Client: name, Examples: 1, Model: sent(read(t, "tenseal", form+"-"+name))}))
		}
		if k == 0 {
			require.NoError(t, a.(*ckks.Aggregation).Blur(t.Context(), deviation, d.normal))
		}
		mean, err := a.Finish(t.Context())
		require.NoError(t, err)
		for _, ciphertext := range parse(t, join(mean)[0]).ciphertexts {
			means[k] = append(means[k], m.residues(t, ciphertext))
		}
	}
	return means[0], means[1]
}

func TestRing_hasTheSlotsOfTenSEAL(t *testing.T) {
	r, key := newRing(2048, capturedPrime), secretKey(t, 2048)
	m := &maker{degree: 2048, moduli: []uint64{capturedPrime}}
	ciphertext := m.residues(t, parse(t, read(t, "tenseal", "vector-first")).ciphertexts[0])
	slots, _ := r.slots(r.polynomial(r.decrypt(ciphertext, key)), 12)
	for j, v := range slots {
		require.InDelta(t, 0.5+float64(j%3), v/(1<<16), 0.4, "slot %d: a vector is repeated", j)
	}
}

func TestNoise_isEqualInTheSlotsOfOneNumber(t *testing.T) {
	const deviation, scale = 3., 1 << 16
	r := newRing(2048, capturedPrime)
	for form, period := range map[string]int{"tensor": 1, "packed": 1024, "vector": 3} {
		t.Run(form, func(t *testing.T) {
			d := newDrawn()
			with, without := blurred(t, form, deviation, d)
			at := 0
			for k := range with {
				require.Equal(t, without[k][2048:], with[k][2048:], "the second polynomial is as it was")
				difference := make([]uint64, r.degree)
				for i := range difference {
					difference[i] = (with[k][i] + r.prime - without[k][i]) % r.prime
				}
				polynomial := r.polynomial(difference)
				slots, imaginary := r.slots(polynomial, 50)
				for j, v := range slots {
					require.InDelta(t, d.all[at+j%period]*deviation, v/scale, deviation/100, "slot %d", j)
					require.InDelta(t, 0, imaginary[j]/scale, deviation/100)
				}
				if period == 1 {
					require.Zero(t, max(polynomial[1], polynomial[2047]), "it is a constant")
					at += 2
					continue
				}
				require.NotZero(t, imaginary[0], "a little of it is in every coefficient")
				at += period + r.degree
			}
			require.Len(t, d.all, at)
		})
	}
}

func TestNoise_usesAllBits(t *testing.T) {
	m, sums := defaults(21), zeros(defaults(21), 1)
	a := begin(t, ckks.Settings{}, nil, strategy.Round{})
	require.NoError(t, a.Add(t.Context(), client(t, m, "a", 1, 1, sums)))
	d := newDrawn()
	const deviation = 1 << 30
	require.NoError(t, a.(*ckks.Aggregation).Blur(t.Context(), deviation, d.normal))
	mean, err := a.Finish(t.Context())
	require.NoError(t, err)

	noise := new(big.Int)
	size := math.Ldexp(deviation, 40)
	for _, g := range d.all {
		whole, _ := big.NewFloat(math.RoundToEven(g * size)).Int(nil)
		noise.Add(noise, whole)
		size /= 1024
	}
	require.Less(t, size, math.Ldexp(1, 24), "down to where a double has all bits")
	got := m.residues(t, parse(t, join(mean)[0]).ciphertexts[0])
	for k, q := range m.moduli {
		modulus := new(big.Int).SetUint64(q)
		want := new(big.Int).Mod(noise, modulus).Uint64()
		for i := k * m.degree; i < (k+1)*m.degree; i++ {
			require.Equal(t, (sums[0][i]+want)%q, got[i])
		}
	}
	require.Equal(t, sums[0][2*m.degree:], got[2*m.degree:])
}

func TestNoise_dependsOnTheGeneratorOnly(t *testing.T) {
	m := small(22)
	message := message{shape: []uint32{5}, scale: m.scale, batch: 7}
	for range 5 {
		ciphertext, _ := m.ciphertext(t)
		message.ciphertexts = append(message.ciphertexts, ciphertext)
	}
	var first [][]byte
	for workers := 1; workers <= 6; workers++ {
		a := begin(t, node, &ckks.Options{MaxAbs: 1, Workers: workers}, strategy.Round{})
		require.NoError(t, a.Add(t.Context(), strategy.Update{Client: "a", Examples: 1, Model: sent(message.bytes())}))
		require.NoError(t, a.(*ckks.Aggregation).Blur(t.Context(), 2, newDrawn().normal))
		mean, err := a.Finish(t.Context())
		require.NoError(t, err)
		if first == nil {
			first = join(mean)
		}
		require.Equal(t, first, join(mean))
	}
}

func TestAggregation_Blur_refusesNoiseThatDoesNotFit(t *testing.T) {
	m := small(23)
	fresh := func() *ckks.Aggregation {
		return begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{Number: 7}).(*ckks.Aggregation)
	}
	a := fresh()
	require.ErrorIs(t, a.Blur(t.Context(), 1, newDrawn().normal), strategy.ErrTooFew)
	require.NoError(t, a.Add(t.Context(), client(t, m, "a", 1000, 1, nil)))
	err := a.Blur(t.Context(), 2, newDrawn().normal) // 23 are left, noise goes up to 34
	require.ErrorIs(t, err, ckks.ErrNoRoom)
	require.ErrorContains(t, err, "blur round 7: ")
	for _, deviation := range []float64{0, -1, math.NaN()} {
		require.ErrorContains(t, a.Blur(t.Context(), deviation, newDrawn().normal), "is not positive")
	}
	require.ErrorIs(t, a.Blur(t.Context(), math.Inf(1), newDrawn().normal), ckks.ErrNoRoom)
	require.NoError(t, a.Blur(t.Context(), 1, newDrawn().normal), "nothing was wrong with the sum")
	_, err = a.Finish(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, a.Blur(t.Context(), 1, newDrawn().normal), strategy.ErrClosed)

	for reason, spoil := range map[string]func(*ckks.Aggregation) error{
		"NaN is drawn": func(a *ckks.Aggregation) error { return a.Blur(t.Context(), 1, math.NaN) },
		"canceled": func(a *ckks.Aggregation) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return a.Blur(ctx, 1, newDrawn().normal)
		},
	} {
		a := fresh()
		require.NoError(t, a.Add(t.Context(), client(t, m, "a", 1, 2, nil)))
		require.ErrorContains(t, spoil(a), reason)
		_, err := a.Finish(t.Context())
		require.ErrorContains(t, err, "blur round 7: ", "half of the noise is none")
		require.ErrorContains(t, err, reason)
	}
}
