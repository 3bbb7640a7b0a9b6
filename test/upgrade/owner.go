package upgrade

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireOwner fails the test unless the file format.json of a folder names the command
// as its owner.
func RequireOwner(t testing.TB, folder, command string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "format.json"))
	require.NoError(t, err)
	var format struct {
		Owner string `json:"owner"`
	}
	require.NoError(t, json.Unmarshal(text, &format), "%s", text)
	require.Equal(t, command, format.Owner)
}
