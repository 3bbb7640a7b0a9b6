package ckks_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2b"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a TenSEAL message as the tests read and write it, on their own.
type message struct {
	shape       []uint32
	ciphertexts [][]byte
	scale       float64
	batch       uint32
}

func (m message) bytes() []byte {
	var shape, text []byte
	for _, size := range m.shape {
		shape = protowire.AppendVarint(shape, uint64(size))
	}
	text = protowire.AppendTag(text, 1, protowire.BytesType)
	text = protowire.AppendBytes(text, shape)
	for _, ciphertext := range m.ciphertexts {
		text = protowire.AppendTag(text, 2, protowire.BytesType)
		text = protowire.AppendBytes(text, ciphertext)
	}
	text = protowire.AppendTag(text, 3, protowire.Fixed64Type)
	text = protowire.AppendFixed64(text, math.Float64bits(m.scale))
	if m.batch > 0 {
		text = protowire.AppendTag(text, 4, protowire.VarintType)
		text = protowire.AppendVarint(text, uint64(m.batch))
	}
	return text
}

func parse(t testing.TB, text []byte) message {
	t.Helper()
	var m message
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		require.Positive(t, n)
		text = text[n:]
		var field []byte
		switch kind {
		case protowire.BytesType:
			field, n = protowire.ConsumeBytes(text)
		case protowire.Fixed64Type:
			var value uint64
			value, n = protowire.ConsumeFixed64(text)
			m.scale = math.Float64frombits(value)
		default:
			var value uint64
			value, n = protowire.ConsumeVarint(text)
			m.batch = uint32(value)
		}
		require.Positive(t, n)
		text = text[n:]
		switch number {
		case 2:
			m.ciphertexts = append(m.ciphertexts, field)
		case 1:
			for len(field) > 0 {
				value, n := protowire.ConsumeVarint(field)
				require.Positive(t, n)
				m.shape, field = append(m.shape, uint32(value)), field[n:]
			}
		}
	}
	return m
}

// content decompresses an object of SEAL.
func content(t testing.TB, object []byte) []byte {
	t.Helper()
	require.Equal(t, uint64(len(object)), binary.LittleEndian.Uint64(object[8:]))
	var reader io.Reader = bytes.NewReader(object[16:])
	switch object[5] {
	case 1:
		inflated, err := zlib.NewReader(reader)
		require.NoError(t, err)
		reader = inflated
	case 2:
		expanded, err := zstd.NewReader(reader)
		require.NoError(t, err)
		defer expanded.Close()
		reader = expanded
	}
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	return data
}

// sameSum says that a ciphertext is the sum that SEAL came to, but for the scale,
// which is greater by the examples.
func sameSum(t testing.TB, want, got []byte, examples float64) {
	t.Helper()
	sum, mean := content(t, want), content(t, got)
	scale := func(data []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data[57:])) }
	require.Equal(t, scale(sum)*examples, scale(mean))
	copy(sum[57:65], mean[57:65])
	require.True(t, bytes.Equal(sum, mean), "another coefficient, or another layout")
}

// maker makes ciphertexts of random residues, which look as encryptions do.
type maker struct {
	degree  int
	moduli  []uint64
	scale   float64
	major   byte
	minor   byte
	mode    byte
	random  *rand.Rand
	spoiled func(content []byte)
}

// ciphertext returns a ciphertext and its residues.
func (m *maker) ciphertext(t testing.TB) ([]byte, []uint64) {
	t.Helper()
	u64 := binary.LittleEndian.AppendUint64
	name := u64(u64(nil, 2), uint64(m.degree))
	for _, q := range m.moduli {
		name = u64(name, q)
	}
	id := blake2b.Sum256(u64(name, 0))
	text := append(id[:], 1)
	text = u64(u64(u64(text, 2), uint64(m.degree)), uint64(len(m.moduli)))
	text = u64(text, math.Float64bits(m.scale))
	if m.major == 4 {
		text = u64(text, 1)
	}
	count := 2 * len(m.moduli) * m.degree
	text = u64(append(text, 0x5e, 0xa1, 0x10, m.major, m.minor, 0, 0, 0), uint64(24+8*count))
	text = u64(text, uint64(count))
	residues := make([]uint64, count)
	for k := range residues {
		residues[k] = m.random.Uint64N(m.moduli[k/m.degree%len(m.moduli)])
		text = u64(text, residues[k])
	}
	if m.spoiled != nil {
		m.spoiled(text)
	}
	return m.object(t, text), residues
}

// object returns an object with the content.
func (m *maker) object(t testing.TB, content []byte) []byte {
	t.Helper()
	var body bytes.Buffer
	switch m.mode {
	default:
		body.Write(content)
	case 1:
		w := zlib.NewWriter(&body)
		_, err := w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case 2:
		w, err := zstd.NewWriter(&body)
		require.NoError(t, err)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	text := []byte{0x5e, 0xa1, 0x10, m.major, m.minor, m.mode, 0, 0}
	text = binary.LittleEndian.AppendUint64(text, uint64(16+body.Len()))
	return append(text, body.Bytes()...)
}

// weigh adds examples times the residues to a sum, the slow way.
func (m *maker) weigh(sum, residues []uint64, examples int64) {
	for k, c := range residues {
		q := m.moduli[k/m.degree%len(m.moduli)]
		high, low := bits.Mul64(c, uint64(examples))
		low, carry := bits.Add64(low, sum[k], 0)
		_, sum[k] = bits.Div64((high+carry)%q, low, q)
	}
}

// residues returns those of a ciphertext.
func (m *maker) residues(t testing.TB, ciphertext []byte) []uint64 {
	t.Helper()
	data := content(t, ciphertext)
	count := 2 * len(m.moduli) * m.degree
	data = data[len(data)-8*count:]
	residues := make([]uint64, count)
	for k := range residues {
		residues[k] = binary.LittleEndian.Uint64(data[8*k:])
	}
	return residues
}

// defaults makes ciphertexts of the default settings.
func defaults(seed uint64) *maker {
	return &maker{
		degree: 8192, moduli: []uint64{1152921504606830593, 1099510890497}, scale: 1 << 40,
		major: 4, minor: 1, mode: 2, random: rand.New(rand.NewPCG(seed, 1)),
	}
}

// small makes ciphertexts of node's settings.
func small(seed uint64) *maker {
	return &maker{
		degree: 1024, moduli: []uint64{134215681}, scale: 1 << 16,
		major: 4, minor: 1, mode: 2, random: rand.New(rand.NewPCG(seed, 1)),
	}
}
