//go:build linux

package images

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// user is who the programs run as.
const user = 65532

// container is a running image, with its data in a folder of this machine.
type container struct {
	t       *testing.T
	process *interop.Process
	data    string
	pidFile string
	token   string
}

// podman returns a command of podman with storage of its own below the scratch folder.
func podman(scratch string, args ...string) *exec.Cmd {
	all := []string{
		"--root", filepath.Join(scratch, "root"), "--runroot", filepath.Join(scratch, "run"),
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none",
	}
	return exec.Command("podman", append(all, args...)...)
}

// output runs a command and returns what it writes to standard output.
func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	require.NoError(t, command.Run(), "%s: %s", command, &errs)
	return out.String()
}

// load loads an archive, and returns the name of the image, which is removed after the test:
// disks are small.
func load(t *testing.T, scratch, command string) string {
	t.Helper()
	loaded := output(t, podman(scratch, "load", "-q", "-i", filepath.Join(scratch, "images", command+".tar")))
	_, name, found := strings.Cut(strings.TrimSpace(loaded), ": ")
	require.True(t, found, loaded)
	t.Cleanup(func() { output(t, podman(scratch, "rmi", "-f", name)) })
	return name
}

// start runs an image as it is, besides these options of podman, on a read-only root. The
// limits are those of this machine; podman's default is higher.
func start(t *testing.T, scratch, image string, options ...string) *container {
	t.Helper()
	c := &container{t: t, data: t.TempDir(), pidFile: filepath.Join(t.TempDir(), "pid")}
	require.NoError(t, os.Chown(c.data, user, user))
	require.NoError(t, os.Chmod(c.data, 0o770))
	args := []string{
		"run", "--rm", "--pidfile", c.pidFile, "--network", "host", "--cgroups=disabled", "--read-only",
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--security-opt", "no-new-privileges", "--cap-drop", "ALL",
		"--volume", c.data + ":/data",
	}
	c.process = interop.StartProcess(t, podman(scratch, append(append(args, options...), image)...))
	return c
}

// status sends a request until it is answered, and returns the status and the body. The
// token is sent once it is known.
func (c *container) status(method, url, contentType, body string) (int, string) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		request, err := http.NewRequestWithContext(c.t.Context(), method, url, strings.NewReader(body))
		require.NoError(c.t, err)
		if contentType != "" {
			request.Header.Set("Content-Type", contentType)
		}
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			text, err := io.ReadAll(answer.Body)
			require.NoError(c.t, err)
			require.NoError(c.t, answer.Body.Close())
			return answer.StatusCode, string(text)
		}
		select {
		case <-c.process.Ended():
			c.t.Fatalf("the container ended: %s", c.process.Output())
		case <-time.After(50 * time.Millisecond):
		}
		require.True(c.t, time.Now().Before(deadline), "%s %s is not answered: %v: %s", method, url, err, c.process.Output())
	}
}

// call sends a request, which has to succeed, and returns the body.
func (c *container) call(method, url, contentType, body string) string {
	c.t.Helper()
	status, text := c.status(method, url, contentType, body)
	require.Less(c.t, status, 300, "%s %s: %s", method, url, text)
	return text
}

// awaitReady waits until the server says that it is ready.
func (c *container) awaitReady(address string) {
	c.t.Helper()
	c.call("GET", address+"/healthz", "", "")
	text := ""
	require.Eventually(c.t, func() bool {
		var status int
		status, text = c.status("GET", address+"/readyz", "", "")
		return status == http.StatusOK
	}, 2*time.Minute, 50*time.Millisecond, "%s: %s", text, c.process.Output())
}

// readToken takes the token that the server generated, since other machines reach it.
func (c *container) readToken(name string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.data, name))
	require.NoError(c.t, err)
	c.token = strings.TrimSpace(string(text))
}

// pid is the number of the program, on this machine.
func (c *container) pid() string {
	c.t.Helper()
	text, err := os.ReadFile(c.pidFile)
	require.NoError(c.t, err)
	return strings.TrimSpace(string(text))
}
