package sharedsecret_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/sharedsecret"
	"github.com/iotenablers/enablers/storage"
)

func TestChange_letsOneOfManyFirstStartsDecide(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	secrets := make([]string, 20)
	var group sync.WaitGroup
	for i := range secrets {
		group.Go(func() {
			err := sharedsecret.Change(t.Context(), documents, "token", func(old []byte) ([]byte, error) {
				if old != nil {
					secrets[i] = string(old)
					return nil, nil
				}
				secrets[i] = fmt.Sprintf("%q", rand.Text())
				return []byte(secrets[i]), nil
			})
			if err != nil {
				secrets[i] = err.Error()
			}
		})
	}
	group.Wait()
	kept, err := documents.Get(t.Context(), "token")
	require.NoError(t, err)
	for _, secret := range secrets {
		require.Equal(t, string(kept.Data), secret)
	}
}

func TestChange_losesNoChange(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			require.NoError(t, sharedsecret.Change(t.Context(), documents, "count", func(old []byte) ([]byte, error) {
				n := 0
				if old != nil {
					if _, err := fmt.Sscan(string(old), &n); err != nil {
						return nil, err
					}
				}
				return fmt.Append(nil, n+1), nil
			}))
		})
	}
	group.Wait()
	kept, err := documents.Get(t.Context(), "count")
	require.NoError(t, err)
	require.Equal(t, "20", string(kept.Data))
}

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
