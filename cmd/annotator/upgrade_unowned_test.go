package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/mqtt/mqtttest"
	"github.com/iotenablers/enablers/test/upgrade"
)

// The folder is of a version that wrote passwords in clear and no format.json.
func TestRun_opensAFolderWithoutAnOwner(t *testing.T) {
	tap := newTap(t, mqtttest.Embedded(t).String())
	folder := upgrade.Folder(t, "unowned/annotator", `"port":18830`, `"port":`+tap.port)
	for range 2 { // the second time on what the first one has written
		p := upgrade.Start(t, run, 1, "-listen", "127.0.0.1:0", "-data", folder, "-log-level", "error")
		require.Eventually(t, func() bool {
			state := upgrade.Call(t, http.StatusOK, http.MethodGet, p.URLs[0]+"/channels/signed-in?status=true", "", "")
			return strings.Contains(state, `"isStopped":false`)
		}, patience, 10*time.Millisecond)
		upgrade.Compare(t, upgrade.Comparison{Record: "unowned/annotator", URL: p.URLs[0],
			Replacements: []string{`"port":` + tap.port, `"port":18830`}})
		require.True(t, tap.saw("made-up-password"), "the broker gets the password in clear")
		p.Stop()
	}
	text, err := os.ReadFile(filepath.Join(folder, "format.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"annotator"`)
	require.FileExists(t, filepath.Join(folder, "encryption-secret"))
}
