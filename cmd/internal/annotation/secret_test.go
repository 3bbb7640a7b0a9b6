package annotation_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/cmd/internal/annotation"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

const setting = "ANNOTATOR_ENCRYPTION_AUTH_SECRET"

// oldFolder returns a copy of the folder of an annotator without a secret, with
// one channel whose two topics have a user name and a password.
func oldFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "datafolder", "testdata", "annotator"))))
	return dir
}

func file(dir string) string { return filepath.Join(dir, annotation.SecretFile) }

// opened opens the folder, closes it, and returns its secret, what is stored of the
// channel, how its credentials are kept, and the log.
func opened(t *testing.T, dir, given string) (secret, record string, counts manager.StoredCredentials, log string) {
	t.Helper()
	var lines bytes.Buffer
	folder, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	secret, err = annotation.Unlock(t.Context(), annotation.SecretConfig{
		Documents: folder.Documents(), Dir: dir, Secret: given, Setting: setting, Logger: slog.New(slog.NewTextHandler(&lines, nil)),
	})
	require.NoError(t, err)
	doc, err := folder.Documents().Get(t.Context(), "channels/weather")
	require.NoError(t, err)
	counts, err = manager.CountCredentials(t.Context(), folder.Documents(), secret)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	return secret, string(doc.Data), counts, lines.String()
}

// refused opens the folder, which must fail.
func refused(t *testing.T, dir string) string {
	t.Helper()
	folder, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	_, err = annotation.Unlock(t.Context(), annotation.SecretConfig{
		Documents: folder.Documents(), Dir: dir, Setting: setting, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, folder.Close())
	require.Error(t, err)
	return err.Error()
}

func TestUnlock_encryptsOldPasswordsWithAGeneratedSecret(t *testing.T) {
	dir := oldFolder(t)
	secret, record, counts, log := opened(t, dir, "")
	require.Len(t, secret, manager.SecretLength)
	require.NotContains(t, record, "mqtt-p4ss")
	require.NotContains(t, record, "clear:")
	require.Equal(t, manager.StoredCredentials{Sealed: 2}, counts)
	require.Contains(t, log, file(dir), "the log says where the secret is")
	require.NotContains(t, log, secret)
	info, err := os.Stat(file(dir))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	again, same, _, log := opened(t, dir, "")
	require.Equal(t, secret, again)
	require.Equal(t, record, same, "nothing is encrypted twice")
	require.Contains(t, log, file(dir))
}

func TestUnlock_namesTheFileOfALostSecret(t *testing.T) {
	dir := oldFolder(t)
	secret, record, _, _ := opened(t, dir, "")
	require.NoError(t, os.Rename(file(dir), file(dir)+".away"))
	for range 2 {
		text := refused(t, dir)
		require.Contains(t, text, "2 topics are stored encrypted, but there is no \""+file(dir)+"\"")
		require.Contains(t, text, setting)
		require.NoFileExists(t, file(dir), "no new secret in its place")
	}
	_, same, counts, _ := opened(t, dir, secret) // by the setting
	require.Equal(t, record, same)
	require.Equal(t, manager.StoredCredentials{Sealed: 2}, counts)
}

func TestUnlock_namesTheFileOfAWrongSecret(t *testing.T) {
	dir := oldFolder(t)
	opened(t, dir, "")
	for text, want := range map[string]string{
		strings.Repeat("x", manager.SecretLength): "does not decrypt the user names and passwords of any of 2 topics",
		"short": "expected 32 bytes, got 5",
		"":      "expected 32 bytes, got 0",
	} {
		require.NoError(t, os.WriteFile(file(dir), []byte(text), 0o600))
		got := refused(t, dir)
		require.Contains(t, got, want)
		require.Contains(t, got, file(dir))
	}
}

func TestUnlock_doesNotStoreAGivenSecret(t *testing.T) {
	dir := oldFolder(t)
	given := strings.Repeat("g", manager.SecretLength)
	secret, record, counts, _ := opened(t, dir, given)
	require.Equal(t, given, secret)
	require.NotContains(t, record, "clear:")
	require.Equal(t, manager.StoredCredentials{Sealed: 2}, counts)
	require.NoFileExists(t, file(dir))
}

func TestUnlock_replacesTheGeneratedSecretByAGivenOne(t *testing.T) {
	dir := oldFolder(t)
	opened(t, dir, "")
	given := strings.Repeat("g", manager.SecretLength)
	_, _, counts, log := opened(t, dir, given)
	require.Equal(t, manager.StoredCredentials{Sealed: 2}, counts)
	require.Contains(t, log, "is not used any more")
	require.FileExists(t, file(dir))
}

func TestUnlock_generatesASecretForANewFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	folder, err := datafolder.Open(t.Context(), dir, datafolder.Annotator)
	require.NoError(t, err)
	secret, err := annotation.Unlock(t.Context(), annotation.SecretConfig{
		Documents: folder.Documents(), Dir: dir, Setting: setting, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	text, err := os.ReadFile(file(dir))
	require.NoError(t, err)
	require.Equal(t, secret+"\n", string(text))
}
