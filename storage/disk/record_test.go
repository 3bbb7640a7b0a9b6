package disk

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecodeBlobRecord_reportsAWrongShapeAsDamage(t *testing.T) {
	for _, record := range [][]byte{nil, make([]byte, 8), make([]byte, 9), []byte("short")} {
		_, _, err := decodeDocument(record)
		require.ErrorIs(t, err, errDamaged)
	}
	good := blobRecord{content: contentID{1}, size: 7}.encode()
	_, err := decodeBlobRecord(good)
	require.NoError(t, err)
	negative := bytes.Clone(good)
	negative[len(contentID{})] = 0x80
	for _, record := range [][]byte{nil, good[1:], append(good, 0), make([]byte, len(good)), negative} {
		_, err := decodeBlobRecord(record)
		require.ErrorIs(t, err, errDamaged)
	}
}

func TestStore_reportsDamagedRecordsAndKeepsTheirFiles(t *testing.T) {
	dir := t.TempDir()
	store, err := Open(t.Context(), dir, nil)
	require.NoError(t, err)
	writer, err := store.Blobs().Create(t.Context(), "blob")
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
	require.NoError(t, damage(store, documentsBucket, "document"))
	require.NoError(t, damage(store, blobsBucket, "blob"))
	require.NoError(t, store.Close())

	store, err = Open(t.Context(), dir, nil)
	require.NoError(t, err)
	defer store.Close()
	_, err = store.Documents().Get(t.Context(), "document")
	require.ErrorContains(t, err, `get document "document": storage/disk: damaged record`)
	_, err = store.Documents().Update(t.Context(), "document", 1, []byte(`1`))
	require.ErrorIs(t, err, errDamaged)
	_, err = store.Documents().List(t.Context(), "", "", 0)
	require.ErrorContains(t, err, `read "document": storage/disk: damaged record`)
	_, err = store.Blobs().Open(t.Context(), "blob")
	require.ErrorContains(t, err, `open blob "blob": storage/disk: damaged record`)
	for _, err := range store.Blobs().List(t.Context(), "") {
		require.ErrorContains(t, err, `read "blob": storage/disk: damaged record`)
	}
	empty, err := store.contents.isEmpty()
	require.NoError(t, err)
	require.False(t, empty, "the file that a damaged record meant is not swept")
	require.NoError(t, store.Blobs().Delete(t.Context(), "blob"))
}

func FuzzDecodeDocument(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(encodeDocument(1, []byte(`{}`)))
	f.Fuzz(func(t *testing.T, record []byte) {
		revision, data, err := decodeDocument(record)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		require.NotZero(t, revision)
		require.Equal(t, record, encodeDocument(revision, data))
	})
}

func FuzzDecodeBlobRecord(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(blobRecord{content: contentID{1}, size: 1, modified: 2}.encode())
	f.Fuzz(func(t *testing.T, stored []byte) {
		record, err := decodeBlobRecord(stored)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		require.Equal(t, stored, record.encode())
		require.GreaterOrEqual(t, record.info("key").Size, int64(0))
	})
}

func FuzzParseContentID(f *testing.F) {
	f.Add("")
	f.Add(contentID{1, 2, 3}.String())
	f.Add("ABABABABABABABABABABABABABABABAB")
	f.Fuzz(func(t *testing.T, name string) {
		if id, ok := parseContentID(name); ok {
			require.Equal(t, name, id.String())
		}
	})
}
