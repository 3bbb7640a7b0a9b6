package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/annotation"
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

func TestRun_refusesALaterFormat(t *testing.T) {
	for name, owner := range map[string]string{
		".": datafolder.Enablers, "annotator": datafolder.Annotator, "modelrepo": datafolder.ModelRepo,
		"flcollector": datafolder.FLCollector, "apimanager": datafolder.APIManager, "multilink-demo": datafolder.MultiLink,
	} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
		mark := filepath.Join(dir, name, "format.json")
		require.NoError(t, os.WriteFile(mark, []byte(`{"owner": "`+owner+`", "format": 99}`), 0o600))
		args := []string{"-data", dir}
		for _, listener := range listenerFlags() {
			args = append(args, "-"+listener, "127.0.0.1:0")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // where it is not refused
		err := run(ctx, args, t.Output(), t.Output())
		cancel()
		require.ErrorContains(t, err, "a newer version of "+owner+" wrote format 99, and this one reads up to 1; run that version")
		require.NoFileExists(t, filepath.Join(dir, name, "store.db"))
	}
}

func TestRun_encryptsBrokerPasswordsByDefault(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, start(t, "-data", dir).Stop())
	require.FileExists(t, filepath.Join(dir, "annotator", annotation.SecretFile))
}
