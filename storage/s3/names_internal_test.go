package s3

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

func TestRecordName_keepsTheOrderOfKeys(t *testing.T) {
	keys := []string{
		"a", "a/", "a/b", "a//b", "/", "//", ".", "..", "../a", "A", "Ab", "ab", " ", "%2F", "\u00e9", "\U0010ffff",
		"\ufffd", "!",
	}
	for length := 118; length < 132; length++ { // around the end of a segment
		keys = append(keys, strings.Repeat("k", length), strings.Repeat("k", length)+"/", strings.Repeat("\u20ac", length/3))
	}
	keys = append(keys, strings.Repeat("k", storage.MaxKeyLength), strings.Repeat("\U0010ffff", storage.MaxKeyLength/4))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = recordName(key)
	}
	require.IsIncreasing(t, names)
	for _, name := range names {
		for _, other := range names {
			require.False(t, strings.HasPrefix(other, name+"/"), "%s is a folder of %s", name, other)
		}
	}
}

func TestRecordName_fitsTheLongestKey(t *testing.T) {
	name := recordName(strings.Repeat("\U0010ffff", storage.MaxKeyLength/4))
	require.LessOrEqual(t, maxPrefix+len(name), 1024)
	for part := range strings.SplitSeq(name, "/") {
		require.LessOrEqual(t, len(part), 255)
	}
}

func TestRecordKey_ignoresForeignObjects(t *testing.T) {
	good := recordName("a/b")
	for _, name := range []string{
		"", "blobs/", "blobs/!", good[:len(good)-1], good + "!", strings.ToUpper(good), "x" + good,
		"blobs//" + good[6:], "blobs/00!",
	} {
		_, ok := recordKey(name)
		require.False(t, ok, name)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a", "a/b", "a")
	f.Add(strings.Repeat("k", 125), strings.Repeat("k", 126), "kk")
	f.Fuzz(func(t *testing.T, one, two, prefix string) {
		if storage.ValidKey(one) != nil || storage.ValidKey(two) != nil {
			return
		}
		first, second := recordName(one), recordName(two)
		require.Equal(t, strings.Compare(one, two), strings.Compare(first, second))
		key, ok := recordKey(first)
		require.True(t, ok)
		require.Equal(t, one, key)
		if strings.HasPrefix(one, prefix) {
			common, after := recordRange(prefix)
			require.True(t, strings.HasPrefix(first, common))
			require.Greater(t, first, after)
		} else if one < prefix && storage.ValidKey(prefix) == nil {
			_, after := recordRange(prefix)
			require.Less(t, first, after)
		}
	})
}

func FuzzRecordKey(f *testing.F) {
	f.Add(recordName("a/b"))
	f.Add("blobs/00!")
	f.Fuzz(func(t *testing.T, name string) {
		if key, ok := recordKey(name); ok {
			require.Equal(t, name, recordName(key))
			require.NoError(t, storage.ValidKey(key))
		}
	})
}
