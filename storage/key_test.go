package storage_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func TestValidKey_acceptsAnyText(t *testing.T) {
	for _, key := range []string{
		"a", " ", "/", "..", "a/../b", "%2F", "\u00e9", "e\u0301", "\ufffd", "\U0010ffff", "\u2028", "\\",
		strings.Repeat("k", storage.MaxKeyLength), strings.Repeat("\u20ac", storage.MaxKeyLength/3),
	} {
		require.NoError(t, storage.ValidKey(key), "%q", key)
	}
}

func TestValidKey_namesTheFault(t *testing.T) {
	for key, complaint := range map[string]string{
		"":               "it is empty",
		"a\x00":          "byte 1 begins the control character U+0000",
		"ab\n":           "byte 2 begins the control character U+000A",
		"\x7f":           "byte 0 begins the control character U+007F",
		"a\u0085":        "byte 1 begins the control character U+0085",
		"a\xff":          "byte 1 is not UTF-8",
		"\u20ac\xe2\x82": "byte 3 is not UTF-8",
		"\xed\xa0\x80":   "byte 0 is not UTF-8",
		strings.Repeat("k", storage.MaxKeyLength+1): "it has 513 bytes, the most is 512",
	} {
		err := storage.ValidKey(key)
		require.ErrorIs(t, err, storage.ErrInvalidKey, "%q", key)
		require.EqualError(t, err, "storage: invalid key: "+complaint)
	}
}

func TestValidData_namesTheFault(t *testing.T) {
	for data, complaint := range map[string]string{
		"":         "it is empty",
		"{":        "it is not one JSON value",
		"{} {}":    "it is not one JSON value",
		"\"\xff\"": "it is not UTF-8",
		strings.Repeat(" ", storage.MaxDataSize) + "1": "it has 8388609 bytes, the most is 8388608",
	} {
		err := storage.ValidData([]byte(data))
		require.ErrorIs(t, err, storage.ErrInvalidData, "%.40q", data)
		require.EqualError(t, err, "storage: invalid document data: "+complaint)
	}
	require.NoError(t, storage.ValidData([]byte(" null ")))
}

func TestMemoryDocuments_acceptsTheLongestKey(t *testing.T) {
	key := strings.Repeat("k", storage.MaxKeyLength)
	_, err := storage.NewMemoryDocuments().Create(t.Context(), key, []byte(`1`))
	require.NoError(t, err)
	writer, err := storage.NewMemoryBlobs().Create(t.Context(), key)
	require.NoError(t, err)
	_, err = writer.Commit(t.Context())
	require.NoError(t, err)
}

func TestValidKey_shortensAHugeKeyInTheError(t *testing.T) {
	_, err := storage.NewMemoryDocuments().Get(t.Context(), strings.Repeat("k", 1<<20))
	require.ErrorIs(t, err, storage.ErrInvalidKey)
	require.Less(t, len(err.Error()), 2*storage.MaxKeyLength)
}

func TestPrefixed_returnsTheStoreForAnEmptyPrefix(t *testing.T) {
	docs, blobs := storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	require.Same(t, docs, storage.Prefixed(docs, ""))
	require.Same(t, blobs, storage.PrefixedBlobs(blobs, ""))
}

func TestPrefixed_refusesEveryCallWithAnInvalidPrefix(t *testing.T) {
	docs := storage.Prefixed(storage.NewMemoryDocuments(), "two\nlines/")
	_, err := docs.Create(t.Context(), "key", []byte(`1`))
	require.ErrorIs(t, err, storage.ErrInvalidKey)
	_, err = docs.List(t.Context(), "", "", 0)
	require.ErrorIs(t, err, storage.ErrInvalidKey)
	blobs := storage.PrefixedBlobs(storage.NewMemoryBlobs(), "two\nlines/")
	_, err = blobs.Create(t.Context(), "key")
	require.ErrorIs(t, err, storage.ErrInvalidKey)
	for _, err := range blobs.List(t.Context(), "") {
		require.ErrorIs(t, err, storage.ErrInvalidKey)
	}
}

func TestPrefixed_namesTheWholeKeyInErrors(t *testing.T) {
	docs := storage.Prefixed(storage.NewMemoryDocuments(), "channels/")
	_, err := docs.Get(t.Context(), "1")
	require.EqualError(t, err, `get document "channels/1": storage: not found`)
	_, err = docs.Get(t.Context(), "")
	require.EqualError(t, err, `get document "channels/": storage: invalid key: it is empty`)
}

func FuzzValidKey(f *testing.F) {
	for _, key := range []string{"", "a/b", "\x00", "\ufffd", "\xff", "\U0010ffff", strings.Repeat("k", 600)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		want := key != "" && len(key) <= storage.MaxKeyLength && utf8.ValidString(key) &&
			strings.IndexFunc(key, unicode.IsControl) < 0
		err := storage.ValidKey(key)
		require.Equal(t, want, err == nil, "%q: %v", key, err)
		if err != nil {
			require.ErrorIs(t, err, storage.ErrInvalidKey)
			require.True(t, utf8.ValidString(err.Error()))
		}
	})
}
