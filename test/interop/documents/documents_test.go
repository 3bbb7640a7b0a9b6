package documents

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// limit is for all commands of one page, builds included.
const limit = 10 * time.Minute

func TestDocuments_commandsWorkAsTyped(t *testing.T) {
	if !peertest.Required() {
		t.Skipf("runs servers on fixed ports in namespaces: %s=1 has it run", peertest.RequirePeers)
	}
	const root = "../../.."
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	for _, page := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			markdown, err := os.ReadFile(page)
			require.NoError(t, err)
			script, err := compile(string(markdown))
			require.NoError(t, err)
			run(t, root, script)
		})
	}
}

// run runs a script in a copy of the repository and compares its output.
func run(t *testing.T, root string, s *script) {
	dir := t.TempDir()
	duplicate(t, root, dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page.sh"), []byte(s.text.String()), 0o600))
	arguments := []string{"--net", "--pid", "--mount-proc", "--fork", "--kill-child", "bash", "page.sh"}
	if os.Geteuid() != 0 {
		arguments = append([]string{"--map-root-user"}, arguments...)
	}
	command := exec.Command("unshare", arguments...)
	command.Dir = dir
	// Without the folder of the copy in them, packages are compiled once for all pages.
	command.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false -trimpath", "GOPROXY=off",
		"PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	process := interop.StartProcess(t, command)
	select {
	case <-process.Ended():
	case <-time.After(limit):
		process.Kill()
	}
	if !command.ProcessState.Success() {
		t.Fatalf("a command failed:\n%s\n%s", process.Output(), logs(t, dir))
	}
	for _, step := range s.steps {
		output, err := os.ReadFile(filepath.Join(dir, step.output))
		require.NoError(t, err)
		for _, line := range step.expected {
			require.Contains(t, string(output), line, "output of the commands at line %d", step.line)
		}
	}
}

// duplicate copies the files of the repository that git tracks or would add.
func duplicate(t *testing.T, root, to string) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
	}
}

// logs are the last lines of all that was printed, by file.
func logs(t *testing.T, dir string) string {
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		fmt.Fprintf(&all, "--- %s\n%s\n", filepath.Base(name), data[max(0, len(data)-4096):])
	}
	return all.String()
}

func TestCompile_refusesWhatNoTestRuns(t *testing.T) {
	_, err := compile("```sh\ntrue\n```\n\n```sh later\nfalse\n```\n")
	require.ErrorContains(t, err, `line 5: a block of "sh later" is not run by any test`)
	_, err = compile("```sh server\nfirst\nsecond\n```\n")
	require.ErrorContains(t, err, "line 1: a server is one command")
}

func TestCompile_takesTheTextAfterCommandsAsTheirOutput(t *testing.T) {
	s, err := compile("```text\na picture\n```\n\n```sh\necho one\n```\n\n```text\n  " +
		"one\n```\n\n```text\nnot right after\n```\n\nThen:\n\n```text\nnot compared\n```\n")
	require.NoError(t, err)
	require.Equal(t, []step{{line: 5, output: "output-5.log", expected: []string{"one"}}}, s.steps)
}
