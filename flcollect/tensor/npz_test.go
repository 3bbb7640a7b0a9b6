package tensor_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// zoo is an array of every form that the golden files have, in several chunks
// where there is something to divide.
func zoo(t testing.TB) []tensor.Named {
	t.Helper()
	var all []tensor.Named
	for k, c := range readGolden(t).Cases {
		array, err := tensor.Decode(shredded(c.File)...)
		require.NoError(t, err)
		all = append(all, tensor.Named{Name: fmt.Sprintf("%d/%s ü:0", k, c.Name), Tensor: array})
	}
	brain, err := tensor.New(tensor.BFloat16, []int{2}, []byte{0x80, 0x3f, 0, 0xc0})
	require.NoError(t, err)
	return append(all, tensor.Named{Name: "bfloat16", Tensor: brain})
}

func writeNPZ(t testing.TB, arrays ...tensor.Named) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, tensor.WriteNPZ(&file, arrays...))
	return file.Bytes()
}

func readNPZ(file []byte, limit int64) ([]tensor.Named, error) {
	return tensor.ReadNPZ(bytes.NewReader(file), int64(len(file)), limit)
}

func requireSame(t testing.TB, want, got []tensor.Named) {
	t.Helper()
	require.Len(t, got, len(want))
	for k := range want {
		require.Equal(t, want[k].Name, got[k].Name)
		require.NoError(t, got[k].Tensor.SameForm(want[k].Tensor), want[k].Name)
		require.Equal(t, bits(want[k].Tensor), bits(got[k].Tensor), want[k].Name)
	}
}

func TestReadNPZ_roundTrips(t *testing.T) {
	for _, arrays := range [][]tensor.Named{zoo(t), nil} {
		file := writeNPZ(t, arrays...)
		require.Equal(t, file, writeNPZ(t, arrays...), "the same arrays make the same bytes")
		got, err := readNPZ(file, 1<<20)
		require.NoError(t, err)
		requireSame(t, arrays, got)
	}
}

// Some readers of .npz files never look at the directory.
func TestWriteNPZ_writesSizesBeforeTheData(t *testing.T) {
	arrays := zoo(t)
	rest := writeNPZ(t, arrays...)
	for _, array := range arrays {
		require.Equal(t, "PK\x03\x04", string(rest[:4]))
		size, name := binary.LittleEndian.Uint32(rest[18:]), binary.LittleEndian.Uint16(rest[26:])
		require.Equal(t, array.Name+".npy", string(rest[30:30+name]))
		require.Zero(t, binary.LittleEndian.Uint16(rest[28:]), "no extra fields")
		file := rest[30+int(name):][:size]
		require.Equal(t, binary.LittleEndian.Uint32(rest[14:]), crc32.ChecksumIEEE(file))
		require.Equal(t, string(bytes.Join(tensor.Encode(array.Tensor), nil)), string(file))
		rest = rest[30+int(name)+int(size):]
	}
	require.Equal(t, "PK\x01\x02", string(rest[:4]))
}

// deflated is an archive whose entries are compressed, with any names.
func deflated(t testing.TB, arrays ...tensor.Named) []byte {
	t.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, array := range arrays {
		into, err := archive.Create(array.Name)
		require.NoError(t, err)
		_, err = into.Write(bytes.Join(tensor.Encode(array.Tensor), nil))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return file.Bytes()
}

func TestReadNPZ_readsCompressedArchives(t *testing.T) {
	arrays := zoo(t)
	got, err := readNPZ(deflated(t, arrays...), 1<<20)
	require.NoError(t, err)
	requireSame(t, arrays, got)
}

func TestReadNPZ_refusesArchivesBeyondTheLimit(t *testing.T) {
	one := tensor.Named{Name: "one", Tensor: tensor.FromFloat32s(make([]float32, 32))}
	two := tensor.Named{Name: "two", Tensor: one.Tensor}
	for _, file := range [][]byte{writeNPZ(t, one, two), deflated(t, one, two)} {
		_, err := readNPZ(file, 2*256)
		require.NoError(t, err)
		_, err = readNPZ(file, 2*256-1)
		require.ErrorIs(t, err, tensor.ErrLimit)
		require.NotErrorIs(t, err, tensor.ErrArchive)
		require.ErrorContains(t, err, `read entry "two`)
		require.ErrorContains(t, err, "256 bytes, at most 255 are left")
		_, err = readNPZ(file, -1)
		require.ErrorIs(t, err, tensor.ErrLimit)
	}
}

// allocated returns the bytes that a call takes from the heap.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReadNPZ_boundsTheMemoryOfBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses 64 MiB")
	}
	bomb := deflated(t, tensor.Named{Name: "bomb", Tensor: tensor.FromFloat32s(make([]float32, 16<<20))})
	require.Less(t, len(bomb), 1<<17)
	for name, damage := range map[string]struct {
		size   uint64
		reason error
	}{
		"honest":    {64<<20 + 128, tensor.ErrLimit},
		"huge":      {1 << 40, tensor.ErrArchive},
		"too small": {1 << 10, tensor.ErrArchive},
	} {
		file := bomb
		if name != "honest" {
			file = sized(t, bomb, damage.size)
		}
		var err error
		took := allocated(func() { _, err = readNPZ(file, 1<<20) })
		require.ErrorIs(t, err, damage.reason, name)
		require.ErrorContains(t, err, `read entry "bomb"`, name)
		require.Less(t, took, uint64(1<<18), name)
	}
}

// sized is an archive whose only entry says another size than it has.
func sized(t testing.TB, file []byte, size uint64) []byte {
	t.Helper()
	old, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	raw, err := old.File[0].OpenRaw()
	require.NoError(t, err)
	entry := old.File[0].FileHeader
	entry.UncompressedSize64 = size
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	into, err := archive.CreateRaw(&entry)
	require.NoError(t, err)
	_, err = io.Copy(into, raw)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return out.Bytes()
}

func TestReadNPZ_refusesWrongSizes(t *testing.T) {
	array := tensor.Named{Name: "a", Tensor: tensor.FromInt64s([]int64{1, 2, 3})}
	for _, file := range [][]byte{writeNPZ(t, array), deflated(t, array)} {
		for _, size := range []uint64{0, 1, 151, 153, 1 << 20, math.MaxUint32, math.MaxUint64} {
			_, err := readNPZ(sized(t, file, size), math.MaxInt64)
			require.ErrorIs(t, err, tensor.ErrArchive, "%d bytes", size)
		}
	}
}

func TestWriteNPZ_requiresRelativeNames(t *testing.T) {
	one := tensor.FromFloat32s([]float32{1})
	for _, name := range []string{"", "/a", "../a", "a/../b", "a//b", `a\b`, "a\x00b", "a\xff"} {
		array := tensor.Named{Name: name, Tensor: one}
		require.ErrorContains(t, tensor.WriteNPZ(io.Discard, array), fmt.Sprintf("write array %q", name))
		_, err := readNPZ(deflated(t, tensor.Named{Name: name + ".npy", Tensor: one}), 1<<20)
		require.ErrorIs(t, err, tensor.ErrArchive, name)
	}
	twice := []tensor.Named{{Name: "a", Tensor: one}, {Name: "b", Tensor: one}, {Name: "a", Tensor: one}}
	require.ErrorContains(t, tensor.WriteNPZ(io.Discard, twice...), "comes twice")
	_, err := readNPZ(deflated(t, twice...), 1<<20)
	require.ErrorContains(t, err, `read entry "a": tensor: bad .npz file: the name comes twice`)
	require.ErrorIs(t, tensor.WriteNPZ(io.Discard, tensor.Named{Name: "none"}), tensor.ErrShape)
	require.ErrorContains(t, tensor.WriteNPZ(io.Discard, tensor.Named{Name: strings.Repeat("n", 1<<16), Tensor: one}),
		"too long")
}

func TestReadNPZ_namesTheFaultOfAnEntry(t *testing.T) {
	for name, change := range map[string]func(*zip.FileHeader){
		"it is encrypted":             func(h *zip.FileHeader) { h.Flags |= 1 },
		"unsupported compression":     func(h *zip.FileHeader) { h.Method = 12 },
		"checksum error":              func(h *zip.FileHeader) { h.CRC32++ },
		"does not begin with the mag": func(h *zip.FileHeader) {},
	} {
		entry := zip.FileHeader{
			Name:               "notes.txt",
			CompressedSize64:   5,
			UncompressedSize64: 5,
			CRC32:              crc32.ChecksumIEEE([]byte("hello")),
		}
		change(&entry)
		var file bytes.Buffer
		archive := zip.NewWriter(&file)
		into, err := archive.CreateRaw(&entry)
		require.NoError(t, err)
		_, err = into.Write([]byte("hello"))
		require.NoError(t, err)
		require.NoError(t, archive.Close())
		_, err = readNPZ(file.Bytes(), 1<<20)
		require.ErrorIs(t, err, tensor.ErrArchive)
		require.ErrorContains(t, err, `read entry "notes.txt": tensor: bad .npz file: `)
		require.ErrorContains(t, err, name)
	}
}

func TestReadNPZ_refusesDamagedArchives(t *testing.T) {
	arrays := []tensor.Named{
		{Name: "a", Tensor: tensor.FromFloat32s([]float32{1, 2})},
		{Name: "b", Tensor: tensor.FromInt64s([]int64{3})},
	}
	file := writeNPZ(t, arrays...)
	for n := range file {
		_, err := readNPZ(file[:n], 1<<20)
		require.ErrorIs(t, err, tensor.ErrArchive, "cut at %d", n)
	}
	refused := 0
	for k := range file {
		damaged := bytes.Clone(file)
		damaged[k] ^= 0x10
		got, err := readNPZ(damaged, 1<<20)
		if err != nil {
			require.True(t, errors.Is(err, tensor.ErrArchive) || errors.Is(err, tensor.ErrLimit), "byte %d: %v", k, err)
			refused++
			continue
		}
		for i := range got { // of the directory, only names have no checksum
			require.Equal(t, bits(arrays[i].Tensor), bits(got[i].Tensor), "byte %d", k)
		}
	}
	require.Greater(t, refused, 2*128)
}

// broken fails from an offset on.
type broken struct {
	io.ReaderAt
	from int64
}

var errDisk = errors.New("the disk is gone")

func (b broken) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > b.from {
		return 0, errDisk
	}
	return b.ReaderAt.ReadAt(p, at)
}

func TestReadNPZ_returnsTheErrorOfTheFile(t *testing.T) {
	file := writeNPZ(t, zoo(t)...)
	for _, from := range []int64{0, 100, int64(len(file)) - 1} {
		_, err := tensor.ReadNPZ(broken{bytes.NewReader(file), from}, int64(len(file)), 1<<20)
		require.ErrorIs(t, err, errDisk)
		require.NotErrorIs(t, err, tensor.ErrArchive)
	}
}

func TestReadNPZ_boundsTheNumberOfEntries(t *testing.T) {
	for _, c := range []struct{ entries, name int }{{1<<16 + 1, 0}, {300, 1<<16 - 30}} {
		var file bytes.Buffer
		archive := zip.NewWriter(&file)
		for k := range c.entries {
			_, err := archive.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(strings.Repeat("n", c.name), k)})
			require.NoError(t, err)
		}
		require.NoError(t, archive.Close())
		_, err := readNPZ(file.Bytes(), 1<<20)
		require.ErrorIs(t, err, tensor.ErrLimit)
		require.ErrorContains(t, err, "read the directory of the archive")
	}
}

func FuzzNPZ(f *testing.F) {
	arrays := zoo(f)
	for k := range arrays {
		f.Add(writeNPZ(f, arrays[k], arrays[len(arrays)-1-k]))
		f.Add(deflated(f, arrays[k]))
	}
	f.Add(writeNPZ(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		const limit = 1 << 16
		got, err := readNPZ(file, limit)
		if err != nil {
			require.True(t, errors.Is(err, tensor.ErrArchive) || errors.Is(err, tensor.ErrLimit), "%v", err)
			return
		}
		size := 0
		for _, array := range got {
			size += array.Tensor.Size()
		}
		require.LessOrEqual(t, size, limit)
		again, err := readNPZ(writeNPZ(t, got...), math.MaxInt64)
		require.NoError(t, err)
		requireSame(t, got, again)
	})
}
