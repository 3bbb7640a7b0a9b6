package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder is of a version that wrote no format.json.
func TestRun_opensAFolderWithoutAnOwner(t *testing.T) {
	folder := upgrade.Folder(t, "unowned/modelrepo")
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
		upgrade.Compare(t, upgrade.Comparison{Record: "unowned/modelrepo", URL: p.URLs[0]})
		p.Stop()
	}
	text, err := os.ReadFile(filepath.Join(folder, "format.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"modelrepo"`)
}
