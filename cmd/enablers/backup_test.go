package main

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/backup/backuptest"
	"github.com/iotenablers/enablers/cmd/internal/datafolder"
)

func TestRun_isBackedUpBesideItself(t *testing.T) {
	backuptest.Command(t, datafolder.Enablers, func(dir string) (stop func() error) { return start(t, "-data", dir).Stop })
}

func TestRun_backsUpAndRestores(t *testing.T) {
	above := t.TempDir()
	dir, to, again := filepath.Join(above, "data"), filepath.Join(above, "backup"), filepath.Join(above, "again")
	p := start(t, "-data", dir)
	var stdout bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"backup", "-data", dir, to}, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "(enablers) to ")
	require.NoError(t, run(t.Context(), []string{"restore", "-data", again, to}, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "restored ")
	require.Error(t, run(t.Context(), []string{"restore", "-data", again, to}, io.Discard, io.Discard))
	require.NoError(t, p.Stop())
	require.NoError(t, start(t, "-data", again).Stop())
	var help bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-h"}, &help, io.Discard))
	require.Contains(t, help.String(), "enablers backup -data DIR TARGET")
	require.Contains(t, help.String(), "enablers restore -data DIR SOURCE")
}
