package ckks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/peertest"
)

// The TenSEALs that clients have: with SEAL 4.3, and with SEAL 4.1.
const (
	newest = "tenseal==0.3.18"
	older  = "tenseal==0.3.16"
	numpy  = "numpy==2.2.6"
)

// population is what testdata/peer.py reads.
type population struct {
	Degree  int     `json:"degree"`
	Sizes   []int   `json:"sizes"`
	Scale   int     `json:"scale"`
	Galois  bool    `json:"galois"` // whether they have these keys, which are large
	Layers  []layer `json:"layers"`
	Weights []int64 `json:"weights"`
	Clients []int   `json:"clients"`
}

// layer is a layer of their models: its form is "unbatched", "packed" or "vector".
type layer struct {
	Form  string `json:"form"`
	Shape []int  `json:"shape"`
}

// peer runs a command of testdata/peer.py and returns what it prints.
func peer(t *testing.T, program, command, folder string, p population) string {
	t.Helper()
	input, err := json.Marshal(p)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), program, filepath.Join("testdata", "peer.py"), command, folder)
	var output, trouble bytes.Buffer
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(input), &output, &trouble
	require.NoError(t, run.Run(), "%s", &trouble)
	return strings.TrimSpace(output.String())
}

// aggregate takes in the updates of a folder and puts the mean there.
func aggregate(t *testing.T, folder string, p population, options *ckks.Options) {
	t.Helper()
	aggregateWith(t, folder, p, options, func(strategy.Aggregation) {})
}

// aggregateWith does something more before the mean.
func aggregateWith(t *testing.T, folder string, p population, options *ckks.Options, more func(strategy.Aggregation)) {
	t.Helper()
	settings := ckks.Settings{PolyModulusDegree: p.Degree, CoeffModBitSizes: p.Sizes, ScaleBits: p.Scale}
	a := begin(t, settings, options, strategy.Round{Number: 1})
	for client, examples := range p.Weights {
		update := strategy.Update{Client: fmt.Sprint(client), Examples: examples}
		for k := range p.Layers {
			data, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("update-%d-%d", client, k)))
			require.NoError(t, err)
			update.Model = append(update.Model, pieces(data))
		}
		require.NoError(t, a.Add(t.Context(), update))
	}
	more(a)
	mean, err := a.Finish(t.Context())
	require.NoError(t, err)
	for k, layer := range join(mean) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("result-%d", k)), layer, 0o600))
	}
	context, err := os.ReadFile(filepath.Join(folder, "public"))
	require.NoError(t, err)
	public, err := ckks.ParseContext(context)
	require.NoError(t, err)
	require.NoError(t, public.Check(parameters(t, settings)))
}

// near says that what Python decrypted, layer by layer, is the weighted mean.
func near(t *testing.T, p population, distances string) {
	t.Helper()
	words := strings.Fields(distances)
	require.Len(t, words, len(p.Layers))
	for k, word := range words {
		distance, err := strconv.ParseFloat(word, 64)
		require.NoError(t, err)
		require.Less(t, distance, 1e-6, "%s", p.Layers[k])
	}
	t.Logf("greatest distances %s", words)
}

// decrypt has Python decrypt the mean that is in a folder, and checks it.
func decrypt(t *testing.T, program, folder string, p population) {
	t.Helper()
	keep(t, folder, p)
	near(t, p, peer(t, program, "decrypt", folder, p))
}

// keep puts a case where Python reads it.
func keep(t *testing.T, folder string, p population) {
	t.Helper()
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "case"), text, 0o600))
}

func wholePopulation(p population) population {
	for k := range p.Weights {
		p.Clients = append(p.Clients, k)
	}
	return p
}

// Every number of clients, each with weights of its own, with every set of parameters
// and in every form.
func TestAggregation_returnsAMeanThatTenSEALDecrypts(t *testing.T) {
	program := peertest.Python(t, newest, numpy)
	layers := []layer{
		{"unbatched", []int{2, 2}}, {"unbatched", []int{1}}, {"packed", []int{2500, 2}}, {"packed", []int{4}},
		{"vector", []int{9000}}, {"vector", []int{3}},
	}
	if raced {
		layers = []layer{{"unbatched", []int{1, 2}}, {"packed", []int{2500}}, {"vector", []int{5000}}}
	}
	weights := map[int][]int64{2: {1, 1000}, 3: {7, 11, 600}, 10: {1, 2, 3, 50, 70, 11, 13, 1200, 17, 64}}
	for _, set := range []population{
		{Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40},
		{Degree: 8192, Sizes: []int{60, 40, 60}, Scale: 40},
		{Degree: 16384, Sizes: []int{60, 50, 50, 60}, Scale: 50},
	} {
		t.Run(fmt.Sprint(set.Sizes), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			set.Layers, set.Weights = layers, weights[10]
			peer(t, program, "encrypt", folder, wholePopulation(set))
			for count, weights := range weights {
				t.Run(fmt.Sprint(count, " clients"), func(t *testing.T) {
					set.Weights = weights
					aggregate(t, folder, set, nil)
					decrypt(t, program, folder, set)
				})
			}
		})
	}
}

func TestAggregation_isDecryptedForEveryNumberOfClients(t *testing.T) {
	program := peertest.Python(t, newest, numpy)
	all := wholePopulation(population{
		Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40, Galois: true, Layers: []layer{{"packed", []int{1000}}},
		Weights: []int64{1, 2, 3, 50, 70, 11, 13, 1200, 17, 64},
	})
	folder := t.TempDir()
	peer(t, program, "encrypt", folder, all)
	counts := []int{2, 3, 10}
	if raced {
		counts = []int{2}
	}
	for _, count := range counts {
		for _, compression := range []ckks.Compression{ckks.None, ckks.Zlib, ckks.Zstd} {
			t.Run(fmt.Sprint(count, compression), func(t *testing.T) {
				some := all
				some.Weights = all.Weights[:count]
				aggregate(t, folder, some, &ckks.Options{Compression: compression})
				decrypt(t, program, folder, some)
			})
		}
	}
}

func TestAggregation_isDecryptedBySeveralVersions(t *testing.T) {
	programs := []string{peertest.Python(t, newest, numpy), peertest.Python(t, older, numpy)}
	all := population{
		Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40, Layers: []layer{{"vector", []int{100}}}, Weights: []int64{3, 5},
	}
	// Each version reads only contexts of its own, so the older one gets a copy of
	// the newer one's with other versions in the headers.
	folders := []string{t.TempDir(), t.TempDir()}
	all.Clients = []int{0}
	peer(t, programs[0], "encrypt", folders[0], all)
	secret, err := os.ReadFile(filepath.Join(folders[0], "secret"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folders[1], "secret"), olderContext(t, secret), 0o600))
	all.Clients = []int{1}
	peer(t, programs[1], "encrypt", folders[1], all)
	for _, name := range []string{"update-1-0", "model-1.npz"} {
		share(t, folders[1], folders[0], name)
	}
	share(t, folders[0], folders[1], "model-0.npz")
	aggregate(t, folders[0], all, nil)
	share(t, folders[0], folders[1], "result-0")
	for k, program := range programs {
		decrypt(t, program, folders[k], all)
	}
}

// share copies a file from a folder to another.
func share(t *testing.T, from, to, name string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(from, name))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
}

// olderContext returns a secret context as SEAL 4.1 writes it.
func olderContext(t *testing.T, message []byte) []byte {
	t.Helper()
	var made []byte
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeField(message)
		require.Positive(t, n)
		field := message[:n]
		message = message[n:]
		if kind == protowire.BytesType {
			_, _, start := protowire.ConsumeTag(field)
			value, _ := protowire.ConsumeBytes(field[start:])
			switch {
			case bytes.HasPrefix(value, []byte{0x5e, 0xa1}):
				value = olderObject(t, value)
			case len(value) > 5:
				value = olderContext(t, value)
			}
			field = protowire.AppendBytes(protowire.AppendTag(nil, number, kind), value)
		}
		made = append(made, field...)
	}
	return made
}

// olderObject returns an object of SEAL as SEAL 4.1 writes it, uncompressed.
func olderObject(t *testing.T, object []byte) []byte {
	t.Helper()
	text := content(t, object)
	text = bytes.ReplaceAll(text, []byte{0x5e, 0xa1, 0x10, 4, 3, 0, 0, 0}, []byte{0x5e, 0xa1, 0x10, 4, 1, 0, 0, 0})
	return (&maker{major: 4, minor: 1}).object(t, text)
}
