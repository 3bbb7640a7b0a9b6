package ckks_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// client makes the update of a client with so many ciphertexts, and adds its
// residues to the sums unless they are nil.
func client(t testing.TB, m *maker, name string, examples int64, count int, sums [][]uint64) strategy.Update {
	t.Helper()
	message := message{shape: []uint32{uint32(count)}, scale: m.scale}
	for k := range count {
		ciphertext, residues := m.ciphertext(t)
		message.ciphertexts = append(message.ciphertexts, ciphertext)
		if sums != nil {
			m.weigh(sums[k], residues, examples)
		}
	}
	return strategy.Update{Client: name, Examples: examples, Model: sent(message.bytes())}
}

func zeros(m *maker, count int) [][]uint64 {
	sums := make([][]uint64, count)
	for k := range sums {
		sums[k] = make([]uint64, 2*m.degree*len(m.moduli))
	}
	return sums
}

func TestAggregation_sumsResiduesAndScales(t *testing.T) {
	m, sums := defaults(1), zeros(defaults(1), 3)
	a := begin(t, ckks.Settings{}, nil, strategy.Round{})
	total := int64(0)
	for k, examples := range []int64{1, 1 << 40, 12345, 999_999_999_989} {
		m.mode = byte(k % 3)
		require.NoError(t, a.Add(t.Context(), client(t, m, fmt.Sprint(k), examples, 3, sums)))
		total += examples
	}
	mean, err := a.Finish(t.Context())
	require.NoError(t, err)
	got := parse(t, join(mean)[0])
	require.Equal(t, []uint32{3}, got.shape)
	require.Equal(t, m.scale, got.scale)
	for k, ciphertext := range got.ciphertexts {
		require.Equal(t, sums[k], m.residues(t, ciphertext))
		data := content(t, ciphertext)
		require.Equal(t, m.scale*float64(total), math.Float64frombits(binary.LittleEndian.Uint64(data[57:])))
		require.Zero(t, ciphertext[5], "clients with several compressions are answered with none")
	}
}

func TestAggregation_isIndependentOfTheOrder(t *testing.T) {
	m := small(2)
	var updates []strategy.Update
	for k := range 6 {
		m.major, m.minor, m.mode = 4, byte(1+k%2*2), 2
		updates = append(updates, client(t, m, fmt.Sprint(k), int64(1+k*k), 5, nil))
	}
	var first [][]byte
	for run := range 4 {
		a := begin(t, node, &ckks.Options{MaxAbs: 1, Workers: 1 + run}, strategy.Round{})
		rand.New(rand.NewPCG(3, uint64(run))).Shuffle(len(updates),
			func(i, j int) { updates[i], updates[j] = updates[j], updates[i] })
		var group sync.WaitGroup
		for _, update := range updates {
			group.Go(func() {
				if err := a.Add(context.Background(), update); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		mean, err := a.Finish(t.Context())
		require.NoError(t, err)
		if run == 0 {
			first = join(mean)
		}
		require.Equal(t, first, join(mean))
	}
	ciphertext := parse(t, first[0]).ciphertexts[0]
	require.Equal(t, []byte{3, 6}, ciphertext[3:5], "SEAL 4.1 and 4.3 both read 3.6")
}

func TestAggregation_answersInTheVersionOfTheClients(t *testing.T) {
	for name, test := range map[string]struct{ sent, want [][2]byte }{
		"4.0 alone":   {[][2]byte{{4, 0}, {4, 0}}, [][2]byte{{4, 0}}},
		"3.7 alone":   {[][2]byte{{3, 7}}, [][2]byte{{3, 7}}},
		"3.7 and 4.1": {[][2]byte{{4, 1}, {3, 7}}, [][2]byte{{3, 7}}},
		"4.1 and 4.3": {[][2]byte{{4, 1}, {4, 3}}, [][2]byte{{3, 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, sums := small(4), zeros(small(4), 1)
			a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
			for k, version := range test.sent {
				m.major, m.minor = version[0], version[1]
				require.NoError(t, a.Add(t.Context(), client(t, m, fmt.Sprint(k), 3, 1, sums)))
			}
			mean, err := a.Finish(t.Context())
			require.NoError(t, err)
			ciphertext := parse(t, join(mean)[0]).ciphertexts[0]
			require.Equal(t, test.want[0][:], ciphertext[3:5])
			require.Equal(t, sums[0], m.residues(t, ciphertext))
		})
	}
}

func TestAggregation_Add_keepsTheSumOnABadUpdate(t *testing.T) {
	put := func(at int, value uint64) func([]byte) {
		return func(content []byte) { binary.LittleEndian.PutUint64(content[at:], value) }
	}
	good := func() *maker { return small(5) }
	spoil := func(with func([]byte)) func(*maker) { return func(m *maker) { m.spoiled = with } }
	for name, test := range map[string]struct {
		change func(*maker)
		want   string
	}{
		"residue":          {spoil(put(73+24+8*2000, 134215681)), "a coefficient is not below its modulus"},
		"greatest residue": {spoil(put(73+24+8*7, math.MaxUint64)), "a coefficient is not below its modulus"},
		"degree":           {spoil(put(41, 2048)), "its degree is 2048, the job's is 1024"},
		"levels":           {spoil(put(49, 2)), "it has 2 moduli, a fresh ciphertext of the job's [27] bits has 1"},
		"parms_id":         {spoil(put(0, 7)), "its moduli are not the job's, which are those of [27] bits"},
		"polynomials":      {spoil(put(33, 3)), "it has 3 polynomials"},
		"scale":            {spoil(put(57, math.Float64bits(1<<17))), "its scale is 131072 (2^17), the job's is 2^16"},
		"NaN scale":        {spoil(put(57, math.Float64bits(math.NaN()))), "its scale is NaN"},
		"factor":           {spoil(put(65, 2)), "its correction factor is 2"},
		"form":             {spoil(func(content []byte) { content[32] = 0 }), "it is not in NTT form"},
		"count":            {spoil(put(73+16, 5)), "it says that it has 5 coefficients, it has 2048"},
		"nested size":      {spoil(put(73+8, 1<<40)), "a part of it has 1099511627776 bytes"},
		"nested version": {
			spoil(func(content []byte) { content[76] = 3; content[77] = 6 }),
			"a part of it is of version 3.6",
		},
		"version": {func(m *maker) { m.major, m.minor = 5, 0 }, "it was written by SEAL 5.0"},
		"mode":    {func(m *maker) { m.mode = 3 }, "compression 3 is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			m, sums := small(6), zeros(small(6), 4)
			a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
			bad := good()
			test.change(bad)
			message := message{shape: []uint32{4}, scale: m.scale}
			for k := range 4 {
				from := good()
				if k == 2 {
					from = bad
				}
				ciphertext, _ := from.ciphertext(t)
				message.ciphertexts = append(message.ciphertexts, ciphertext)
			}
			update := strategy.Update{Client: "bad", Examples: 7, Model: sent(message.bytes())}
			refused := func() {
				err := a.Add(t.Context(), update)
				require.ErrorIs(t, err, strategy.ErrQuarantined)
				require.ErrorContains(t, err, `add update of "bad": `)
				require.ErrorContains(t, err, "layer 0: ciphertext 2: "+test.want)
			}
			refused() // first, when nothing is known of the model yet
			require.NoError(t, a.Add(t.Context(), client(t, m, "one", 3, 4, sums)))
			refused()
			require.NoError(t, a.Add(t.Context(), client(t, m, "two", 5, 4, sums)))
			mean, err := a.Finish(t.Context())
			require.NoError(t, err)
			for k, ciphertext := range parse(t, join(mean)[0]).ciphertexts {
				require.Equal(t, sums[k], m.residues(t, ciphertext))
			}
		})
	}
}

func TestAggregation_Add_refusesABadMessage(t *testing.T) {
	m := small(7)
	ciphertext, _ := m.ciphertext(t)
	fill := func(change func(*message)) []byte {
		message := message{shape: []uint32{1}, scale: m.scale, ciphertexts: [][]byte{ciphertext}}
		change(&message)
		return message.bytes()
	}
	whole := fill(func(*message) {})
	for name, test := range map[string]struct {
		layer []byte
		want  string
	}{
		"empty":         {nil, "the scale of the message is 0"},
		"cut":           {whole[:len(whole)-3], "ends in the middle"},
		"unknown field": {append(bytes.Clone(whole), 0x48, 1), "no field 9 of wire type 0"},
		"endless":       {append(bytes.Clone(whole), bytes.Repeat([]byte{0xff}, 11)...), "more than 64 bits"},
		"scale": {
			fill(func(m *message) { m.scale = 1 << 30 }),
			"the scale of the message is 1.073741824e+09 (2^30), the job's is 2^16",
		},
		"none": {fill(func(m *message) { m.ciphertexts = nil }), "no ciphertexts"},
		"small": {
			fill(func(m *message) { m.ciphertexts[0] = ciphertext[:40] }),
			"ciphertext 0 has 40 bytes, an encryption cannot have fewer than 3456",
		},
		"shape":      {fill(func(m *message) { m.shape = []uint32{2, 3} }), "neither a tensor nor a vector"},
		"zero":       {fill(func(m *message) { m.shape = []uint32{0} }), "neither a tensor nor a vector"},
		"overflow":   {fill(func(m *message) { m.shape = []uint32{1 << 31, 1 << 31, 4} }), "neither a tensor nor a vector"},
		"batch":      {fill(func(m *message) { m.batch = 513 }), "the batch size is 513, a ciphertext has 512 slots"},
		"dimensions": {fill(func(m *message) { m.shape = make([]uint32, 100) }), "more numbers than there can be"},
	} {
		t.Run(name, func(t *testing.T) {
			a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
			err := a.Add(t.Context(), strategy.Update{Client: "c", Examples: 1, Model: sent(whole, test.layer)})
			require.ErrorIs(t, err, strategy.ErrQuarantined)
			require.ErrorContains(t, err, `add update of "c": `)
			require.ErrorContains(t, err, "layer 1: ")
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestAggregation_Add_boundsDecompression(t *testing.T) {
	m := defaults(8)
	m.spoiled = func(content []byte) { clear(content[97:]) }
	ciphertext, _ := m.ciphertext(t)
	bomb := m.object(t, make([]byte, 64<<20))
	padded := append(bytes.Clone(bomb), make([]byte, 110_000)...)
	binary.LittleEndian.PutUint64(padded[8:], uint64(len(padded)))
	a := begin(t, ckks.Settings{}, nil, strategy.Round{})
	for name, object := range map[string][]byte{"zeros": ciphertext, "bomb": bomb, "padded": padded} {
		message := message{shape: []uint32{1}, scale: m.scale, ciphertexts: [][]byte{object}}
		layer := message.bytes()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := a.Add(t.Context(), strategy.Update{Client: name, Examples: 1, Model: sent(layer)})
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, strategy.ErrQuarantined)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), name)
	}
}

func TestAggregation_Add_checksTheShapes(t *testing.T) {
	m := small(9)
	model := client(t, m, "", 1, 2, nil).Model
	a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{Model: model})
	other := client(t, m, "other", 1, 3, nil)
	require.ErrorContains(t, a.Add(t.Context(), other),
		"layer 0: shape [3], batch size 0 and 3 ciphertexts, that of the model has shape [2]")
	more := client(t, m, "more", 1, 2, nil)
	more.Model = append(more.Model, more.Model[0])
	require.ErrorContains(t, a.Add(t.Context(), more), "2 layers, the model has 1")
	none := strategy.Update{Client: "none", Examples: 1}
	require.ErrorContains(t, a.Add(t.Context(), none), "it has no layers")
	require.NoError(t, a.Add(t.Context(), client(t, m, "same", 1, 2, nil)))
	require.ErrorContains(t, a.Add(t.Context(), client(t, m, "same", 1, 2, nil)),
		"the client has sent an update in this round")

	mean, err := ckks.NewStrategy(parameters(t, node), strategy.Policy{}, &ckks.Options{MaxAbs: 1})
	require.NoError(t, err)
	_, err = mean.Begin(strategy.Round{Number: 4, Model: sent([]byte{8})})
	require.ErrorContains(t, err, "begin round 4: model: layer 0: ")
}

func TestAggregation_Add_refusesASumThatWrapsAround(t *testing.T) {
	m := small(10)
	p := parameters(t, node)
	require.Equal(t, int64(1023), p.Room(1)) // 134215681 / 2^17, rounded down
	a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{})
	err := a.Add(t.Context(), client(t, m, "alone", 1024, 1, nil))
	require.ErrorIs(t, err, strategy.ErrQuarantined)
	require.ErrorContains(t, err, "1024 examples are more than the 1023")
	require.NoError(t, a.Add(t.Context(), client(t, m, "a", 1000, 1, nil)))
	err = a.Add(t.Context(), client(t, m, "b", 24, 1, nil))
	require.ErrorIs(t, err, ckks.ErrNoRoom)
	require.NotErrorIs(t, err, strategy.ErrQuarantined)
	require.ErrorContains(t, err, "24 examples beside 1000")
	require.NoError(t, a.Add(t.Context(), client(t, m, "c", 23, 1, nil)))
	for _, examples := range []int64{0, -1, strategy.MaxExamples + 1} {
		require.ErrorIs(t, a.Add(t.Context(), client(t, m, "d", examples, 1, nil)), strategy.ErrQuarantined)
	}
}

func TestAggregation_Finish_requiresAnUpdateAndClosesIt(t *testing.T) {
	m := small(11)
	a := begin(t, node, &ckks.Options{MaxAbs: 1}, strategy.Round{Number: 3})
	_, err := a.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrTooFew)
	require.ErrorContains(t, err, "finish round 3")
	require.ErrorIs(t, a.Add(t.Context(), client(t, m, "late", 1, 1, nil)), strategy.ErrClosed)
	_, err = a.Finish(t.Context())
	require.ErrorIs(t, err, strategy.ErrClosed)
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
}
