package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder is of a version that wrote no format.json, and published APIs without a path
// of their own.
func TestRun_opensAFolderWithoutAnOwner(t *testing.T) {
	folder := upgrade.Folder(t, "unowned/apimanager")
	raw, err := os.ReadFile(filepath.Join(folder, "credentials.json"))
	require.NoError(t, err)
	var credentials map[string]string
	require.NoError(t, json.Unmarshal(raw, &credentials))
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 4, "-data", folder,
			"-listen", "127.0.0.1:0", "-gateway-listen", "127.0.0.1:0", "-admin-listen", "127.0.0.1:0")
		token := signIn(t, p.URLs[3], "demodeveloper", credentials["demo_password"])
		upgrade.Compare(t, upgrade.Comparison{Record: "unowned/apimanager-admin", URL: p.URLs[2]})
		upgrade.Compare(t, upgrade.Comparison{Record: "unowned/apimanager-portal", URL: p.URLs[0], Token: token,
			Replacements: []string{p.URLs[1], "http://127.0.0.1:18838"}})
		p.Stop()
	}
	text, err := os.ReadFile(filepath.Join(folder, "format.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"apimanager"`)
}
