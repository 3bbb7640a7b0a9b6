package flower_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// standard are the encryption parameters that jobs have by default.
var standard = map[string]any{"scheme": "CKKS", "poly_modulus_degree": 8192,
	"coeff_mod_bit_sizes": []int{60, 40, 40}, "scale_bits": 40}

func TestCollector_encryptedUpdates_areAveragedAsPlainOnes(t *testing.T) {
	const rounds = 3
	for _, version := range releases() {
		for name, k := range map[string]kind{
			"packed":    {Sizes: []int{5000, 3}},
			"unbatched": {Sizes: []int{4, 2}, Unbatched: true},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				python := installPrivate(t, version)
				c := startCollector(t, setup{})
				c.start("sealed", private(rounds, 3, map[string]any{"homomorphic": standard}))
				const public = "/job/he/public/sealed"
				k.Server, k.Secret = c.clients, makeKeys(t, python, "--put", c.url+public)
				key, err := os.ReadFile(filepath.Join(filepath.Dir(k.Secret), "public.txt"))
				require.NoError(t, err)
				require.Equal(t, key, c.get(public))
				p := startParties(t, python, k, 1, 20, 300)
				c.awaitResult("sealed")
				p.awaitEnd()
				last := p.requireMeans(rounds, true)
				require.InDeltaSlice(t, last, decrypted(t, python, k, c.weights("adder", "1", "sealed")), nearness)
				for _, r := range c.rounds("sealed") {
					require.Equal(t, phase{3, 3, 0}, r.Fit)
					require.True(t, r.Aggregated)
				}
			})
		}
	}
}

// The original makes keys of [60 40 60], and has [60 40 40] everywhere else.
func TestCollector_moduli_defaultToThoseOfTheClients(t *testing.T) {
	const rounds = 2
	python := installPrivate(t, oldest)
	c := startCollector(t, setup{})
	c.start("open", private(rounds, 2, map[string]any{"homomorphic": map[string]any{}}))
	k := kind{Server: c.clients, Sizes: []int{10}, Secret: makeKeys(t, python, "--sizes", "60", "40", "60")}
	p := startParties(t, python, k, 1, 20)
	c.awaitResult("open")
	p.awaitEnd()
	last := p.requireMeans(rounds, true)
	require.InDeltaSlice(t, last, decrypted(t, python, k, c.weights("adder", "1", "open")), nearness)
}

// The client does not look at models that it could not decrypt.
func TestCollector_keysOfOtherParameters_endTheJob(t *testing.T) {
	python := installPrivate(t, oldest)
	c := startCollector(t, setup{})
	k := kind{Server: c.clients, Sizes: []int{10}, Secret: makeKeys(t, python, "--sizes", "60", "40", "60"), Blind: true}
	interrupted := func(s state) bool {
		return strings.Contains(s.Error, "[60 40 60] bits") && strings.Contains(s.Error, "[60 40 40] bits")
	}
	c.start("named", private(2, 2, map[string]any{"homomorphic": standard}))
	startParties(t, python, k, 1000)
	c.await("named", "interrupted", interrupted)

	c.start("mixed", private(2, 2, map[string]any{"homomorphic": map[string]any{}}))
	startParties(t, python, k, 1000)
	k.Secret, k.Blind = makeKeys(t, python), false
	startParties(t, python, k, 1)
	c.await("mixed", "interrupted", interrupted)
}
