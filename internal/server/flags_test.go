package server_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/internal/version"
)

func newFlags() (*server.Flags, *int) {
	f := server.NewFlags("thing", "THING", "thing does things.")
	return f, f.Int("max-count", 1, "how `many`")
}

func TestFlags_Parse_readsTheVersionFromTheCommandLineOnly(t *testing.T) {
	f, _ := newFlags()
	err := f.Parse([]string{"--version", "-max-count", "2"})
	require.ErrorIs(t, err, server.ErrVersion)
	require.Equal(t, "thing "+version.String()+"\n", exitAnswer(t, f, err))

	t.Setenv("THING_VERSION", "1.2.3") // as images have it
	f, _ = newFlags()
	require.NoError(t, f.Parse(nil))

	file := filepath.Join(t.TempDir(), "thing.conf")
	require.NoError(t, os.WriteFile(file, []byte("version true\n"), 0o600))
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse([]string{"-config", file}), "version is for the command line")

	f, _ = newFlags()
	help := exitAnswer(t, f, f.Parse([]string{"-h"}))
	require.Contains(t, help, "-version")
	require.NotContains(t, help, "THING_VERSION")
}

// exitAnswer returns what a command prints instead of running.
func exitAnswer(t *testing.T, f *server.Flags, parsed error) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, f.Serve(t.Context(), parsed, &out, &out, func(context.Context, *slog.Logger) error { panic("the command runs") }))
	return out.String()
}

func TestFlags_Serve_returnsTheErrorOfTheSettingsAndOfTheCommand(t *testing.T) {
	wrong, failed := errors.New("wrong"), errors.New("failed")
	f, _ := newFlags()
	err := f.Serve(t.Context(), wrong, io.Discard, io.Discard, func(context.Context, *slog.Logger) error { panic("the command runs") })
	require.ErrorIs(t, err, wrong)
	require.Equal(t, 2, cli.Status(err))
	var stderr bytes.Buffer
	err = f.Serve(t.Context(), nil, io.Discard, &stderr, func(_ context.Context, log *slog.Logger) error {
		log.Info("here")
		return failed
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, 1, cli.Status(err))
	require.Contains(t, stderr.String(), "msg=here")
}

func TestNames_ignoresSpacesAndEmptyNames(t *testing.T) {
	require.Equal(t, []string{"a", "b c"}, server.Names(" a,, b c ,"))
	require.Empty(t, server.Names(" , "))
}

func TestFlags_Parse_readsTheSourcesInTheirOrder(t *testing.T) {
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

func TestFlags_Help_listsFlagVariableAndDefault(t *testing.T) {
	f, _ := newFlags()
	require.ErrorIs(t, f.Parse([]string{"-h"}), flag.ErrHelp)
	var help bytes.Buffer
	f.Help(&help)
	require.Contains(t, help.String(), "thing does things.\n\nusage: thing [flags]\n")
	require.Contains(t, help.String(), "\n  -max-count many\n      how many\n      environment THING_MAX_COUNT, default 1\n")
	require.Contains(t, help.String(), "environment THING_CONFIG\n")
}

func TestFlags_SetVariable_replacesTheName(t *testing.T) {
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

func TestFlags_Parse_namesTheSourceOfAWrongSetting(t *testing.T) {
	f, _ := newFlags()
	require.ErrorContains(t, f.Parse([]string{"-max-count", "x"}), "-max-count")
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse([]string{"run"}), `unexpected argument "run"`)
	t.Setenv("THING_MAX_COUNT", "x")
	f, _ = newFlags()
	require.ErrorContains(t, f.Parse(nil), `environment variable THING_MAX_COUNT: invalid value "x" for -max-count (many): `)
}

func TestFlags_Parse_saysWhatWasMeant(t *testing.T) {
	for argument, want := range map[string]string{
		"-max-cuont":  "there is no flag -max-cuont; did you mean -max-count?",
		"--unlike":    "there is no flag -unlike (see thing -h)",
		"max-count":   `unexpected argument "max-count"; did you mean -max-count?`,
		"false":       `unexpected argument "false"; a flag that is on or off has its value after an equals sign, as in -version=false`,
		"complettion": `unexpected argument "complettion"; did you mean completion?`,
		"run":         `unexpected argument "run"; every setting is a flag, as in -config FILE`,
	} {
		f, _ := newFlags()
		err := f.Parse([]string{argument})
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, cli.Status(f.Serve(t.Context(), err, io.Discard, io.Discard, nil)))
	}
}

func TestFlags_Parse_saysWhatIsWrongInTheFile(t *testing.T) {
	for line, want := range map[string]string{
		"max-count x":      `invalid value "x": error setting flag "max-count" from config file`,
		"max-coutn secret": `did you mean max-count?`,
	} {
		file := filepath.Join(t.TempDir(), "thing.conf")
		require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
		f, _ := newFlags()
		err := f.Parse([]string{"-config", file})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestFlags_Serve_printsTheCompletionOfAShell(t *testing.T) {
	f, _ := newFlags()
	f.Commands = []cli.Command{{Name: "backup"}}
	f.Logging("thing.log")
	script := exitAnswer(t, f, f.Parse([]string{"completion", "bash"}))
	for _, word := range []string{"-max-count", "-log-format", `text\njson`, "backup", "complete -F _thing thing"} {
		require.Contains(t, script, word)
	}
	require.Contains(t, exitAnswer(t, f, f.Parse([]string{"-h"})), "thing completion bash|zsh|fish\n")
	err := f.Serve(t.Context(), f.Parse([]string{"completion"}), io.Discard, io.Discard, nil)
	require.ErrorContains(t, err, "expected one of bash, zsh, fish")
	require.Equal(t, 2, cli.Status(err))
}
