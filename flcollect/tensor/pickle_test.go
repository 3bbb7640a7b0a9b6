package tensor_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
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

// writers are the two ways to write models.
func writers() map[string]func(io.Writer, ...tensor.Tensor) error {
	return map[string]func(io.Writer, ...tensor.Tensor) error{
		"npz": func(w io.Writer, arrays ...tensor.Tensor) error {
			var named []tensor.Named
			for k, array := range arrays {
				named = append(named, tensor.Named{Name: string(rune('a' + k)), Tensor: array})
			}
			return tensor.WriteNPZ(w, named...)
		},
		"pickle": tensor.WritePickle,
	}
}

// record keeps what is written: large pieces as they came, the rest as a copy.
type record struct {
	pieces [][]byte
	size   int64
}

func (r *record) Write(p []byte) (int, error) {
	if len(p) < 1<<16 {
		p = bytes.Clone(p)
	}
	r.pieces, r.size = append(r.pieces, p), r.size+int64(len(p))
	return len(p), nil
}

func (r *record) ReadAt(p []byte, from int64) (n int, err error) {
	for _, piece := range r.pieces {
		if from < int64(len(piece)) {
			n += copy(p[n:], piece[from:])
		}
		from = max(0, from-int64(len(piece)))
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

func TestWritePickle_doesNotCopy(t *testing.T) {
	chunks := [][]byte{make([]byte, 8<<20), make([]byte, 4<<20), make([]byte, 1<<20)}
	large, err := tensor.New(tensor.Float32, []int{13 << 18}, chunks...)
	require.NoError(t, err)
	for name, write := range writers() {
		require.Less(t, allocated(func() { err = write(io.Discard, large, large) }), uint64(1<<16), name)
		require.NoError(t, err)
		var wrote record
		require.NoError(t, write(&wrote, large))
		var seen int
		for _, piece := range wrote.pieces {
			for _, chunk := range chunks { // the end of a chunk, should a buffer have taken its beginning
				if &piece[len(piece)-1] == &chunk[len(chunk)-1] && len(piece) >= len(chunk)-1<<13 {
					seen++
				}
			}
		}
		require.Equal(t, len(chunks), seen, name)
	}
}

// failing takes so many bytes.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestWritePickle_returnsTheErrorOfTheWriter(t *testing.T) {
	arrays := []tensor.Tensor{
		tensor.FromFloat32s(make([]float32, 2000)),
		tensor.FromFloat32s(make([]float32, 2000), 0+2000),
	}
	for name, write := range writers() {
		var whole bytes.Buffer
		require.NoError(t, write(&whole, arrays...))
		require.NoError(t, write(&failing{whole.Len()}, arrays...))
		for left := 0; left < whole.Len(); left += 97 {
			require.ErrorIs(t, write(&failing{left}, arrays...), errDisk, "%s after %d", name, left)
		}
		require.ErrorIs(t, write(io.Discard, tensor.Tensor{}), tensor.ErrShape)
	}
	require.ErrorContains(t, tensor.WritePickle(&failing{9000}, arrays...), "write array 1: ")
}

// vast is an array beyond 4 GiB that takes 64 MiB.
func vast(t *testing.T) tensor.Tensor {
	t.Helper()
	if testing.Short() {
		t.Skip("-short is given, and this goes through 4 GiB")
	}
	if ^uintptr(0)>>32 == 0 {
		t.Skip("no array of 32-bit machines is beyond 4 GiB")
	}
	chunk := make([]byte, 64<<20)
	chunks := [][]byte{make([]byte, 4)}
	for range 64 {
		chunks = append(chunks, chunk)
	}
	array, err := tensor.New(tensor.Float32, []int{1<<30 + 1}, chunks...)
	require.NoError(t, err)
	return array
}

func TestWriteNPZ_writesBeyond4GiB(t *testing.T) {
	small := tensor.FromFloat32s([]float32{1, 2, 3})
	var file record
	require.NoError(t, tensor.WriteNPZ(&file, tensor.Named{Name: "vast", Tensor: vast(t)},
		tensor.Named{Name: "small", Tensor: small}))

	_, err := tensor.ReadNPZ(&file, file.size, 4<<30)
	require.ErrorIs(t, err, tensor.ErrLimit)
	require.ErrorContains(t, err, `read entry "vast.npy"`)

	archive, err := zip.NewReader(&file, file.size)
	require.NoError(t, err)
	require.Equal(t, uint64(4<<30+4+128), archive.File[0].UncompressedSize64)
	descriptor := make([]byte, 24)
	from, err := archive.File[0].DataOffset()
	require.NoError(t, err)
	_, err = file.ReadAt(descriptor, from+4<<30+4+128)
	require.NoError(t, err)
	require.Equal(t, "PK\x07\x08", string(descriptor[:4]))
	require.Equal(t, archive.File[0].CRC32, binary.LittleEndian.Uint32(descriptor[4:]))
	require.Equal(t, archive.File[0].UncompressedSize64, binary.LittleEndian.Uint64(descriptor[16:]))

	content, err := archive.File[1].Open()
	require.NoError(t, err)
	defer content.Close()
	read, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, string(bytes.Join(tensor.Encode(small), nil)), string(read))
}

func TestWritePickle_writesBeyond4GiB(t *testing.T) {
	var file record
	require.NoError(t, tensor.WritePickle(&file, vast(t)))
	head := file.pieces[0]
	require.Equal(t, byte(0x8e), head[len(head)-9])
	require.Equal(t, uint64(4<<30+4), binary.LittleEndian.Uint64(head[len(head)-8:]))
	require.Equal(t, int64(len(head))+4<<30+4+4, file.size)
	shape := head[bytes.LastIndexByte(head[:bytes.LastIndex(head, []byte("numpy"))], '('):]
	require.Equal(t, "(J\x01\x00\x00\x40t", string(shape[:7]))
}

// python is an array in the input and output of testdata/load.py.
type python struct {
	Name, Dtype string
	Shape       []int
	Bytes       uint32 // the checksum of the elements
}

func describe(arrays []tensor.Named) (all []python) {
	for _, a := range arrays {
		dtype := a.Tensor.DType().String()
		if dtype == "bfloat16" {
			dtype = "void16"
		}
		all = append(all, python{a.Name, dtype, append([]int{}, a.Tensor.Shape()...), crc32.ChecksumIEEE(bits(a.Tensor))})
	}
	return all
}

func TestWriteNPZ_exchangesFilesWithPython(t *testing.T) {
	for _, numpy := range []string{"numpy==1.26.4", "numpy==2.2.6"} {
		t.Run(numpy, func(t *testing.T) {
			program := peertest.Python(t, numpy)
			arrays, folder := zoo(t), t.TempDir()
			var pickled bytes.Buffer
			var bare []tensor.Tensor
			for _, a := range arrays {
				bare = append(bare, a.Tensor)
			}
			require.NoError(t, tensor.WritePickle(&pickled, bare...))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "model.pkl"), pickled.Bytes(), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "model.npz"), writeNPZ(t, arrays...), 0o600))

			command := exec.CommandContext(t.Context(), program, "-W", "error", filepath.Join("testdata", "load.py"), folder)
			var complaints strings.Builder
			command.Stderr = &complaints
			output, err := command.Output()
			require.NoError(t, err, complaints.String())
			var said struct {
				Numpy                      string
				Pickle, Npz, Saved, Packed []python
			}
			require.NoError(t, json.Unmarshal(output, &said))
			require.Equal(t, numpy, "numpy=="+said.Numpy)
			want := describe(arrays)
			require.Equal(t, want, said.Npz)
			for k := range want {
				want[k].Name = ""
			}
			require.Equal(t, want, said.Pickle)

			for file, want := range map[string][]python{"saved.npz": said.Saved, "packed.npz": said.Packed} {
				content, err := os.ReadFile(filepath.Join(folder, file))
				require.NoError(t, err)
				got, err := readNPZ(content, 1<<20)
				require.NoError(t, err)
				require.NotEmpty(t, got)
				require.Equal(t, want, describe(got), file)
			}
		})
	}
}

func TestWritePickle_writesAnEmptyList(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, tensor.WritePickle(&file))
	require.Equal(t, "\x80\x04](e.", file.String())
}
