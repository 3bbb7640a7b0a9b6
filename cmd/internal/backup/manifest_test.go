package backup_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

func TestIsKnown_acceptsTheFilesOfTheOwnerOnly(t *testing.T) {
	blob := "blobs/7f/7f" + strings.Repeat("0", 30)
	for owner, names := range map[string][]string{
		datafolder.Annotator:   {"store.db", "format.json", "encryption-secret", "access-token", blob},
		datafolder.ModelRepo:   {"store.db", "format.json", "access-token", blob},
		datafolder.FLCollector: {"store.db", "format.json", "access-token", blob},
		datafolder.APIManager:  {"store.db", "format.json", "access-token", "credentials.json", blob},
		datafolder.MultiLink:   {"store.db", "format.json", "access-token", "token", blob},
		datafolder.Enablers: {
			"format.json", "access-token", "annotator/encryption-secret", "modelrepo/" + blob, "flcollector/store.db",
			"apimanager/credentials.json", "multilink-demo/token",
		},
	} {
		for _, name := range names {
			require.True(t, backup.IsKnown(owner, name), name)
			require.True(t, backup.IsKnownToAny(name), name)
		}
		for _, name := range []string{
			"", "backup.json", "backup.sock", "journal", "rounds/1", "notes", "blobs", "blobs/7f/80" + strings.Repeat("0", 30),
			"annotator/annotator/store.db", "coffee/store.db", "annotator/", "store.db/x",
		} {
			require.False(t, backup.IsKnown(owner, name), name)
			require.False(t, backup.IsKnownToAny(name), name)
		}
	}
	require.False(t, backup.IsKnown("coffee", "store.db"))
}

func FuzzParseManifest(f *testing.F) {
	digest := strings.Repeat("0", 64)
	f.Add([]byte(`{"format":1,"owner":"annotator","version":"v","time":"2026-01-01T00:00:00Z",` +
		`"files":[{"name":"store.db","size":1,"sha256":"` + digest + `"}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"owner":"enablers","time":"2026-01-01T00:00:00Z","files":[{"name":"../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := backup.ParseManifest(data)
		if err != nil {
			return
		}
		for _, file := range m.Files {
			require.True(t, filepath.IsLocal(filepath.FromSlash(file.Name)))
			require.True(t, backup.IsKnown(m.Owner, file.Name))
		}
		again, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = backup.ParseManifest(again)
		require.NoError(t, err)
	})
}
