package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/backup/backuptest"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/modelrepo"
)

func TestRun_isBackedUpBesideItself(t *testing.T) {
	backuptest.Command(t, datafolder.ModelRepo, func(dir string) (stop func() error) {
		client, _, p := start(t, "-data", dir)
		_ = client.CreateNamespace(t.Context(), "w3c", modelrepo.NamespaceUpdate{}) // there already when it is restored
		return p.Stop
	})
}

func TestRun_hasNothingToBackUpWithoutAFolder(t *testing.T) {
	backuptest.None(t, func(dir string) (stop func() error) {
		_, _, p := start(t, "-data", dir, "-store", "memory:")
		return p.Stop
	})
}

func TestRun_servesBackupsOfBothItsFolders(t *testing.T) {
	above := t.TempDir()
	documents, blobs := filepath.Join(above, "documents"), filepath.Join(above, "blobs")
	_, _, p := start(t, "-store", "disk:"+documents, "-blobs", "disk:"+blobs)
	for _, dir := range []string{documents, blobs} {
		conn, err := backup.Dial(t.Context(), dir)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.NoError(t, p.Stop())
}
