package sharedsecret_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/sharedsecret"
)

func TestShow_writesAFileForItsOwnerOnly(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	name := filepath.Join(t.TempDir(), "below", "token")
	sharedsecret.Show(name, []byte("secret\n"), logger)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Empty(t, log.String())
	sharedsecret.Show(name, []byte("another\n"), logger)
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "another\n", string(data))
	require.Contains(t, log.String(), "had other secrets than the store")
	sharedsecret.Show(filepath.Join(name, "below a file"), []byte("secret\n"), logger)
	require.Contains(t, log.String(), "there is no file with them")
	require.NotContains(t, log.String(), "another")
	require.NotContains(t, log.String(), "secret\\n")
}
