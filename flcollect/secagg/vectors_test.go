package secagg_test

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/secagg"
)

// vectorsJSON is what testdata/vectors.py wrote.
//
//go:embed testdata/vectors.json
var vectorsJSON []byte

type vectors struct {
	Masks []struct {
		Seed         []byte
		Modulus, Sum string
		Length       int
		First, Last  []string
	}
	Secrets []struct {
		Secret    []byte
		Threshold int
		Shares    [][]byte
	}
	Pairs []struct {
		Private, Public []string
		Key, Token      string
		Data            []byte
	}
	Means []struct {
		Clipping float64
		Levels   int64
		Clients  int
		Weight   uint64
		Sums     []uint64
		Mean     []string
	}
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	var v vectors
	require.NoError(t, json.Unmarshal(vectorsJSON, &v))
	return v
}

func TestMask_equalsFlowers(t *testing.T) {
	v := readVectors(t)
	require.Len(t, v.Masks, 30)
	for _, c := range v.Masks {
		modulus, err := strconv.ParseUint(c.Modulus, 10, 64)
		require.NoError(t, err)
		for _, wide := range []bool{false, true} {
			if !wide && modulus > 1<<32 {
				continue
			}
			numbers, err := secagg.Mask(c.Seed, modulus, c.Length, wide)
			require.NoError(t, err)
			sum, texts := uint64(0), make([]string, len(numbers))
			for i, n := range numbers {
				sum += n
				texts[i] = strconv.FormatUint(n, 10)
			}
			require.Equal(t, c.First, texts[:4], "modulus %s, wide %v", c.Modulus, wide)
			require.Equal(t, c.Last, texts[len(texts)-4:])
			require.Equal(t, c.Sum, strconv.FormatUint(sum, 10))
		}
	}
}

func TestMask_refusesSeeds(t *testing.T) {
	for _, length := range []int{0, 1, 33} {
		_, err := secagg.Mask(make([]byte, length), 1<<32, 1, false)
		require.ErrorContains(t, err, "needs a multiple of 4")
	}
}

func TestVector_unmask_isTheSameWithManyWorkers(t *testing.T) {
	seeds := make([][]byte, 9)
	for i := range seeds {
		seeds[i] = []byte{byte(i), 1, 2, 3}
	}
	for _, modulus := range []int64{1 << 32, 1 << 40} {
		one, err := secagg.Unmask(t.Context(), 40000, modulus, seeds, true, 1)
		require.NoError(t, err)
		many, err := secagg.Unmask(t.Context(), 40000, modulus, seeds, true, 8)
		require.NoError(t, err)
		require.Equal(t, one, many)
		removed, err := secagg.Unmask(t.Context(), 40000, modulus, seeds, false, 8)
		require.NoError(t, err)
		for i := range removed {
			require.Zero(t, (removed[i]+one[i])&uint64(modulus-1))
		}
		require.NotZero(t, slices.Max(one))
	}
}

func TestCombine_restoresFlowersSecrets(t *testing.T) {
	for _, c := range readVectors(t).Secrets {
		for _, shares := range [][][]byte{c.Shares, c.Shares[:c.Threshold], c.Shares[len(c.Shares)-c.Threshold:]} {
			secret, wrong, err := secagg.Combine(shares, c.Threshold)
			require.NoError(t, err)
			require.Equal(t, c.Secret, secret)
			require.Equal(t, -1, wrong)
		}
		_, _, err := secagg.Combine(c.Shares[1:c.Threshold], c.Threshold)
		require.ErrorContains(t, err, "are needed")
	}
}

func TestSplit_restores(t *testing.T) {
	secret := []byte("a secret of any length that is divided")
	shares := secagg.Split(secret, 3, 6)
	for i := range shares {
		rotated := slices.Concat(shares[i:], shares[:i])
		restored, _, err := secagg.Combine(rotated[:3], 3)
		require.NoError(t, err)
		require.Equal(t, secret, restored)
	}
	if few, _, err := secagg.Combine(shares[:2], 2); err == nil { // padding may be right by chance
		require.NotEqual(t, secret, few)
	}
}

func TestCombine_findsOneWrongShare(t *testing.T) {
	secret := []byte("a secret")
	for place := range 5 {
		shares := secagg.Split(secret, 3, 5)
		shares[place][7] ^= 1
		restored, wrong, err := secagg.Combine(shares, 3)
		require.NoError(t, err)
		require.Equal(t, place, wrong)
		require.Equal(t, secret, restored)
		_, _, err = secagg.Combine(append(slices.Clone(shares[place:place+1]), shares[(place+1)%5], shares[(place+2)%5], shares[(place+3)%5]), 3)
		require.ErrorContains(t, err, "contradict")
	}
}

func TestCombine_refusesShares(t *testing.T) {
	shares := secagg.Split([]byte("x"), 2, 3)
	for name, c := range map[string]struct {
		shares [][]byte
		want   string
	}{
		"short":     {[][]byte{shares[0][:19], shares[1]}, "has 19 bytes"},
		"long":      {[][]byte{make([]byte, 1<<16+4), shares[1]}, "are allowed"},
		"no index":  {[][]byte{make([]byte, 20), shares[1]}, "index 0"},
		"twice":     {[][]byte{shares[0], shares[0]}, "two shares have the index 1"},
		"different": {[][]byte{shares[0], append(slices.Clone(shares[1]), make([]byte, 16)...)}, "differ in length"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := secagg.Combine(c.shares, 2)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAgreeKey_equalsFlowers(t *testing.T) {
	for _, c := range readVectors(t).Pairs {
		for i := range 2 {
			private, err := secagg.ParsePrivate([]byte(c.Private[i]))
			require.NoError(t, err)
			public, err := secagg.ParsePublic([]byte(c.Public[1-i]))
			require.NoError(t, err)
			key, err := secagg.AgreeKey(private, public)
			require.NoError(t, err)
			require.Equal(t, c.Key, string(key))
		}
	}
}

func TestParsePublic_refuses(t *testing.T) {
	pair := readVectors(t).Pairs[0]
	for name, c := range map[string]struct{ data, want string }{
		"text":    {"hello", "not in PEM"},
		"private": {pair.Private[0], `"PRIVATE KEY"`},
		"two":     {pair.Public[0] + pair.Public[1], "follows"},
		"long":    {strings.Repeat("x", 3000), "are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := secagg.ParsePublic([]byte(c.data))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOpen_readsFlowersTokens(t *testing.T) {
	pairs := readVectors(t).Pairs
	for i, c := range pairs {
		data, err := secagg.OpenToken([]byte(c.Key), []byte(c.Token))
		require.NoError(t, err)
		require.Equal(t, c.Data, data)
		_, err = secagg.OpenToken([]byte(pairs[(i+1)%len(pairs)].Key), []byte(c.Token))
		require.ErrorContains(t, err, "not of this sender")
		from, to, again, err := secagg.Parcel(data)
		require.NoError(t, err)
		require.EqualValues(t, uint64(1<<64-1), from)
		require.EqualValues(t, 3, to)
		require.Equal(t, data, again)
	}
}

func TestSeal_opens(t *testing.T) {
	key := []byte(readVectors(t).Pairs[0].Key)
	for length := range 40 {
		data := []byte(strings.Repeat("a", length))
		token, err := secagg.Seal(key, data, secagg.Now())
		require.NoError(t, err)
		opened, err := secagg.OpenToken(key, token)
		require.NoError(t, err)
		require.Equal(t, string(data), string(opened))
		token[len(token)/2] ^= 1
		_, err = secagg.OpenToken(key, token)
		require.Error(t, err)
	}
}

func TestRound_dequantize_equalsFlowers(t *testing.T) {
	for _, c := range readVectors(t).Means {
		mean, err := secagg.Dequantize(secagg.Config{
			Shapes: [][]int{{len(c.Sums)}}, ClippingRange: c.Clipping, QuantizationRange: c.Levels,
		}, c.Sums, c.Weight, c.Clients)
		require.NoError(t, err)
		for i, value := range mean[0].Float64s() {
			want, err := strconv.ParseFloat(c.Mean[i], 64)
			require.NoError(t, err)
			require.Equal(t, want, value)
		}
	}
}

func TestRing_isMutual(t *testing.T) {
	clients := make([]uint64, 20)
	for i := range clients {
		clients[i] = uint64(i) * 7
	}
	neighbours := secagg.Ring(clients, 5)
	require.Len(t, neighbours, 20)
	for id, near := range neighbours {
		require.Len(t, near, 5)
		require.Contains(t, near, id)
		require.True(t, slices.IsSorted(near))
		for _, other := range near {
			require.Contains(t, neighbours[other], id)
		}
	}
	require.Equal(t, clients[:4], secagg.Ring(clients[:4], 4)[7])
}
