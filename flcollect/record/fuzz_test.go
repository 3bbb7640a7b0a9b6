package record_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
)

// requireKnown checks that a decoder's error is of a known kind.
func requireKnown(t *testing.T, err error) {
	t.Helper()
	for _, kind := range []error{record.ErrFormat, record.ErrLimit, record.ErrMissing} {
		if errors.Is(err, kind) {
			return
		}
	}
	require.NoError(t, err, "an error of no known kind")
}

func FuzzDecodeMessage(f *testing.F) {
	for _, release := range []string{"1.13.1", "1.42.0"} {
		for _, v := range readVectors(f, release) {
			f.Add(v.Message, release == "1.13.1", 3)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, maps bool, cut int) {
		form := record.Items
		if maps {
			form = record.Maps
		}
		cut = max(0, min(cut, len(data)))
		m, err := record.DecodeMessage(flower.Blob{data[:cut], data[cut:]}, form, record.Limits{Bytes: 1 << 20, Entries: 1000})
		if err != nil {
			requireKnown(t, err)
			return
		}
		sent, err := record.EncodeMessage(m, form)
		require.NoError(t, err)
		_, err = record.DecodeMessage(sent, form, record.Limits{Bytes: 1 << 21, Entries: 1000})
		require.NoError(t, err, "what was encoded")
		tree, objects, err := record.Deflate(m)
		require.NoError(t, err)
		_, err = record.Inflate(tree.ID, store(objects).get, record.Limits{})
		require.NoError(t, err, "what was deflated")
	})
}

func FuzzDecodeTask(f *testing.F) {
	for _, v := range readVectors(f, "1.13.1") {
		f.Add(v.Task)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := record.DecodeTask(flower.Blob{data}, record.Limits{Bytes: 1 << 20, Entries: 1000})
		if err != nil {
			requireKnown(t, err)
			return
		}
		_, err = record.EncodeTask(m)
		require.NoError(t, err)
	})
}

func FuzzDecodeTree(f *testing.F) {
	for _, v := range readVectors(f, "1.42.0") {
		f.Add(v.Tree)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := record.DecodeTree(flower.Blob{data}, record.Limits{Entries: 1000})
		if err != nil {
			requireKnown(t, err)
			return
		}
		again, err := record.DecodeTree(record.EncodeTree(tree), record.Limits{Entries: 1000})
		require.NoError(t, err)
		require.Equal(t, tree, again)
		for id := range tree.IDs() {
			require.True(t, record.IsID(id))
		}
	})
}

// FuzzInflate changes one object of a message, in place of which an attacker can put any bytes.
func FuzzInflate(f *testing.F) {
	_, objects, err := record.Deflate(messages(f)["train"])
	require.NoError(f, err)
	for i, object := range objects {
		f.Add(i, bytes.Join(object.Content, nil))
	}
	root := objects[len(objects)-1].ID
	f.Fuzz(func(t *testing.T, changed int, content []byte) {
		get := func(id string) (flower.Blob, bool) {
			if id == objects[uint(changed)%uint(len(objects))].ID {
				return flower.Blob{content}, true
			}
			return store(objects).get(id)
		}
		m, err := record.Inflate(root, get, record.Limits{Bytes: 1 << 20, Entries: 1000})
		if err != nil {
			requireKnown(t, err)
			return
		}
		require.Equal(t, root, m.Metadata.MessageID)
	})
}

func FuzzParseHead(f *testing.F) {
	f.Add([]byte("ArrayChunk  3\x00abc"))
	f.Add([]byte("RecordDict " + string(bytes.Repeat([]byte("0a"), 32)) + " 2\x00{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		head, err := record.ParseHead(flower.Blob{content[:len(content)/2], content[len(content)/2:]})
		if err != nil {
			require.ErrorIs(t, err, record.ErrFormat)
			return
		}
		require.True(t, bytes.HasSuffix(content, bytes.Join(head.Body, nil)))
		for _, child := range head.Children {
			require.True(t, record.IsID(child))
		}
	})
}
