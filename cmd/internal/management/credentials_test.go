package management

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/storage"
)

// everything is what an installation with a provider and a gateway inside uses.
var everything = demands{provider: true, gateway: true}

func inStore(documents storage.Documents, dir string) vault {
	return vault{documents: documents, dir: dir, shared: true, needed: everything, log: slog.New(slog.DiscardHandler)}
}

func TestVault_credentials_ofOneStoreAreOne(t *testing.T) {
	documents := storage.NewMemoryDocuments()
	found := make([]Credentials, 10)
	fresh := make([]Credentials, len(found))
	errs := make([]error, len(found))
	dirs := make([]string, len(found))
	var group sync.WaitGroup
	for i := range found {
		dirs[i] = filepath.Join(t.TempDir(), "data")
		group.Go(func() { found[i], fresh[i], errs[i] = inStore(documents, dirs[i]).credentials(t.Context()) })
	}
	group.Wait()
	generated := 0
	for i := range found {
		require.NoError(t, errs[i])
		require.Equal(t, found[0], found[i])
		if fresh[i] != (Credentials{}) {
			generated++
			require.Equal(t, found[0], fresh[i])
		}
		shown, _, err := readCredentials(dirs[i], Credentials{}, demands{})
		require.NoError(t, err)
		require.Equal(t, found[0], shown, "the file is for people")
	}
	require.Equal(t, 1, generated, "one of them has generated the secrets, and prints them")
}

func TestVault_credentials_comeAlongFromAFolder(t *testing.T) {
	dir := t.TempDir()
	alone := vault{dir: dir, needed: everything}
	before, _, err := alone.credentials(t.Context())
	require.NoError(t, err)
	documents := storage.NewMemoryDocuments()
	after, fresh, err := inStore(documents, dir).credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, Credentials{}, fresh)

	other := t.TempDir() // its own secrets are not those of the store
	_, _, err = vault{dir: other, needed: everything}.credentials(t.Context())
	require.NoError(t, err)
	after, _, err = inStore(documents, other).credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestVault_credentials_prefersTheGivenOnes(t *testing.T) {
	documents, dir := storage.NewMemoryDocuments(), t.TempDir()
	before, _, err := inStore(documents, dir).credentials(t.Context())
	require.NoError(t, err)
	config := inStore(documents, dir)
	config.given.DemoPassword = "password for tests"
	after, _, err := config.credentials(t.Context())
	require.NoError(t, err)
	before.DemoPassword = "password for tests"
	require.Equal(t, before, after)
	kept, err := documents.Get(t.Context(), credentialsKey)
	require.NoError(t, err)
	require.NotContains(t, string(kept.Data), "demo_password", "it opens nothing")
}

func TestVault_credentials_showNoneInErrors(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, CredentialsFile), []byte(`"hidden`), 0o600))
	for _, config := range []vault{{dir: dir, needed: everything}, inStore(storage.NewMemoryDocuments(), dir)} {
		_, _, err := config.credentials(t.Context())
		require.ErrorContains(t, err, "it is not a JSON object of secrets")
		require.ErrorContains(t, err, dir)
		require.NotContains(t, err.Error(), "hidden")
	}
}
