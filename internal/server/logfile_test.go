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
