package secretfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/secretfile"
)

func TestToken_refusesATruncatedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	token, fresh, err := secretfile.Token(name)
	require.NoError(t, err)
	require.True(t, fresh)
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	for length := range len(whole) {
		require.NoError(t, os.WriteFile(name, whole[:length], 0o600))
		found, fresh, err := secretfile.Token(name)
		require.False(t, fresh)
		if length == len(token) { // only the line feed is gone
			require.NoError(t, err)
			require.Equal(t, token, found)
			continue
		}
		require.ErrorContains(t, err, name, "%d bytes", length)
		require.ErrorContains(t, err, "restore the file from a backup, or remove it")
		left, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, whole[:length], left)
	}
}

func TestToken_acceptsAChosenOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "token")
	for content, want := range map[string]string{"s3cret": "s3cret", "SECRET\n": "SECRET", " a token of my own ": "a token of my own"} {
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		token, fresh, err := secretfile.Token(name)
		require.NoError(t, err)
		require.False(t, fresh)
		require.Equal(t, want, token)
	}
}
