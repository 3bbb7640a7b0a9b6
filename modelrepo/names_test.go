package modelrepo_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"w3c", "w3c/sosa", "w3c/sosa/1.0", "w3c/../x", "ab", "docs", "w3c/-/1", "w3c//1", "w3c/sosa/1.0/", "w3c\n", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := modelrepo.ParsePath(text)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			return
		}
		require.Equal(t, text, path.String())
		require.NotContains(t, text, "..//")
		for _, r := range text {
			require.True(t, r == '/' || strings.ContainsRune("-_.+", r) || r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'), "%q", r)
		}
		require.LessOrEqual(t, strings.Count(text, "/"), 2)
	})
}

func FuzzParseDigests(f *testing.F) {
	f.Add("", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
	f.Add("XrY7u+Ae7tCTyyK7j1rNww==", "md5=:XrY7u+Ae7tCTyyK7j1rNww==:, unknown=:AA==:")
	f.Add("", "sha-256=:AAAA:;q=1,sha-512=::")
	f.Fuzz(func(t *testing.T, md5, repr string) {
		digests, err := modelrepo.ParseDigests(md5, repr)
		if err != nil {
			require.ErrorIs(t, err, modelrepo.ErrInvalid)
			require.Zero(t, digests)
			return
		}
		for sum, size := range map[string]int{string(digests.MD5): 16, string(digests.SHA256): 32, string(digests.SHA512): 64} {
			require.Contains(t, []int{0, size}, len(sum))
		}
		if strings.TrimSpace(md5) != "" {
			back, err := modelrepo.ParseDigests(base64.StdEncoding.EncodeToString(digests.MD5), "")
			require.NoError(t, err)
			require.Equal(t, digests.MD5, back.MD5)
		}
	})
}

func FuzzDecodeUpdate(f *testing.F) {
	for _, seed := range []string{`{}`, `{"latestVersion":"1.0"}`, `{"latestVersion":"@unset","mongoUpdates":[{}]}`, `{"latestVersion":1}`, `null`, `[`, `{"a":1}`, `{"latestVersion":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, fault := modelrepo.DecodeUpdate(data, "latestVersion")
		if fault != "" {
			require.Empty(t, value)
			require.True(t, strings.HasPrefix(fault, "Request content was malformed.") || strings.HasPrefix(fault, "Error validating the body of the request: '"), fault)
		}
	})
}

func TestDigestsThatContradictEachOtherAreRefused(t *testing.T) {
	one, err := modelrepo.ParseDigests("", "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")
	require.NoError(t, err)
	other := one
	other.SHA256 = make([]byte, 32)
	_, err = one.And(other)
	require.ErrorIs(t, err, modelrepo.ErrInvalid)
	both, err := one.And(modelrepo.Digests{MD5: make([]byte, 16)})
	require.NoError(t, err)
	require.Equal(t, one.SHA256, both.SHA256)
	require.Len(t, both.MD5, 16)
}

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	documents, blobs := openMemory(t)
	for name, config := range map[string]modelrepo.Config{
		"Documents": {Blobs: blobs},
		"Blobs":     {Documents: documents},
		"Grace":     {Documents: documents, Blobs: blobs, Grace: -1},
		"Settle":    {Documents: documents, Blobs: blobs, Settle: -1},
		"Interval":  {Documents: documents, Blobs: blobs, Interval: -1},
	} {
		_, err := modelrepo.New(config)
		require.ErrorContains(t, err, "Config."+name)
	}
}

func TestErrorsReadAsASentence(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	_, err = s.Model(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, nil)
	require.EqualError(t, err, `get model "w3c/sosa": modelrepo: not found: Model 'w3c/sosa' not found.`)
	var refusal *modelrepo.Error
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, "Model 'w3c/sosa' not found.", refusal.Text)
}
