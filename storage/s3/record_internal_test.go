package s3

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func sample() record {
	return record{
		Key: "a", Bytes: newID(), Size: 1, MD5: strings.Repeat("0a", 16), SHA256: strings.Repeat("0b", 32),
		Modified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestRecord_readsBackUnchanged(t *testing.T) {
	want := sample()
	data, err := want.encode()
	require.NoError(t, err)
	got, err := decodeRecord("a", data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, storage.BlobInfo{Key: "a", Size: 1, MD5: want.MD5, SHA256: want.SHA256, Modified: want.Modified},
		got.info())
}

func TestRecord_refusesDamage(t *testing.T) {
	for name, damage := range map[string]func(r *record){
		"bytes":    func(r *record) { r.Bytes = "../x" },
		"size":     func(r *record) { r.Size = -1 },
		"md5":      func(r *record) { r.MD5 = "0A" },
		"sha256":   func(r *record) { r.SHA256 = "" },
		"modified": func(r *record) { r.Modified = time.Time{} },
	} {
		r := sample()
		damage(&r)
		data, err := r.encode()
		require.NoError(t, err)
		_, err = decodeRecord("a", data)
		require.ErrorIs(t, err, errDamaged, name)
	}
	r := sample()
	data, err := r.encode()
	require.NoError(t, err)
	_, err = decodeRecord("b", data)
	require.ErrorContains(t, err, `of the key "a"`)
	_, err = decodeRecord("a", []byte(strings.Replace(string(data), `"format":1`, `"format":2`, 1)))
	require.ErrorContains(t, err, "format 2, this version reads 1")
}

func TestRecord_staysSmall(t *testing.T) {
	r := sample()
	r.Key = strings.Repeat("\u2028", storage.MaxKeyLength/3)
	data, err := r.encode()
	require.NoError(t, err)
	require.Less(t, len(data), maxSmall)
}

func FuzzRecord(f *testing.F) {
	r := sample()
	data, err := r.encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"format":1,"key":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeRecord("a", data)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := got.encode()
		require.NoError(t, err)
		second, err := decodeRecord("a", again)
		require.NoError(t, err)
		require.Equal(t, got.info(), second.info())
	})
}

func FuzzNote(f *testing.F) {
	n := note{Key: "a", Bytes: []string{newID(), newID()}, Upload: "u"}
	data, err := n.encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"format":1,"key":"a","bytes":["../x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeNote(data)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		require.NotEmpty(t, got.Bytes)
		for _, id := range got.Bytes {
			require.True(t, isID(id))
		}
	})
}
