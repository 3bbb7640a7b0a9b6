package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogFile_staysBelowItsLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "thing.log")
	l, err := openLogFile(name, 10)
	require.NoError(t, err)
	for _, line := range []string{"one\n", "two\n", "three\n", "four\n", "longer than the limit\n", "six\n"} {
		n, err := l.Write([]byte(line))
		require.NoError(t, err)
		require.Len(t, line, n)
	}
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	now, err := os.ReadFile(name)
	require.NoError(t, err)
	before, err := os.ReadFile(name + ".1")
	require.NoError(t, err)
	require.Equal(t, "six\n", string(now))
	require.Equal(t, "longer than the limit\n", string(before))
	_, err = l.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestLogFile_goesOnWhenItCanBeOpenedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	name := filepath.Join(dir, "thing.log")
	for again, act := range map[string]func(*logFile) error{
		"a line":   func(l *logFile) error { _, err := l.Write([]byte("late\n")); return err },
		"a reload": (*logFile).reopen,
	} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		l, err := openLogFile(name, 10)
		require.NoError(t, err)
		_, err = l.Write([]byte("first\n"))
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(dir))
		_, err = l.Write([]byte("second\n"))
		require.ErrorIs(t, err, os.ErrNotExist, "it cannot be put aside, and no new one begins")
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, act(l), again)
		_, err = l.Write([]byte("last\n"))
		require.NoError(t, err)
		require.NoError(t, l.Close())
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(text), "last\n")
		require.ErrorIs(t, l.reopen(), os.ErrClosed)
		require.NoError(t, os.RemoveAll(dir))
	}
}
