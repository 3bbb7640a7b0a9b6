package flower

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// encodedAnswer returns the bytes of an answer.
func encodedAnswer(t require.TestingT, a answer) []byte {
	var w wire.Writer
	require.NoError(t, a.reply(&w))
	return bytes.Join(w.Chunks(), nil)
}

// digested returns what a digester makes of a message in pieces of some sizes.
func digested(random *rand.Rand, message []byte) string {
	d := newDigester()
	for len(message) > 0 {
		n := min(len(message), 1+random.IntN(1+random.IntN(2000)))
		d.write(message[:n])
		message = message[n:]
	}
	return d.sum()
}

func TestDigester_sum_isThatOfTheParameters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, made := range answers() {
		message := encodedAnswer(t, made)
		for range 20 {
			got := digested(random, message)
			if fit, ok := made.(*FitRes); ok {
				require.Equal(t, fit.Parameters.Digest(), got, name)
			} else {
				require.Empty(t, got, name)
			}
		}
	}
}

func TestDigester_sum_followsUnusualMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	bytesField := func(field protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), bytes.Join(parts, nil))
	}
	tensor := func(size int) []byte { return bytesField(1, bytes.Repeat([]byte{7}, size)) }
	parameters := func(tensors ...[]byte) []byte { return bytesField(2, tensors...) }
	for name, c := range map[string]struct {
		message []byte
		fit     bool
	}{
		"two parts of parameters": {bytesField(4, parameters(tensor(5)), parameters(tensor(0), tensor(3000))), true},
		"two answers":             {append(bytesField(4, parameters(tensor(9))), bytesField(4, parameters(tensor(1)))...), true},
		"an answer after it":      {append(bytesField(4, parameters(tensor(9))), bytesField(5)...), false},
		"unknown fields": {bytes.Join([][]byte{
			bytesField(99, tensor(3)),
			bytesField(4, bytesField(77, tensor(3)), parameters(bytesField(9, tensor(4)), tensor(2)),
				protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1<<60),
				protowire.AppendFixed64(protowire.AppendTag(nil, 80, protowire.Fixed64Type), 5),
				protowire.AppendFixed32(protowire.AppendTag(nil, 81, protowire.Fixed32Type), 5)),
		}, nil), true},
		"nothing in it": {bytesField(4), true},
	} {
		made, err := decodeAnswer(Blob{c.message})
		require.NoError(t, err, name)
		for range 20 {
			got := digested(random, c.message)
			if fit, ok := made.(*FitRes); ok != c.fit {
				require.Fail(t, name)
			} else if ok {
				require.Equal(t, fit.Parameters.Digest(), got, name)
			} else {
				require.Empty(t, got, name)
			}
			cut := c.message[:len(c.message)-1]
			if _, err := decodeAnswer(Blob{cut}); err != nil {
				require.Empty(t, digested(random, cut), name)
			}
		}
	}
}

// FuzzDigester checks that the digest of every message that is decoded as a FitRes is that
// of its parameters, in whatever pieces it arrives.
func FuzzDigester(f *testing.F) {
	for _, made := range answers() {
		f.Add(encodedAnswer(f, made), uint64(1))
	}
	f.Add([]byte{0x22, 0x04, 0x12, 0x02, 0x0a, 0x00}, uint64(2))
	f.Fuzz(func(t *testing.T, message []byte, seed uint64) {
		got := digested(rand.New(rand.NewPCG(seed, 1)), message)
		made, err := decodeAnswer(Blob{message})
		if fit, ok := made.(*FitRes); ok && err == nil {
			require.Equal(t, fit.Parameters.Digest(), got)
		}
	})
}
