package peertest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

// hello is a module whose program says something.
func hello(t *testing.T, says string) peertest.Peer {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the cache folder is moved as on Linux")
	}
	builds, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	t.Setenv("GOCACHE", strings.TrimSpace(string(builds)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	change(t, says)
	return peertest.Peer{Module: "peers/hello", Package: ".", Name: "hello"}
}

func change(t *testing.T, says string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join("peers", "hello"), 0o700))
	for name, text := range map[string]string{
		"go.mod":  "module hello\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(" + says + ") }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join("peers", "hello", name), []byte(text), 0o600))
	}
}

func TestPeer_Program_buildsOnlyWhereRequired(t *testing.T) {
	peer := hello(t, `"one"`)
	t.Setenv(peertest.RequirePeers, "")
	_, err := peer.Program(t.Context())
	require.ErrorContains(t, err, "peers/hello is not built yet")

	t.Setenv(peertest.RequirePeers, "1")
	program, err := peer.Program(t.Context())
	require.NoError(t, err)
	output, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "one\n", string(output))

	t.Setenv(peertest.RequirePeers, "")
	again, err := peer.Program(t.Context())
	require.NoError(t, err)
	require.Equal(t, program, again)

	change(t, `"two"`)
	_, err = peer.Program(t.Context())
	require.ErrorContains(t, err, "not built yet", "a changed module is another program")
}

func TestPeer_Program_reportsWhyABuildFails(t *testing.T) {
	peer := hello(t, "unknown")
	t.Setenv(peertest.RequirePeers, "1")
	_, err := peer.Program(t.Context())
	require.ErrorContains(t, err, "build peers/hello")
	require.ErrorContains(t, err, "undefined: unknown")

	peer.Module = "peers/missing"
	_, err = peer.Program(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
}
