package peertest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
)

// standIn puts a program of a name, a shell script, before all others on the search path.
func standIn(t *testing.T, name, script string) {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func TestClassPath_fetchesOnceAndOnlyWhereRequired(t *testing.T) {
	folder := cache(t)
	calls := filepath.Join(folder, "calls")
	standIn(t, "java", "")
	standIn(t, "mvn", `for a; do case $a in -DoutputDirectory=*) mkdir "${a#*=}";; esac; done; echo >> `+calls+"\n")
	const library = "org.example:greeting:1.0"
	t.Setenv(peertest.RequirePeers, "")
	_, err := peertest.ClassPath(library)
	require.EqualError(t, err, library+" is not fetched yet")

	t.Setenv(peertest.RequirePeers, "1")
	path, err := peertest.ClassPath(library)
	require.NoError(t, err)
	require.DirExists(t, filepath.Dir(path))
	t.Setenv(peertest.RequirePeers, "")
	require.Equal(t, path, peertest.Jars(t, library))
	called, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Len(t, called, 1)
}

func TestClassPath_reportsWhyItFails(t *testing.T) {
	cache(t)
	standIn(t, "java", "")
	standIn(t, "mvn", "echo no such library; exit 1\n")
	t.Setenv(peertest.RequirePeers, "1")
	_, err := peertest.ClassPath("org.example:greeting:1.0")
	require.ErrorContains(t, err, "fetch org.example:greeting:1.0: exit status 1")
	require.ErrorContains(t, err, "no such library")
	_, err = peertest.ClassPath("greeting")
	require.ErrorContains(t, err, "expected group:artifact:version")
	t.Setenv(peertest.RequirePeers, "0")
	_, err = peertest.ClassPath("org.example:greeting:1.0")
	require.ErrorIs(t, err, peertest.ErrExcluded)
}
