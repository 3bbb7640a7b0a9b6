package server_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

func newFlags() (*server.Flags, *int) {
	f := server.NewFlags("thing", "THING", "thing does things.")
	return f, f.Int("max-count", 1, "how `many`")
}

func TestFlags_versionIsForTheCommandLineAlone(t *testing.T) {
	f, _ := newFlags()
	err := f.Parse([]string{"--version", "-max-count", "2"})
	require.ErrorIs(t, err, server.ErrVersion)
	var out bytes.Buffer
	require.True(t, f.Answer(&out, err))
	require.Equal(t, "thing "+version.String()+"\n", out.String())

	t.Setenv("THING_VERSION", "1.2.3") // as images have it
	f, _ = newFlags()
	require.NoError(t, f.Parse(nil))
	require.False(t, f.Answer(&out, nil))

	file := filepath.Join(t.TempDir(), "thing.conf")
	require.NoError(t, os.WriteFile(file, []byte("version true\n"), 0o600))
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse([]string{"-config", file}), "version is for the command line")

	f, _ = newFlags()
	out.Reset()
	require.True(t, f.Answer(&out, f.Parse([]string{"-h"})))
	require.Contains(t, out.String(), "-version")
	require.NotContains(t, out.String(), "THING_VERSION")
}

func TestSourcesOfAFlagHaveTheirOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "thing.conf")
	require.NoError(t, os.WriteFile(file, []byte("max-count 2 # from the file\n"), 0o600))

	f, count := newFlags()
	require.NoError(t, f.Parse(nil))
	require.Equal(t, 1, *count)

	f, count = newFlags()
	require.NoError(t, f.Parse([]string{"-config", file}))
	require.Equal(t, 2, *count)

	t.Setenv("THING_MAX_COUNT", "3")
	f, count = newFlags()
	require.NoError(t, f.Parse([]string{"-config", file}))
	require.Equal(t, 3, *count)

	f, count = newFlags()
	require.NoError(t, f.Parse([]string{"-config", file, "-max-count", "4"}))
	require.Equal(t, 4, *count)

	t.Setenv("THING_MAX_COUNT", "") // as compose files leave it
	f, count = newFlags()
	require.NoError(t, f.Parse([]string{"-config", file}))
	require.Equal(t, 2, *count)
}

func TestHelpListsFlagVariableAndDefault(t *testing.T) {
	f, _ := newFlags()
	require.ErrorIs(t, f.Parse([]string{"-h"}), flag.ErrHelp)
	var help bytes.Buffer
	f.Help(&help)
	require.Contains(t, help.String(), "thing does things.\n\nusage: thing [flags]\n")
	require.Contains(t, help.String(), "\n  -max-count many\n      how many\n      environment THING_MAX_COUNT, default 1\n")
	require.Contains(t, help.String(), "environment THING_CONFIG\n")
}

func TestAVariableMayHaveAnotherName(t *testing.T) {
	t.Setenv("THING_MAX_COUNT", "2")
	t.Setenv("MAX_OF_ALL", "3")
	f, count := newFlags()
	require.False(t, f.Given("max-count"))
	f.SetVariable("max-count", "MAX_OF_ALL")
	require.NoError(t, f.Parse(nil))
	require.Equal(t, 3, *count)
	require.True(t, f.Given("max-count"))
	require.False(t, f.Given("config"))
	var help bytes.Buffer
	f.Help(&help)
	require.Contains(t, help.String(), "environment MAX_OF_ALL, default 1\n")
	t.Setenv("MAX_OF_ALL", "x")
	f, _ = newFlags()
	f.SetVariable("max-count", "MAX_OF_ALL")
	require.ErrorContains(t, f.Parse(nil), "environment variable MAX_OF_ALL")
}

func TestWrongSettingsNameTheirSource(t *testing.T) {
	f, _ := newFlags()
	require.ErrorContains(t, f.Parse([]string{"-max-count", "x"}), "-max-count")
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse([]string{"run"}), `unexpected argument "run"`)
	t.Setenv("THING_MAX_COUNT", "x")
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse(nil), "THING_MAX_COUNT")
}
