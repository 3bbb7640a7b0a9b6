package flower_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// example is the folder of the example whose clients encrypt.
const example = "../../../examples/private"

// installPrivate returns a Python with a release of Flower and the TenSEAL that goes
// with it: the one with SEAL 4.1, or that with 4.3.
func installPrivate(t testing.TB, version string) string {
	t.Helper()
	takesLong(t)
	if version == oldest {
		return peertest.Python(t, "flwr=="+version, "tenseal==0.3.16")
	}
	return peertest.Python(t, "flwr=="+version, "tenseal==0.3.18")
}

// makeKeys has the example make keys, with arguments of its own, and returns the file
// with the secret one.
func makeKeys(t testing.TB, python string, arguments ...string) string {
	t.Helper()
	folder := t.TempDir()
	run(t, python, filepath.Join("..", example, "keys.py"), append([]string{filepath.Join(folder, "keys")}, arguments...)...)
	return filepath.Join(folder, "keys", "secret.txt")
}

// kind is how parties train. Its fields are options of testdata/private.py, which
// describes them.
type kind struct {
	Server    string  `json:"server"`
	Sizes     []int   `json:"sizes"`
	Reach     float64 `json:"reach"`
	Secret    string  `json:"secret"`
	Unbatched bool    `json:"unbatched"`
	Blind     bool    `json:"blind"`
	Clipping  string  `json:"clipping"`
	Again     bool    `json:"again"`
	Gate      string  `json:"gate"`
}

// parties are clients of private.py, each with a number of examples.
type parties struct {
	t        testing.TB
	folder   string
	examples []int
	clients  []*interop.Process
}

// startParties starts clients that train in the same way. Their reach, if there is
// one, is multiplied by 1, 2, 3 and so on.
func startParties(t testing.TB, python string, k kind, examples ...int) *parties {
	t.Helper()
	p := &parties{t: t, folder: t.TempDir(), examples: examples}
	path, err := filepath.Abs(example)
	require.NoError(t, err)
	for number, n := range examples {
		with := struct {
			kind
			Example  string  `json:"example"`
			Number   int     `json:"number"`
			Examples int     `json:"examples"`
			Folder   string  `json:"folder"`
			Reach    float64 `json:"reach"`
		}{k, path, number, n, p.folder, k.Reach * float64(number+1)}
		text, err := json.Marshal(with)
		require.NoError(t, err)
		p.clients = append(p.clients, interop.StartProcess(t, script(t, python, "private.py", string(text))))
	}
	return p
}

// awaitEnd waits until all have been disconnected.
func (p *parties) awaitEnd() {
	p.t.Helper()
	for _, client := range p.clients {
		require.Zero(p.t, client.AwaitEnd())
	}
}

// awaitFits waits until all have begun their k-th fit.
func (p *parties) awaitFits(k int) {
	p.t.Helper()
	for _, client := range p.clients {
		awaitFit(p.t, client, k)
	}
}

// numbers are those that a client has written down.
func (p *parties) numbers(client int, what string, k int) []float64 {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, strconv.Itoa(client)+"-"+what+"-"+strconv.Itoa(k)+".npy"))
	require.NoError(p.t, err)
	made, err := tensor.Decode(text)
	require.NoError(p.t, err)
	return made.Float64s()
}

// mean is that of what was sent in the k-th fit, weighted by the examples or not.
func (p *parties) mean(k int, weighted bool) []float64 {
	p.t.Helper()
	var mean []float64
	var total float64
	for client, examples := range p.examples {
		sent, weight := p.numbers(client, "sent", k), 1.0
		if weighted {
			weight = float64(examples)
		}
		if mean == nil {
			mean = make([]float64, len(sent))
		}
		for i, number := range sent {
			mean[i] += weight * number
		}
		total += weight
	}
	for i := range mean {
		mean[i] /= total
	}
	return mean
}

// requireMeans checks that what all got after each of the rounds is the mean of what
// they sent in it, and returns the last.
func (p *parties) requireMeans(rounds int, weighted bool) []float64 {
	p.t.Helper()
	var last []float64
	for k := 1; k <= rounds; k++ {
		last = p.mean(k, weighted)
		for client := range p.clients {
			require.InDeltaSlice(p.t, last, p.numbers(client, "got", k), nearness, "client %d, round %d", client, k)
		}
	}
	return last
}

// nearness is how far encrypted numbers may be from plain ones.
const nearness = 1e-6

// decrypted has Python load a result with homomorphic, as Flower would, and decrypt
// it.
func decrypted(t testing.TB, python string, k kind, pickle []byte) []float64 {
	t.Helper()
	name := filepath.Join(t.TempDir(), "result.pkl")
	require.NoError(t, os.WriteFile(name, pickle, 0o600))
	path, err := filepath.Abs(example)
	require.NoError(t, err)
	sizes, err := json.Marshal(k.Sizes)
	require.NoError(t, err)
	var numbers []float64
	require.NoError(t, json.Unmarshal(run(t, python, "opened.py", path, k.Secret, string(sizes), name), &numbers))
	return numbers
}
