package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/channelstore"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/storage/disk"
)

func TestRun_writesTheOwnerOfEachFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, start(t, "-data", dir).Stop())
	for _, block := range []string{datafolder.Annotator, datafolder.ModelRepo, datafolder.FLCollector, datafolder.APIManager} {
		store, err := datafolder.Open(t.Context(), filepath.Join(dir, block), block)
		require.NoError(t, err, "as cmd/%s does", block)
		require.NoError(t, store.Close())
		_, err = datafolder.Open(t.Context(), filepath.Join(dir, block), "other")
		require.ErrorIs(t, err, disk.ErrOwner)
		_, err = datafolder.Open(t.Context(), dir, block)
		require.ErrorContains(t, err, "it is the folder of enablers")
	}
	require.ErrorIs(t, datafolder.Claim(filepath.Join(dir, "annotator"), datafolder.Enablers), disk.ErrOwner)
}

func TestRun_encryptsBrokerPasswordsByDefault(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, start(t, "-data", dir).Stop())
	require.FileExists(t, filepath.Join(dir, "annotator", channelstore.SecretFile))
}
