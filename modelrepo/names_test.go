package modelrepo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/modelrepo"
)

func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"w3c", "w3c/sosa", "w3c/sosa/1.0", "w3c/../x", "ab", "docs", "w3c/-/1", "w3c//1",
		"w3c/sosa/1.0/", "w3c\n", ""} {
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
			require.True(t, r == '/' || strings.ContainsRune("-_.+", r) || r < 0x80 &&
				(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'), "%q", r)
		}
		require.LessOrEqual(t, strings.Count(text, "/"), 2)
	})
}

func TestNew_namesTheInvalidField(t *testing.T) {
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

func TestError_readsAsASentence(t *testing.T) {
	documents, blobs := openMemory(t)
	s, err := modelrepo.New(modelrepo.Config{Documents: documents, Blobs: blobs})
	require.NoError(t, err)
	_, err = s.Model(t.Context(), modelrepo.Path{Namespace: "w3c", Model: "sosa"}, nil)
	require.EqualError(t, err, `get model "w3c/sosa": modelrepo: not found: Model 'w3c/sosa' not found.`)
	var refusal *modelrepo.Error
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, "Model 'w3c/sosa' not found.", refusal.Text)
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
