//go:build linux

package packages

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/test/interop"
)

// scratchVariable names the folder with the packages, inside the namespaces.
const scratchVariable = "PACKAGES_SCRATCH"

const (
	page = "../../docs/deploy.md"
	// version is stamped into what the tests build. It is that of the page.
	version = "v1.2.3"
)

func TestMain(m *testing.M) {
	if !peertest.Required() {
		os.Exit(m.Run()) // every test logs why it skips
	}
	os.Exit(interop.Namespaces{
		Variable: scratchVariable, Reason: "dpkg and mounts take root, and the gate needs them", Build: build, Prepare: prepare,
	}.Main(m))
}

// build builds the packages.
func build(scratch string) error {
	script := exec.Command("../../deploy/packages/build.sh", filepath.Join(scratch, "packages"), "linux/"+runtime.GOARCH)
	script.Env = append(os.Environ(), "VERSION="+version)
	script.Stdout, script.Stderr = os.Stdout, os.Stderr
	if err := script.Run(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	return nil
}

// machine is the folder with the root that is thrown away: this machine's, whose changes are
// kept in memory.
func machine() string { return filepath.Join(os.Getenv(scratchVariable), "memory", "root") }

func prepare() error {
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts in the namespace: %w", err)
	}
	memory := filepath.Dir(machine())
	if err := os.Mkdir(memory, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("none", memory, "tmpfs", 0, "size=2g,mode=0755"); err != nil {
		return fmt.Errorf("mount a file system for changes: %w", err)
	}
	for _, folder := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(memory, folder), 0o755); err != nil {
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=/,upperdir=%[1]s/upper,workdir=%[1]s/work", memory)
	if err := syscall.Mount("overlay", machine(), "overlay", 0, options); err != nil {
		return fmt.Errorf("mount a copy of this machine's root: %w", err)
	}
	for _, folder := range []string{"/proc", "/dev"} {
		if err := syscall.Mount(folder, machine()+folder, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", folder, err)
		}
	}
	if output, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("bring the loopback up: %w: %s", err, output)
	}
	return nil
}

// pkg returns the file of a package, by a pattern.
func pkg(t *testing.T, pattern string) string {
	t.Helper()
	scratch := os.Getenv(scratchVariable)
	if scratch == "" {
		t.Skipf("dpkg and mounts take root: it runs with %s=1", peertest.RequirePeers)
	}
	found, err := filepath.Glob(filepath.Join(scratch, "packages", pattern))
	require.NoError(t, err)
	require.Len(t, found, 1, pattern)
	return found[0]
}

// output runs a command, and returns what it writes to standard output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	require.NoError(t, command.Run(), "%s: %s%s", command, &out, &errs)
	return out.String()
}

// inside runs a command on the machine that is thrown away.
func inside(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, "chroot", append([]string{machine()}, args...)...)
}

// bring copies a package to the machine that is thrown away, and returns its name there.
func bring(t *testing.T, file string) string {
	t.Helper()
	output(t, "cp", file, machine()+"/tmp/")
	return "/tmp/" + filepath.Base(file)
}
