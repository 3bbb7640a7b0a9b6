//go:build linux

package images

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

const page = "../../docs/deploy.md"

// podmanOnThisMachine gives podman what it needs here: storage of its own, the network that is there,
// no control groups, and limits that it may set.
const podmanOnThisMachine = `#!/bin/sh
if [ "$1" = run ]; then
	shift
	case " $* " in
	*" --network host "*) ;;
	*) set -- --network host "$@" ;;
	esac
	set -- run --rm --pidfile "$PIDFILE" --cgroups=disabled --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 "$@"
fi
exec "$PODMAN" --root "$SCRATCH/root" --runroot "$SCRATCH/run" --storage-driver vfs --cgroup-manager cgroupfs \
	--events-backend none "$@"
`

// typist types commands of the page in a folder beside the images.
type typist struct {
	t       *testing.T
	folder  string
	pidFile string
	env     []string
}

func newTypist(t *testing.T, scratch string) *typist {
	t.Helper()
	real, err := exec.LookPath("podman")
	require.NoError(t, err)
	ty := &typist{t: t, folder: t.TempDir(), pidFile: filepath.Join(t.TempDir(), "pid")}
	programs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(programs, "podman"), []byte(podmanOnThisMachine), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(scratch, "images"), filepath.Join(ty.folder, "images")))
	ty.env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "PODMAN="+real, "SCRATCH="+scratch, "PIDFILE="+ty.pidFile)
	return ty
}

func (ty *typist) command(commands string) *exec.Cmd {
	command := exec.Command("bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = ty.folder, ty.env
	return command
}

func TestPage_podmanRunsTheImagesAsTyped(t *testing.T) {
	scratch := needsImages(t)
	for _, c := range []struct{ image, volume, address string }{
		{"modelrepo", "models", "http://127.0.0.1:8081"},
		{"multilink", "multilink", "http://127.0.0.1:3333"},
	} {
		t.Run(c.image, func(t *testing.T) {
			ty := newTypist(t, scratch)
			process := interop.StartProcess(t, ty.command(interop.Block(t, page, "podman load -i images/"+c.image+".tar")))
			t.Cleanup(func() {
				output(t, podman(scratch, "volume", "rm", "-f", c.volume))
				output(t, podman(scratch, "rmi", "-f", "iotenablers/"+c.image+":"+version))
			})
			running := &container{t: t, process: process, pidFile: ty.pidFile}
			status, body := running.status("GET", c.address+"/healthz", "", "")
			require.Equal(t, http.StatusOK, status, body)
			pid, err := strconv.Atoi(running.pid())
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
			require.Zero(t, process.AwaitEnd(), process.Output())
		})
	}
}

// The destination of the page is a Docker or a registry; here it is a folder.
func TestPage_skopeoCopiesTheImagesAsTyped(t *testing.T) {
	scratch := needsImages(t)
	ty := newTypist(t, scratch)
	commands := interop.Block(t, page, "docker-daemon:iotenablers")
	typed := strings.Replace(commands, "docker-daemon:iotenablers/modelrepo:devel", "docker-archive:docker.tar:iotenablers/modelrepo:devel", 1)
	require.NotEqual(t, commands, typed)
	output(t, ty.command(typed))
	require.Contains(t, output(t, exec.Command("tar", "xOf", filepath.Join(ty.folder, "docker.tar"), "manifest.json")),
		`iotenablers/modelrepo:devel"`, "a form that every Docker loads")

	commands = interop.Block(t, page, "docker://registry.example.org/edge")
	typed = strings.Replace(commands, "docker://registry.example.org/edge/", "dir:to/", 1)
	require.NotEqual(t, commands, typed)
	require.NoError(t, os.Mkdir(filepath.Join(ty.folder, "to"), 0o700))
	output(t, ty.command(typed))
	archives, err := filepath.Glob(filepath.Join(scratch, "images", "*.tar"))
	require.NoError(t, err)
	for _, archive := range archives {
		require.DirExists(t, filepath.Join(ty.folder, "to", strings.TrimSuffix(filepath.Base(archive), ".tar")+":devel"))
	}
}
