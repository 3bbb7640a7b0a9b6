package record_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// vector is what testdata/vectors.py has written of one message: what a release of Flower makes of it.
type vector struct {
	Message, Task []byte
	Objects       []string
	Tree          []byte
	Contents      [][]byte
}

// readVectors returns the vectors of a release, by the name of the message.
func readVectors(t testing.TB, release string) map[string]vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "vectors-"+release+".json"))
	require.NoError(t, err)
	var file struct {
		Release  string
		Messages map[string]vector
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Equal(t, release, file.Release)
	require.NotEmpty(t, file.Messages)
	return file.Messages
}

// messages are those of testdata/vectors.py.
func messages(t testing.TB) map[string]record.Message {
	t.Helper()
	kind := func(kind string) record.Metadata {
		return record.Metadata{
			RunID: 1<<63 + 5, Source: record.ServerNode, Destination: math.MaxUint64 - 2, GroupID: "4", TTL: 1800.5, Type: kind,
			CreatedAt: 1_700_000_000.25,
		}
	}
	weight := tensor.FromFloat32s([]float32{0, 1, 2, 3, 4, 5}, 2, 3)
	flags, err := tensor.New(tensor.Bool, []int{2}, []byte{1, 0})
	require.NoError(t, err)
	scalar, err := tensor.New(tensor.Float64, nil, binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.5)))
	require.NoError(t, err)
	steps, err := tensor.New(tensor.Int64, nil, binary.LittleEndian.AppendUint64(nil, 7))
	require.NoError(t, err)
	named, err := record.FromTensors(
		[]string{"conv.weight", "größe\n\"\\\U0001f33b\x7f", "scalar", "again", "none", "steps"},
		weight, flags, scalar, weight, tensor.FromInt64s([]int64{}, 0, 3), steps)
	require.NoError(t, err)
	numbers := make([]byte, 0, 11<<20)
	for i := range 11 << 18 {
		numbers = binary.LittleEndian.AppendUint32(numbers, math.Float32bits(float32(i)))
	}
	big, err := tensor.New(tensor.Float32, []int{11 << 18}, numbers[:12345], numbers[12345:])
	require.NoError(t, err)
	zeros, err := tensor.New(tensor.Float64, []int{12 << 17}, make([]byte, 12<<20))
	require.NoError(t, err)
	large, err := record.FromTensors([]string{"big", "zeros"}, big, zeros)
	require.NoError(t, err)
	failed := kind("evaluate.local")
	failed.ReplyTo = string(bytes.Repeat([]byte("ab"), 32))
	return map[string]record.Message{
		"empty": {Metadata: kind(record.Query), Content: record.Dict{}},
		"train": {Metadata: kind(record.Train), Content: record.Dict{
			{Name: "arrays", Value: named},
			{Name: "metrics", Value: record.Metrics{
				{Name: "loss", Value: 0.0}, {Name: "num-examples", Value: int64(17)}, {Name: "least", Value: int64(math.MinInt64)},
				{Name: "losses", Value: []float64{0.5, 0.25}}, {Name: "ids", Value: []int64{1, -1}},
			}},
			{Name: "config", Value: record.Config{
				{Name: "server-round", Value: int64(3)}, {Name: "lr", Value: 0.1}, {Name: "on", Value: true}, {Name: "off", Value: false},
				{Name: "text", Value: ""}, {Name: "more", Value: "é中"}, {Name: "raw", Value: []byte{0, 255}},
				{Name: "most", Value: uint64(math.MaxUint64)}, {Name: "flags", Value: []bool{true, false}},
				{Name: "words", Value: []string{"a", ""}}, {Name: "blobs", Value: [][]byte{{}, []byte("1")}},
				{Name: "large", Value: []uint64{1 << 63, 1}}, {Name: "zero", Value: int64(0)}, {Name: "nothing", Value: []bool{}},
			}},
			{Name: "empty", Value: record.Config(nil)},
		}},
		"failed": {Metadata: failed, Error: &record.Error{Code: record.CodeAppRaised, Reason: "ValueError: no data"}},
		"chunks": {Metadata: kind(record.Train), Content: record.Dict{{Name: "arrays", Value: large}}},
	}
}

func TestDeflate_isThatOfFlower(t *testing.T) {
	all := messages(t)
	for _, release := range []string{"1.20.0", "1.42.0"} {
		for name, want := range readVectors(t, release) {
			if name == "chunks" && release == "1.20.0" {
				continue // chunks had 20 MiB then
			}
			t.Run(release+"/"+name, func(t *testing.T) {
				m := all[name]
				m.Metadata.MessageID = "left out"
				tree, objects, err := record.Deflate(m)
				require.NoError(t, err)
				var ids []string
				for i, object := range objects {
					ids = append(ids, object.ID)
					if want.Contents != nil {
						require.Equal(t, string(want.Contents[i]), string(bytes.Join(object.Content, nil)))
					}
				}
				require.Equal(t, want.Objects, ids)
				require.Equal(t, want.Objects, slices.Collect(tree.IDs()))
				require.Equal(t, want.Tree, bytes.Join(record.EncodeTree(tree), nil))
				again, err := record.DecodeTree(flower.Blob{want.Tree}, record.Limits{})
				require.NoError(t, err)
				require.Equal(t, tree, again)
			})
		}
	}
}

func TestInflate_returnsWhatWasDeflated(t *testing.T) {
	for name, m := range messages(t) {
		t.Run(name, func(t *testing.T) {
			tree, objects, err := record.Deflate(m)
			require.NoError(t, err)
			received, err := record.Inflate(tree.ID, store(objects).get, record.Limits{})
			require.NoError(t, err)
			m.Metadata.MessageID = tree.ID
			requireSame(t, m, received)
		})
	}
}

func TestEncodeMessage_isThatOfFlower(t *testing.T) {
	all := messages(t)
	for _, c := range []struct {
		release string
		form    record.Form
	}{{"1.42.0", record.Items}, {"1.20.0", record.Items}, {"1.15.0", record.Maps}, {"1.13.1", record.Maps}} {
		for name, want := range readVectors(t, c.release) {
			if want.Message == nil {
				continue
			}
			t.Run(c.release+"/"+name, func(t *testing.T) {
				received, err := record.DecodeMessage(flower.Blob{want.Message[:3], want.Message[3:]}, c.form, record.Limits{})
				require.NoError(t, err)
				sent, err := record.EncodeMessage(all[name], c.form)
				require.NoError(t, err)
				if c.form == record.Maps { // Flower has the values of a map in any order
					requireSame(t, sorted(all[name]), sorted(received))
					received, err = record.DecodeMessage(sent, c.form, record.Limits{})
					require.NoError(t, err)
					require.Len(t, bytes.Join(sent, nil), len(want.Message))
				} else {
					require.Equal(t, string(want.Message), string(bytes.Join(sent, nil)))
				}
				requireSame(t, all[name], received)
			})
		}
	}
}

func TestEncodeTask_isThatOfFlower(t *testing.T) {
	all := messages(t)
	for name, want := range readVectors(t, "1.13.1") {
		if want.Task == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			received, err := record.DecodeTask(flower.Blob{want.Task}, record.Limits{})
			require.NoError(t, err)
			requireSame(t, sorted(all[name]), sorted(received))
			sent, err := record.EncodeTask(all[name])
			require.NoError(t, err)
			require.Len(t, bytes.Join(sent, nil), len(want.Task))
			received, err = record.DecodeTask(sent, record.Limits{})
			require.NoError(t, err)
			requireSame(t, all[name], received)
		})
	}
}

// store holds objects.
type store []record.Object

func (s store) get(id string) (flower.Blob, bool) {
	for _, object := range s {
		if object.ID == id {
			return object.Content, true
		}
	}
	return nil, false
}

// sorted returns a message whose records and values are in the order of their names.
func sorted(m record.Message) record.Message {
	m.Content = slices.Clone(m.Content)
	byName(m.Content)
	for i := range m.Content {
		switch r := m.Content[i].Value.(type) {
		case record.Metrics:
			r = slices.Clone(r)
			byName(r)
			m.Content[i].Value = r
		case record.Config:
			r = slices.Clone(r)
			byName(r)
			m.Content[i].Value = r
		}
	}
	return m
}

func byName[V any](members []record.Named[V]) {
	slices.SortFunc(members, func(a, b record.Named[V]) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
}

// requireSame compares messages; data may lie in other chunks.
func requireSame(t testing.TB, want, got record.Message) {
	t.Helper()
	require.Equal(t, joined(want), joined(got))
}

func joined(m record.Message) record.Message {
	content := record.Dict{}
	for _, member := range m.Content {
		if arrays, ok := member.Value.(record.Arrays); ok {
			whole := record.Arrays{}
			for _, array := range arrays {
				array.Value.Data = flower.Blob{bytes.Join(array.Value.Data, nil)}
				array.Value.Shape = append([]int{}, array.Value.Shape...)
				whole = append(whole, array)
			}
			member.Value = whole
		}
		content = append(content, member)
	}
	m.Content = content
	return m
}
