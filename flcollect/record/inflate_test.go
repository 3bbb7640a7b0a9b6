package record_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// forge adds an object whose content is put together by hand, and returns its ID.
func forge(objects *store, kind, body string, children ...string) string {
	content := flower.Blob{fmt.Appendf(nil, "%s %s %d\x00%s", kind, strings.Join(children, ","), len(body), body)}
	object := record.Object{ID: record.ID(content), Content: content}
	*objects = append(*objects, object)
	return object.ID
}

// within returns the ID of a message with the record as the only one, "r".
func within(objects *store, id string) string {
	dict := forge(objects, "RecordDict", fmt.Sprintf(`{"r": %q}`, id), id)
	return forge(objects, "Message", "", dict)
}

func TestInflate_errorNamesObjectAndMember(t *testing.T) {
	absent := strings.Repeat("0a", 32)
	array := `{"dtype": "f", "shape": [], "stype": "s", "arraychunk_ids": [%s]}`
	for name, c := range map[string]struct {
		forge func(objects *store) string
		kind  error
		texts []string
	}{
		"no message": {func(*store) string { return absent }, record.ErrMissing, []string{absent}},
		"another type": {func(o *store) string { return forge(o, "ConfigRecord", "") }, record.ErrFormat,
			[]string{"it is of type ConfigRecord, expected Message"}},
		"unknown type": {func(o *store) string { return within(o, forge(o, "TorchRecord", "")) }, record.ErrFormat,
			[]string{`record "r"`, `objects of type "TorchRecord" are not supported`}},
		"chunk in a message": {func(o *store) string { return within(o, forge(o, "ArrayChunk", "")) }, record.ErrFormat,
			[]string{`record "r"`, "it is of type ArrayChunk, expected ArrayRecord"}},
		"no such array": {func(o *store) string {
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q}`, absent), absent))
		}, record.ErrMissing, []string{`record "r": array "w"`, absent}},
		"a name twice": {func(o *store) string {
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q, "w": %q}`, absent, absent), absent))
		}, record.ErrFormat, []string{`record "r"`, `two members have the name "w"`}},
		"not a child": {func(o *store) string {
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q}`, absent)))
		}, record.ErrFormat, []string{`record "r"`, `member "w"`, "not among the children"}},
		"no such chunk": {func(o *store) string {
			w := forge(o, "Array", fmt.Sprintf(array, "0, 7"), forge(o, "ArrayChunk", "x"))
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q}`, w), w))
		}, record.ErrFormat, []string{`array "w"`, "chunk 1 is child 7 of 1"}},
		"a bomb of chunks": {func(o *store) string {
			w := forge(o, "Array", fmt.Sprintf(array, "0"+strings.Repeat(",0", 10_000)), forge(o, "ArrayChunk", strings.Repeat("x", 1000)))
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q}`, w), w))
		}, record.ErrLimit, []string{`array "w"`, "more than 1000000 bytes"}},
		"a bomb of empty chunks": {func(o *store) string {
			w := forge(o, "Array", fmt.Sprintf(array, "0"+strings.Repeat(",0", 10_000)), forge(o, "ArrayChunk", ""))
			return within(o, forge(o, "ArrayRecord", fmt.Sprintf(`{"w": %q}`, w), w))
		}, record.ErrLimit, []string{`array "w"`, "more than 5000 records"}},
		"a wrong length": {func(o *store) string {
			content := flower.Blob{[]byte("Message  5\x00abc")}
			*o = append(*o, record.Object{ID: record.ID(content), Content: content})
			return record.ID(content)
		}, record.ErrFormat, []string{`the body has "5" bytes, and 3 follow`}},
	} {
		t.Run(name, func(t *testing.T) {
			var objects store
			root := c.forge(&objects)
			_, err := record.Inflate(root, objects.get, record.Limits{Bytes: 1_000_000, Entries: 5000})
			require.ErrorIs(t, err, c.kind)
			for _, text := range c.texts {
				require.ErrorContains(t, err, text)
			}
		})
	}
}

func TestDeflate_preparedArraysAreNeitherHashedNorCopiedAgain(t *testing.T) {
	large := make([]byte, 64<<20)
	for i := range large {
		large[i] = byte(i >> 20)
	}
	one, err := tensor.New(tensor.Uint8, []int{len(large)}, large)
	require.NoError(t, err)
	model, err := record.FromTensors(nil, one)
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	prepared, err := record.Prepare(model)
	require.NoError(t, err)
	runs := testing.AllocsPerRun(50, func() {
		_, _, err = record.Deflate(record.Message{Content: record.Dict{{Name: "arrays", Value: prepared}}})
	})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), "data of arrays is referred to")
	require.Less(t, runs, 200.0)
	_, objects, err := record.Deflate(record.Message{Content: record.Dict{{Name: "arrays", Value: prepared}}})
	require.NoError(t, err)
	require.Equal(t, "Message", mustHead(t, objects[len(objects)-1]).Type)
	require.Len(t, objects, 13+4, "13 chunks of at most 5 MiB, array, record, Dict and message")
	require.Same(t, &large[0], &objects[0].Content[2][0])

	whole, err := record.Inflate(objects[len(objects)-1].ID, store(objects).get, record.Limits{})
	require.NoError(t, err)
	received, ok := whole.Content.Arrays("arrays")
	require.True(t, ok)
	p, err := received.Parameters()
	require.NoError(t, err)
	decoded, err := p.Decode()
	require.NoError(t, err)
	require.Same(t, &large[0], &decoded[0].Chunks()[0][0], "the tensor is a view of what was sent")
}

func mustHead(t *testing.T, object record.Object) record.Head {
	t.Helper()
	head, err := record.ParseHead(object.Content)
	require.NoError(t, err)
	return head
}

func TestDecodeTree_isAtMostFiveLevelsDeep(t *testing.T) {
	tree := record.Tree{ID: strings.Repeat("00", 32)}
	for range 4 {
		tree = record.Tree{ID: tree.ID, Children: []record.Tree{tree}}
	}
	_, err := record.DecodeTree(record.EncodeTree(tree), record.Limits{})
	require.NoError(t, err)
	tree = record.Tree{ID: tree.ID, Children: []record.Tree{tree}}
	_, err = record.DecodeTree(record.EncodeTree(tree), record.Limits{})
	require.ErrorIs(t, err, record.ErrLimit)
	wide := record.Tree{ID: tree.ID, Children: make([]record.Tree, 10)}
	for i := range wide.Children {
		wide.Children[i].ID = tree.ID
	}
	_, err = record.DecodeTree(record.EncodeTree(wide), record.Limits{Entries: 10})
	require.ErrorIs(t, err, record.ErrLimit)
}

func TestArrays_Parameters_namesWhatDiffers(t *testing.T) {
	_, err := record.Arrays{
		{Name: "a", Value: record.Array{SType: flower.NumPy}}, {Name: "b", Value: record.Array{SType: "pickle"}},
	}.Parameters()
	require.EqualError(t, err, `array "b" is encoded as "pickle", array "a" as "numpy.ndarray"`)
	none, err := record.FromParameters(flower.Parameters{Type: "x"}).Parameters()
	require.NoError(t, err)
	require.Equal(t, flower.Parameters{Type: "x"}, none)
}

func TestConfig_Scalars_namesListsThatAreLeftOut(t *testing.T) {
	scalars, lists := record.Config{{Name: "b", Value: []int64{1}}, {Name: "a", Value: int64(1)}}.Scalars()
	require.Equal(t, flower.Config{"a": int64(1)}, scalars)
	require.Equal(t, []string{"b"}, lists)
	require.Equal(t, record.Config{{Name: "a", Value: 1}, {Name: "b", Value: "x"}}, record.FromConfig(flower.Config{"b": "x", "a": 1}))
}

func TestMessage_Reply_holdsAsLongAsTheInstruction(t *testing.T) {
	task := uint64(4)
	reply := record.Message{Metadata: record.Metadata{
		RunID: 3, MessageID: "id", Source: 1, Destination: 9, TTL: 100, CreatedAt: 1000, Type: record.Train, GroupID: "2", SourceTask: &task,
	}}.Reply(1040, record.Dict{})
	require.Equal(t, record.Metadata{
		RunID: 3, ReplyTo: "id", Source: 9, Destination: 1, TTL: 60, CreatedAt: 1040, Type: record.Train, GroupID: "2", DestinationTask: &task,
	}, reply.Metadata)
}
