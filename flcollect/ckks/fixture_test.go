package ckks_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// captured are the settings of the fixtures that TenSEAL wrote.
var captured = ckks.Settings{PolyModulusDegree: 2048, CoeffModBitSizes: []int{27, 26}, ScaleBits: 16}

// node are the settings of those that node-seal wrote.
var node = ckks.Settings{PolyModulusDegree: 1024, CoeffModBitSizes: []int{27}, ScaleBits: 16}

func read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, parts...)...))
	require.NoError(t, err)
	return data
}

func parameters(t testing.TB, settings ckks.Settings) *ckks.Parameters {
	t.Helper()
	p, err := ckks.NewParameters(settings)
	require.NoError(t, err)
	return p
}

func begin(t testing.TB, settings ckks.Settings, options *ckks.Options, round strategy.Round) strategy.Aggregation {
	t.Helper()
	mean, err := ckks.NewStrategy(parameters(t, settings), strategy.Policy{}, options)
	require.NoError(t, err)
	a, err := mean.Begin(round)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// sent returns the model whose layers are the messages.
func sent(messages ...[]byte) strategy.Model {
	model := make(strategy.Model, len(messages))
	for k, message := range messages {
		model[k] = pieces(message)
	}
	return model
}

// pieces returns a layer whose message lies in chunks.
func pieces(chunks ...[]byte) tensor.Tensor {
	size := 0
	for _, chunk := range chunks {
		size += len(chunk)
	}
	layer, err := tensor.New(tensor.Uint8, []int{size}, chunks...)
	if err != nil {
		panic(err)
	}
	return layer
}

// join returns the bytes of every layer in one piece.
func join(model strategy.Model) [][]byte {
	joined := make([][]byte, len(model))
	for k, layer := range model {
		joined[k] = bytes.Join(layer.Chunks(), nil)
	}
	return joined
}

func TestAggregation_agreesWithSEALToTheLastBit(t *testing.T) {
	for _, form := range []string{"tensor", "packed", "vector"} {
		t.Run(form, func(t *testing.T) {
			a := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{})
			for name, examples := range map[string]int64{"first": 3, "second": 2} {
				update := strategy.Update{Client: name, Examples: examples, Model: sent(read(t, "tenseal", form+"-"+name))}
				require.NoError(t, a.Add(t.Context(), update))
			}
			mean, err := a.Finish(t.Context())
			require.NoError(t, err)
			got, want := parse(t, join(mean)[0]), parse(t, read(t, "tenseal", form+"-sum"))
			require.Equal(t, want.shape, got.shape)
			require.Equal(t, want.batch, got.batch)
			require.Equal(t, want.scale, got.scale)
			require.Len(t, got.ciphertexts, len(want.ciphertexts))
			for k := range want.ciphertexts {
				sameSum(t, want.ciphertexts[k], got.ciphertexts[k], 5)
			}
		})
	}
}

func TestAggregation_readsAndEchoesEveryCompression(t *testing.T) {
	for _, name := range []string{"none", "zlib", "zstd"} {
		t.Run(name, func(t *testing.T) {
			a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
			for part, examples := range map[string]int64{"first": 5, "second": 7} {
				message := message{shape: []uint32{2}, scale: 1 << 16, ciphertexts: [][]byte{read(t, "seal", name+"-"+part)}}
				require.NoError(t, a.Add(t.Context(),
					strategy.Update{Client: part, Examples: examples, Model: sent(message.bytes())}))
			}
			mean, err := a.Finish(t.Context())
			require.NoError(t, err)
			want, got := read(t, "seal", name+"-sum"), parse(t, join(mean)[0]).ciphertexts[0]
			require.Equal(t, want[:6], got[:6], "magic, version, and compression")
			sameSum(t, want, got, 12)
		})
	}
}

func TestAggregation_Add_refusesASeededCiphertext(t *testing.T) {
	a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
	message := message{shape: []uint32{1}, scale: 1 << 16, ciphertexts: [][]byte{read(t, "seal", "seeded")}}
	err := a.Add(t.Context(), strategy.Update{Client: "c", Examples: 1, Model: sent(message.bytes())})
	require.ErrorIs(t, err, strategy.ErrQuarantined)
	require.ErrorContains(t, err, `add update of "c"`)
	require.ErrorContains(t, err, "layer 0: ciphertext 0: half of it is the seed")
}

func TestAggregation_Add_readsChunksOfAnySize(t *testing.T) {
	whole := read(t, "tenseal", "tensor-first")
	for _, size := range []int{1, 7, 4096, len(whole) - 1} {
		var chunks [][]byte
		for rest := whole; len(rest) > 0; {
			n := min(size, len(rest))
			chunks, rest = append(chunks, rest[:n], nil), rest[n:]
		}
		var got [2][][]byte
		for k, layer := range [][][]byte{{whole}, chunks} {
			a := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{})
			require.NoError(t, a.Add(t.Context(),
				strategy.Update{Client: "c", Examples: 2, Model: strategy.Model{pieces(layer...)}}))
			mean, err := a.Finish(t.Context())
			require.NoError(t, err)
			got[k] = join(mean)
		}
		require.Equal(t, got[0], got[1])
	}
}

func TestParseContext_readsAPublicContext(t *testing.T) {
	raw := read(t, "tenseal", "public")
	text := []byte(base64.StdEncoding.EncodeToString(raw) + "\n")
	for _, data := range [][]byte{raw, text} {
		c, err := ckks.ParseContext(data)
		require.NoError(t, err)
		require.True(t, c.PublicKey)
		require.NoError(t, c.Check(parameters(t, captured)))
	}
	c, err := ckks.ParseContext(raw)
	require.NoError(t, err)
	require.ErrorContains(t, c.Check(parameters(t, ckks.Settings{})),
		"check context: its degree is 2048, the job's is 8192")
	other := captured
	other.CoeffModBitSizes = []int{28, 26}
	require.ErrorContains(t, c.Check(parameters(t, other)), "its moduli are [")
	other = captured
	other.ScaleBits = 15
	require.ErrorContains(t, c.Check(parameters(t, other)), "its scale is 65536, the job's is 2^15")
}

func TestParseContext_refusesASecretKey(t *testing.T) {
	raw := read(t, "tenseal", "secret")
	for _, data := range [][]byte{raw, []byte(base64.StdEncoding.EncodeToString(raw))} {
		_, err := ckks.ParseContext(data)
		require.ErrorIs(t, err, ckks.ErrSecretKey)
	}
}

func TestParseContext_namesTheFault(t *testing.T) {
	raw := read(t, "tenseal", "public")
	change := func(at int, b byte) []byte {
		data := bytes.Clone(raw)
		data[at] = b
		return data
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":         {nil, "it has no encryption parameters"},
		"not base64":    {[]byte("{}"), "neither a message nor base64"},
		"cut":           {raw[:len(raw)-1], "ends in the middle"},
		"unknown field": {append(bytes.Clone(raw), 0x48, 1), "no field 9 of wire type 0"},
		"no magic":      {change(2, 0), "does not begin as an object of SEAL"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ckks.ParseContext(test.data)
			require.ErrorContains(t, err, "parse context: ")
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestAggregation_Add_endsWithItsContext(t *testing.T) {
	a := begin(t, captured, &ckks.Options{MaxAbs: 4}, strategy.Round{})
	update := strategy.Update{Client: "c", Examples: 1, Model: sent(read(t, "tenseal", "vector-first"))}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := a.Add(ctx, update)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, strategy.ErrQuarantined)
	require.NoError(t, a.Add(t.Context(), update))
}
