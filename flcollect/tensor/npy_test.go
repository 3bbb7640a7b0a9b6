package tensor_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/tensor"
)

// golden is what testdata/make.py wrote.
type golden struct {
	Cases []struct {
		Name, Dtype string
		File        []byte
		Shape       []int
		Values      []string
		Canonical   bool
	}
	Refused []struct {
		Name string
		File []byte
	}
}

func readGolden(t testing.TB) golden {
	t.Helper()
	file, err := os.ReadFile("testdata/npy.json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(file, &g))
	return g
}

// shredded divides a file into chunks of a few bytes.
func shredded(file []byte) [][]byte {
	var chunks [][]byte
	for n := 1; len(file) > 0; n = n%7 + 1 {
		n = min(n, len(file))
		chunks, file = append(chunks, file[:n:n]), file[n:]
		if n == 3 {
			chunks = append(chunks, nil)
		}
	}
	return chunks
}

func TestDecode_readsFilesOfNumPy(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			for _, chunks := range [][][]byte{{c.File}, shredded(c.File)} {
				got, err := tensor.Decode(chunks...)
				require.NoError(t, err)
				require.Equal(t, c.Dtype, got.DType().String())
				require.Equal(t, c.Shape, append([]int{}, got.Shape()...))
				values := got.Float64s()
				require.Len(t, values, len(c.Values))
				for i, text := range c.Values {
					want, err := strconv.ParseFloat(text, 64)
					require.NoError(t, err)
					require.Equal(t, math.Float64bits(want), math.Float64bits(values[i]), "element %d", i)
				}
			}
		})
	}
}

func TestEncode_writesTheFilesOfNumPy(t *testing.T) {
	written := 0
	for _, c := range readGolden(t).Cases {
		if !c.Canonical {
			continue
		}
		written++
		got, err := tensor.Decode(shredded(c.File)...)
		require.NoError(t, err)
		require.Equal(t, string(c.File), string(bytes.Join(tensor.Encode(got), nil)), c.Name)
	}
	require.Greater(t, written, 20)
}

func TestDecode_doesNotCopy(t *testing.T) {
	file := bytes.Join(tensor.Encode(tensor.FromFloat32s(make([]float32, 1<<20))), nil)
	decoded, err := tensor.Decode(file)
	require.NoError(t, err)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tensor.Decode(file); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	require.Less(t, allocated, int64(4096))
	binary.LittleEndian.PutUint32(file[len(file)-4:], math.Float32bits(7))
	require.Equal(t, []float32{7}, decoded.Float32s(1<<20-1, 1, make([]float32, 1)))
}

func TestDecode_namesTheFaultOfAnArray(t *testing.T) {
	reasons := map[string]string{
		"object":  "Python objects",
		"text":    "text",
		"bytes":   "text",
		"complex": "complex",
		"record":  "fields",
	}
	for _, c := range readGolden(t).Refused {
		_, err := tensor.Decode(c.File)
		require.ErrorIs(t, err, tensor.ErrFormat, c.Name)
		require.ErrorContains(t, err, reasons[c.Name])
	}
}

func TestDecode_readsBFloat16AsTwoBytes(t *testing.T) {
	file := bytes.Join(tensor.Encode(tensor.FromFloat32s([]float32{1})), nil)
	for _, descr := range []string{"|V2", "<V2"} {
		brain := append(bytes.Replace(file, []byte("<f4"), []byte(descr), 1)[:len(file)-4], 0x80, 0x3f)
		got, err := tensor.Decode(brain)
		require.NoError(t, err)
		require.Equal(t, tensor.BFloat16, got.DType())
		require.Equal(t, []float64{1}, got.Float64s())
	}
}

func TestDecode_refusesDamagedFiles(t *testing.T) {
	whole := bytes.Join(tensor.Encode(tensor.FromFloat32s([]float32{1, 2, 3})), nil)
	for n := range whole {
		_, err := tensor.Decode(whole[:n])
		require.ErrorIs(t, err, tensor.ErrFormat, "cut at %d", n)
	}
	_, err := tensor.Decode(whole, []byte{0})
	require.ErrorIs(t, err, tensor.ErrFormat)
	for from, to := range map[string]string{
		"(3,)":          "(-3,)",
		"'shape': (3,)": "'shape': (99999999999999999999,)",
		"(3,), ":        "(3,3,3), ",
		"'descr'":       "'shape'",
		"False":         "Maybe",
		"<f4":           "<f3",
		"NUMPY\x01":     "NUMPY\x04",
	} {
		damaged := bytes.Replace(whole, []byte(from), []byte(to), 1)
		require.NotEqual(t, whole, damaged, from)
		binary.LittleEndian.PutUint16(damaged[8:], uint16(len(damaged)-12-10))
		_, err := tensor.Decode(damaged)
		require.ErrorIs(t, err, tensor.ErrFormat, to)
	}
	huge := append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), whole...)
	_, err = tensor.Decode(huge)
	require.ErrorContains(t, err, "a header of 4294967295 bytes")
}

func FuzzDecode(f *testing.F) {
	g := readGolden(f)
	for _, c := range g.Cases {
		f.Add(c.File, uint8(3))
	}
	for _, c := range g.Refused {
		f.Add(c.File, uint8(3))
	}
	f.Fuzz(func(t *testing.T, file []byte, cut uint8) {
		at := min(int(cut), len(file))
		got, err := tensor.Decode(file[:at], file[at:])
		whole, errWhole := tensor.Decode(file)
		require.Equal(t, err == nil, errWhole == nil)
		if err != nil {
			require.ErrorIs(t, err, tensor.ErrFormat)
			return
		}
		again, err := tensor.Decode(tensor.Encode(got)...)
		require.NoError(t, err)
		require.NoError(t, again.SameForm(whole))
		require.Equal(t, bits(whole), bits(again))
		first, rest, err := tensor.DecodeFirst(file[:at], file[at:], file)
		require.NoError(t, err)
		require.Equal(t, bits(whole), bits(first))
		require.Equal(t, file, bytes.Join(rest, nil))
	})
}

func bits(t tensor.Tensor) []byte { return bytes.Join(t.Chunks(), nil) }
