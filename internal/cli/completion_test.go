package cli_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
)

// level is a flag with choices.
type level string

func (l *level) String() string        { return string(*l) }
func (l *level) Set(s string) error    { *l = level(s); return nil }
func (*level) Choices() []string       { return []string{"debug", "info"} }
func (*level) IsBoolFlag() bool        { return false }
func newSet(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }

func newProgram() cli.Program {
	top, sub := newSet("thing"), newSet("thing backup")
	top.Var(new(level), "log-level", "what is logged: `debug` or info")
	top.String("listen", "", "`HOST:PORT` of the page; it's [optional]")
	top.Bool("demo", false, "show it")
	sub.String("data", "", "the data `folder`")
	return cli.Program{Name: "thing", Flags: top, Commands: []cli.Command{{Name: "backup", About: "back up", Flags: sub, TakesFiles: true}}}
}

func TestProgram_Complete_writesAScriptForEachShell(t *testing.T) {
	for shell, lines := range map[string][]string{
		"bash": {"complete -F _thing thing"},
		"zsh": {"#compdef thing", "'-listen[HOST PORT of the page]:HOST PORT:'",
			"'-data[the data folder]:folder:_directories'", "'-demo[show it]'"},
		"fish": {"complete -c thing -n 'not __fish_seen_subcommand_from backup completion' -o log-level -d 'what is logged' -x -a 'debug info'",
			"complete -c thing -n '__fish_seen_subcommand_from backup' -o data -d 'the data folder' -x -a '(__fish_complete_directories)'"},
	} {
		var out bytes.Buffer
		require.NoError(t, newProgram().Complete(&out, []string{shell}))
		for _, line := range lines {
			require.Contains(t, out.String(), line)
		}
		checkSyntax(t, shell, out.String())
	}
}

// checkSyntax has the shell read the script, where it is installed.
func checkSyntax(t *testing.T, shell, script string) {
	t.Helper()
	program, err := exec.LookPath(shell)
	if err != nil {
		return
	}
	file := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	out, err := exec.CommandContext(t.Context(), program, "-n", file).CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestProgram_Complete_saysHowToAsk(t *testing.T) {
	for _, args := range [][]string{nil, {"tcsh"}, {"bash", "zsh"}} {
		err := newProgram().Complete(&bytes.Buffer{}, args)
		require.ErrorContains(t, err, "expected one of bash, zsh, fish, got \""+strings.Join(args, " ")+"\"")
		require.ErrorContains(t, err, "source <(thing completion bash)")
		require.Equal(t, 2, cli.Status(err))
	}
}

// A person types the words and presses the tabulator after the last one.
func TestProgram_Complete_completesInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "my data"), 0o700))
	var script bytes.Buffer
	require.NoError(t, newProgram().Complete(&script, []string{"bash"}))
	for line, want := range map[string]string{
		"thing -":                 "-demo -listen -log-level",
		"thing -l":                "-listen -log-level",
		"thing b":                 "backup",
		"thing c":                 "completion",
		"thing -log-level ":       "debug info",
		"thing --log-level i":     "info",
		"thing -listen ":          "",
		"thing completion z":      "zsh",
		"thing backup -":          "-data",
		"thing backup -data my":   "my data",
		"thing backup -data x my": "my data",
	} {
		words := strings.Split(line, " ")
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"--norc", "-c",
			script.String() + "\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _thing; IFS=' '; echo \"${COMPREPLY[*]}\"", "-"}, words...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, want, strings.TrimSpace(string(out)), line)
	}
}
