package wire_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

func FuzzParseDigests(f *testing.F) {
	f.Add("", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
	f.Add("XrY7u+Ae7tCTyyK7j1rNww==", "md5=:XrY7u+Ae7tCTyyK7j1rNww==:, unknown=:AA==:")
	f.Add("", "sha-256=:AAAA:;q=1,sha-512=::")
	f.Fuzz(func(t *testing.T, md5, repr string) {
		digests, err := wire.ParseDigests(md5, repr)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			require.Zero(t, digests)
			return
		}
		for sum, size := range map[string]int{string(digests.MD5): 16, string(digests.SHA256): 32, string(digests.SHA512): 64} {
			require.Contains(t, []int{0, size}, len(sum))
		}
		if strings.TrimSpace(md5) != "" {
			back, err := wire.ParseDigests(base64.StdEncoding.EncodeToString(digests.MD5), "")
			require.NoError(t, err)
			require.Equal(t, digests.MD5, back.MD5)
		}
	})
}

func TestMergeDigests_refusesContradictions(t *testing.T) {
	one, err := wire.ParseDigests("", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
	require.NoError(t, err)
	other := one
	other.SHA256 = make([]byte, 32)
	_, err = wire.MergeDigests(one, other)
	require.ErrorIs(t, err, modelrepo.ErrInvalid)
	both, err := wire.MergeDigests(one, modelrepo.Digests{MD5: make([]byte, 16)})
	require.NoError(t, err)
	require.Equal(t, one.SHA256, both.SHA256)
	require.Len(t, both.MD5, 16)
}

func FuzzParseMetadata(f *testing.F) {
	for _, text := range []string{"", "filename d29ybGQ=,is_confidential", "a b c", ",", "a,a", "\u00e9 YQ=="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := wire.ParseMetadata(text)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		for key := range pairs {
			require.Contains(t, text, key)
			require.NotContains(t, key, " ")
		}
	})
}

func FuzzParseChecksum(f *testing.F) {
	for _, text := range []string{"", "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "md5 ", "crc32 AAAA", "sha256"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checksum, err := wire.ParseChecksum(text)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		again, err := wire.ParseChecksum(wire.FormatChecksum(checksum))
		require.NoError(t, err)
		require.Equal(t, checksum, again)
	})
}

func TestReadResult_tellsAbsentFromFalse(t *testing.T) {
	header := http.Header{}
	_, found := wire.ReadResult(header, wire.Changed)
	require.False(t, found)
	wire.SetResult(header, wire.Overwrote, false)
	wire.SetResult(header, wire.DefaultSet, true)
	require.Equal(t, "overwrote=?0, default-set=?1", header.Get(wire.Result))
	for name, want := range map[string]bool{wire.Overwrote: false, wire.DefaultSet: true} {
		value, found := wire.ReadResult(header, name)
		require.True(t, found)
		require.Equal(t, want, value)
	}
	header.Set(wire.Result, "changed;q=1,\tother=2")
	value, found := wire.ReadResult(header, wire.Changed)
	require.True(t, found && value, "a member without a value is true")
}
