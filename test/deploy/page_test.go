package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/stretchr/testify/require"
)

// blockOfPage returns the commands of the one fenced block of docs/deploy.md that has a text in it.
func blockOfPage(t *testing.T, text string) string {
	t.Helper()
	markdown, err := os.ReadFile("../../docs/deploy.md")
	require.NoError(t, err)
	var found []string
	for i, part := range strings.Split("\n"+string(markdown), "\n```") {
		_, commands, _ := strings.Cut(part, "\n")
		if i%2 == 1 && strings.Contains(commands, text) {
			found = append(found, commands+"\n")
		}
	}
	require.Lenf(t, found, 1, "blocks with %q", text)
	return found[0]
}

// helm builds Helm's own program, and returns a command of it for a shell.
func helm(t *testing.T, commands string) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", folder+"/", "helm.sh/helm/v4/cmd/helm")
	text, err := build.CombinedOutput()
	require.NoErrorf(t, err, "%s", text)
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = "../.."
	command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(folder, "none"),
		"HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	return command
}

// It needs no cluster: Helm renders all that it would send to one.
func TestPage_helmInstallsAsTyped(t *testing.T) {
	t.Parallel()
	typed := strings.TrimSpace(blockOfPage(t, "helm install"))
	text, err := helm(t, "helm lint --strict deploy/helm/enablers\n"+typed+" --dry-run=client").CombinedOutput()
	require.NoErrorf(t, err, "%s", text)
	printed := string(text)
	require.Contains(t, printed, "NAME: edge\n")
	require.Contains(t, printed, "NAMESPACE: enablers\n")
	require.Contains(t, printed, "1 chart(s) linted, 0 chart(s) failed")
	for _, name := range []string{"annotator", "modelrepo", "flcollector", "apimanager"} {
		require.Contains(t, printed, `image: "registry.example.org/edge/`+name+":"+version+`"`)
		require.Contains(t, printed, "helm.sh/hook: test")
		require.Contains(t, printed, "get secret edge-enablers-"+name+" ")
	}
}

// Compose's library reads what "docker compose" would, in the folder where it is typed.
func TestPage_composeStartsAsTyped(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "deploy/compose"), os.DirFS(composeFolder)))
	folder = filepath.Join(folder, "deploy/compose")
	var started [][]string
	for line := range strings.Lines(blockOfPage(t, "docker compose up -d")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		arguments, composes := strings.CutPrefix(line, "docker compose ")
		if !composes {
			command := exec.CommandContext(t.Context(), "bash", "-ec", line)
			command.Dir = filepath.Join(folder, "../..")
			if !strings.HasPrefix(line, "cd ") {
				command.Dir = folder
			}
			text, err := command.CombinedOutput()
			require.NoErrorf(t, err, "%s", text)
			continue
		}
		started = append(started, composed(t, folder, strings.Fields(arguments)))
	}
	all := []string{"annotator", "apimanager", "flcollector", "modelrepo"}
	require.Equal(t, [][]string{all, slices.Sorted(slices.Values(append(all, "multilink")))}, started)
}

// composed returns the services that a command of compose starts, after each secret of .env was
// given a value.
func composed(t *testing.T, folder string, arguments []string) []string {
	t.Helper()
	name := filepath.Join(folder, ".env")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	for secret, value := range secretsOfCompose() {
		text = []byte(strings.Replace(string(text), secret+"=\n", secret+"="+value+"\n", 1))
	}
	require.NoError(t, os.WriteFile(name, text, 0o600))
	var profiles []string
	if arguments[0] == "--profile" {
		profiles, arguments = arguments[1:2], arguments[2:]
	}
	require.Equal(t, []string{"up", "-d"}, arguments)
	options, err := cli.NewProjectOptions(nil, cli.WithWorkingDirectory(folder), cli.WithEnvFiles(), cli.WithDotEnv,
		cli.WithDefaultConfigPath, cli.WithProfiles(profiles))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(project.Services))
}
