package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

func TestOnlyTheLevelAndAboveIsLogged(t *testing.T) {
	f := server.NewFlags("thing", "THING", "")
	logging := f.Logging("thing.log")
	require.NoError(t, f.Parse([]string{"-log-level", "WARNING"}))
	var out bytes.Buffer
	log, file, err := logging.Open(&out)
	require.NoError(t, err)
	log.Info("quiet")
	log.Warn("loud", "channel", "a b")
	require.NoError(t, file.Close())
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), `level=WARN msg=loud channel="a b"`)
}

func TestALogFileIsContinuedAndItsFolderMade(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log", "thing.log")
	for range 2 {
		f := server.NewFlags("thing", "THING", "")
		logging := f.Logging(name)
		require.NoError(t, f.Parse([]string{"-log-to-file"}))
		log, file, err := logging.Open(new(bytes.Buffer))
		require.NoError(t, err)
		log.Info("here")
		require.NoError(t, file.Close())
	}
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "msg=here"))
}
