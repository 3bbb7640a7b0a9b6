//go:build linux

package deploy_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// TestServices_runInPodman runs the services of the compose file with the images of deploy/images, with
// their user, capabilities, environment, volumes and a read-only root. They become ready, show
// the token that they generated as docs/deploy.md has it, and keep it out of their output.
func TestServices_runInPodman(t *testing.T) {
	project, err := loadCompose(t, secretsOfCompose())
	require.NoError(t, err)
	scratch, inside := inNamespaces(t, project.ServiceNames()...)
	if !inside {
		return
	}
	for name, service := range project.Services {
		t.Run(name, func(t *testing.T) { runService(t, scratch, name, service) })
	}
}

func runService(t *testing.T, scratch, name string, service types.ServiceConfig) {
	t.Helper()
	load(t, scratch, name)
	c := startContainer(t, scratch, service.Image, service.Command, append(serviceOptions(t, service), "--name", name)...)
	address := fmt.Sprintf("http://127.0.0.1:%d", blocks()[name]["http"])
	c.awaitOK(t, address+"/healthz")
	c.awaitOK(t, address+"/readyz")
	if name != "multilink" {
		token := typedToken(t, scratch, name)
		require.GreaterOrEqual(t, len(token), 16)
		_, err := get(t.Context(), address+"/metrics", "")
		require.ErrorContains(t, err, "401")
		_, err = get(t.Context(), address+"/metrics", token)
		require.NoError(t, err)
		require.NotContains(t, strings.Join(c.output(), "\n"), token, "the output of a container is a log")
	}
	c.end(t)
}

// typedToken types the command of the page that shows the token of a service, with podman.
func typedToken(t *testing.T, scratch, name string) string {
	t.Helper()
	typed := strings.NewReplacer(
		"docker compose", strings.Join(podman(scratch).Args, " "), "annotator:", name+":",
	).Replace(blockOfPage(t, "docker compose cp"))
	return strings.TrimSpace(output(t, exec.Command("bash", "-euo", "pipefail", "-c", typed)))
}

// serviceOptions are the options of podman that a service stands for.
func serviceOptions(t *testing.T, service types.ServiceConfig) []string {
	t.Helper()
	require.True(t, service.ReadOnly)
	options := []string{"--user", service.User, "--read-only", "--read-only-tmpfs=false"}
	for flag, values := range map[string][]string{
		"--tmpfs": service.Tmpfs, "--cap-drop": service.CapDrop, "--cap-add": service.CapAdd,
	} {
		for _, value := range values {
			options = append(options, flag, value)
		}
	}
	require.True(t, slices.Contains(service.SecurityOpt, "no-new-privileges:true"))
	options = append(options, "--security-opt", "no-new-privileges")
	for _, device := range service.Devices {
		options = append(options, "--device", device.Source+":"+device.Target)
	}
	for variable, value := range service.Environment {
		options = append(options, "--env", variable+"="+*value)
	}
	// As Docker makes a volume: it belongs to whom the folder of the image belongs. podman would give it
	// to the user of the container.
	for _, volume := range service.Volumes {
		require.Equal(t, "volume", volume.Type)
		folder := t.TempDir()
		require.NoError(t, errors.Join(os.Chown(folder, 65532, 65532), os.Chmod(folder, 0o770)))
		options = append(options, "--volume", folder+":"+volume.Target)
	}
	return options
}
