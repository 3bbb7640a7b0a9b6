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
	Form    string  `json:"form"`
	Shapes  [][]int `json:"shapes"`
	Weights []int64 `json:"weights"`
	Clients []int   `json:"clients"`
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
	settings := ckks.Settings{PolyModulusDegree: p.Degree, CoeffModBitSizes: p.Sizes, ScaleBits: p.Scale}
	a := begin(t, settings, options, ckks.Round{Number: 1})
	for client, examples := range p.Weights {
		update := ckks.Update{Client: fmt.Sprint(client), Examples: examples}
		for k := range p.Shapes {
			data, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("update-%d-%d", client, k)))
			require.NoError(t, err)
			update.Layers = append(update.Layers, ckks.Blob{data})
		}
		require.NoError(t, a.Add(t.Context(), update))
	}
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

// near says that what Python decrypted is the weighted mean.
func near(t *testing.T, distance string) {
	t.Helper()
	worst, err := strconv.ParseFloat(distance, 64)
	require.NoError(t, err)
	require.Less(t, worst, 1e-6)
	t.Logf("greatest distance %.2g", worst)
}

func everybody(p population) population {
	for k := range p.Weights {
		p.Clients = append(p.Clients, k)
	}
	return p
}

func TestTenSEALDecryptsTheMeanOfWhatItEncrypted(t *testing.T) {
	program := peertest.Python(t, newest, numpy)
	settings := []population{
		{Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40},
		{Degree: 8192, Sizes: []int{60, 40, 60}, Scale: 40},
		{Degree: 16384, Sizes: []int{60, 50, 50, 60}, Scale: 50},
	}
	weights := [][]int64{{1, 1000}, {7, 11, 600}, {1, 2, 3, 50, 70, 11, 13, 1200, 17, 64}}
	shapes := map[string][][]int{
		"unbatched": {{2, 2}, {1}},
		"packed":    {{2500, 2}, {4}},
		"vector":    {{9000}, {3}},
	}
	for k, p := range settings {
		for form, layers := range shapes {
			p.Form, p.Shapes, p.Weights, p.Clients = form, layers, weights[k], nil
			p = everybody(p)
			t.Run(fmt.Sprint(p.Sizes, len(p.Weights), form), func(t *testing.T) {
				folder := t.TempDir()
				peer(t, program, "encrypt", folder, p)
				aggregate(t, folder, p, nil)
				near(t, peer(t, program, "decrypt", folder, p))
			})
		}
	}
}

func TestEveryNumberOfClientsAndCompressionIsDecrypted(t *testing.T) {
	program := peertest.Python(t, newest, numpy)
	all := everybody(population{
		Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40, Form: "packed", Shapes: [][]int{{1000}},
		Weights: []int64{1, 2, 3, 50, 70, 11, 13, 1200, 17, 64},
	})
	folder := t.TempDir()
	peer(t, program, "encrypt", folder, all)
	for _, count := range []int{2, 3, 10} {
		for _, compression := range []ckks.Compression{ckks.None, ckks.Zlib, ckks.Zstd} {
			t.Run(fmt.Sprint(count, compression), func(t *testing.T) {
				some := all
				some.Weights = all.Weights[:count]
				text, err := json.Marshal(some)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(folder, "case"), text, 0o600))
				aggregate(t, folder, some, &ckks.Options{Compression: compression})
				near(t, peer(t, program, "decrypt", folder, some))
			})
		}
	}
}

func TestClientsOfSeveralVersionsDecryptTheSameMean(t *testing.T) {
	programs := []string{peertest.Python(t, newest, numpy), peertest.Python(t, older, numpy)}
	all := population{
		Degree: 8192, Sizes: []int{60, 40, 40}, Scale: 40, Form: "vector", Shapes: [][]int{{100}}, Weights: []int64{3, 5},
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
		near(t, peer(t, program, "decrypt", folders[k], all))
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
