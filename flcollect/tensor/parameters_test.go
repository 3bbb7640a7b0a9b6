package tensor_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/peertest"
)

// loadParameters says what Flower finds in a file.
const loadParameters = `
import pickle, sys, zlib
from flwr.common.typing import Parameters
with open(sys.argv[1], "rb") as file:
    loaded = pickle.load(file)
    assert file.read() == b""
assert type(loaded) is Parameters and vars(loaded).keys() == {"tensors", "tensor_type"}
assert type(loaded.tensors) is list and all(type(t) is bytes for t in loaded.tensors)
assert loaded == pickle.loads(pickle.dumps(loaded))
print(loaded.tensor_type, *(len(t) for t in loaded.tensors), zlib.crc32(b"".join(loaded.tensors)) == int(sys.argv[2]))
`

// ciphertexts are tensors of bytes, short and long, in chunks.
func ciphertexts(t *testing.T) (all []tensor.Tensor) {
	t.Helper()
	for _, chunks := range [][][]byte{
		{},
		{[]byte("short")},
		{bytes.Repeat([]byte{7}, 300), bytes.Repeat([]byte{8}, 70000)},
	} {
		size := 0
		for _, chunk := range chunks {
			size += len(chunk)
		}
		one, err := tensor.New(tensor.Uint8, []int{size}, chunks...)
		require.NoError(t, err)
		all = append(all, one)
	}
	return all
}

func TestWriteParametersPickle_isLoadedByFlower(t *testing.T) {
	for _, version := range []string{"flwr==1.3.0", "flwr==1.11.1"} {
		t.Run(version, func(t *testing.T) {
			program, path := peertest.Python(t, version), filepath.Join(t.TempDir(), "weights.pkl")
			var file bytes.Buffer
			require.NoError(t, tensor.WriteParametersPickle(&file, "homomorphic", ciphertexts(t)...))
			require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
			var whole []byte
			for _, one := range ciphertexts(t) {
				whole = append(whole, bytes.Join(one.Chunks(), nil)...)
			}
			output, err := exec.CommandContext(t.Context(), program, "-c", loadParameters, path,
				fmt.Sprint(crc32.ChecksumIEEE(whole))).CombinedOutput()
			require.NoError(t, err, string(output))
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			require.Equal(t, "homomorphic 0 5 70300 True", lines[len(lines)-1])
		})
	}
}

func TestWriteParametersPickle_doesNotCopy(t *testing.T) {
	large, err := tensor.New(tensor.Uint8, []int{12 << 20}, make([]byte, 8<<20), make([]byte, 4<<20))
	require.NoError(t, err)
	require.Less(t, allocated(func() { err = tensor.WriteParametersPickle(io.Discard, "homomorphic", large, large) }),
		uint64(1<<16))
	require.NoError(t, err)
}

func TestWriteParametersPickle_namesTheFault(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, tensor.WriteParametersPickle(&whole, "t", ciphertexts(t)...))
	for left := 0; left < whole.Len(); left += 97 {
		require.ErrorIs(t, tensor.WriteParametersPickle(&failing{left}, "t", ciphertexts(t)...), errDisk)
	}
	require.ErrorContains(t, tensor.WriteParametersPickle(&failing{1000}, "t", ciphertexts(t)...), "write tensor 2: ")
	require.ErrorContains(t, tensor.WriteParametersPickle(io.Discard, strings.Repeat("t", 256)), "at most 255")
}
